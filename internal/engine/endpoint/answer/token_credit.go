package answer

import (
	"math"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// TokenCredit computes how many tokens a chunk carried, from a cumulative usage on
// every chunk. Tokens of chunks without content count for the next one with.
type TokenCredit struct {
	OnChunk bool  // the current chunk has a usage
	broken  bool  // content came without usage: the usage is not cumulative
	grew    bool  // the usage was larger than the first one
	last    int64 // Output tokens so far
	open    int64 // of these, not credited yet
	tail    int64 // of these, reported by an event of a choice: a usage block that ends the stream is no such event
}

// Usage takes the output tokens of the usage of a chunk.
func (c *TokenCredit) Usage(output Count) {
	if !output.Known() {
		return
	}
	c.OnChunk = true
	c.grew = c.grew || c.last > 0 && output.N > c.last
	c.open += max(0, output.N-c.last)
	c.last = max(c.last, output.N)
}

// take returns the tokens of a content event, by the best evidence there is.
func (c *TokenCredit) take(choice *Choice) int32 {
	if c.OnChunk && !c.broken {
		n := c.open
		c.open, choice.Tokens = 0, 0
		return int32(min(n, math.MaxInt32))
	}
	c.broken = c.broken || !c.OnChunk
	n := choice.Tokens
	choice.Tokens = 0
	return n
}

// Event counts an event of a choice, with or without content.
func (c *TokenCredit) Event() {
	if c.OnChunk {
		c.tail = c.open
	}
}

// left returns the tokens that came after the last content event, by the evidence
// that take went by.
func (c *TokenCredit) left(choices []Choice) bench.Tokens {
	if !c.broken && c.last > 0 {
		return bench.Tokens(c.tail)
	}
	n := bench.Tokens(0)
	for i := range choices {
		n += bench.Tokens(choices[i].Tokens)
	}
	return n
}

// repeated reports whether all of several content events had the same usage: the
// server repeats the final one, which does not describe the event that it is on.
func (c *TokenCredit) repeated(events int) bool {
	return events > 1 && !c.broken && c.last > 0 && !c.grew
}

// TokenEvidence counts tokens by the server's token ids or log-probabilities.
func TokenEvidence(tokenIDs, logprobs *fastjson.Value) int32 {
	if tokenIDs != nil && len(tokenIDs.GetArray()) > 0 {
		return int32(len(tokenIDs.GetArray()))
	}
	if logprobs == nil {
		return 0
	}
	for _, name := range []string{"content", "tokens", "refusal"} {
		if list := logprobs.GetArray(name); len(list) > 0 {
			return int32(len(list))
		}
	}
	return 0
}
