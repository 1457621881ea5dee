package endpoint

import (
	"math"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// tokenCredit says how many tokens a chunk carried, from a cumulative usage on
// every chunk. Tokens of chunks without content count for the next one with.
type tokenCredit struct {
	onChunk bool  // the current chunk has a usage
	broken  bool  // content came without usage: the usage is not cumulative
	grew    bool  // the usage said more than the first time
	last    int64 // output tokens so far
	open    int64 // of these, not credited yet
	tail    int64 // of these, said by an event of a choice: a usage block that ends the stream is no such event
}

func (c *tokenCredit) usage(output count) {
	if !output.known() {
		return
	}
	c.onChunk = true
	c.grew = c.grew || c.last > 0 && output.n > c.last
	c.open += max(0, output.n-c.last)
	c.last = max(c.last, output.n)
}

// take returns the tokens of a content event, by the best evidence there is.
func (c *tokenCredit) take(choice *choice) int32 {
	if c.onChunk && !c.broken {
		n := c.open
		c.open, choice.tokens = 0, 0
		return int32(min(n, math.MaxInt32))
	}
	c.broken = c.broken || !c.onChunk
	n := choice.tokens
	choice.tokens = 0
	return n
}

// note says that an event of a choice has been read, with or without content.
func (c *tokenCredit) note() {
	if c.onChunk {
		c.tail = c.open
	}
}

// left returns the tokens that came after the last content event, by the evidence
// that take went by.
func (c *tokenCredit) left(choices []choice) bench.Tokens {
	if !c.broken && c.last > 0 {
		return bench.Tokens(c.tail)
	}
	n := bench.Tokens(0)
	for i := range choices {
		n += bench.Tokens(choices[i].tokens)
	}
	return n
}

// repeated reports whether all of several content events had the same usage: the
// server repeats the final one, which says nothing of the event that it is on.
func (c *tokenCredit) repeated(events int) bool {
	return events > 1 && !c.broken && c.last > 0 && !c.grew
}

// tokenEvidence counts tokens by the server's token ids or log-probabilities.
func tokenEvidence(tokenIDs, logprobs *fastjson.Value) int32 {
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
