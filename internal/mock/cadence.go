package mock

import "aiperfd/internal/mock/api"

// cadence determines when the tokens of a stream are due, and sends them. Calls of next
// and emit alternate until over returns true.
type cadence struct {
	st      *stream
	longest int   // tokens of the longest choice
	sent    int   // tokens of every choice so far
	size    int   // tokens that are due next
	offset  int64 // of their due time, from the first token's
	begun   bool  // emit was called
}

func newCadence(st *stream) cadence {
	return cadence{st: st, longest: api.LongestChoice(st.x.Choices)}
}

// over reports whether all tokens were sent. An answer without tokens also needs one emit.
func (c *cadence) over() bool { return c.begun && c.sent == c.longest }

// next draws the next tokens and returns their due time.
func (c *cadence) next() int64 {
	x := c.st.x
	c.size = c.chunkSize()
	gaps := c.size
	if c.sent == 0 {
		gaps = max(c.size-1, 0)
	}
	c.offset += int64(x.ITL.DrawSum(x.Rand, gaps))
	return x.FirstNs + c.offset
}

// emit sends the tokens that next has drawn.
func (c *cadence) emit() error {
	c.begun = true
	if c.sent == 0 {
		c.st.e.Run(c.st.e.Script.First)
	}
	err := c.st.step(c.sent, c.sent+c.size)
	c.sent += c.size
	return err
}

// chunkSize draws the number of tokens of the next events. An event belongs to one part
// of an answer.
func (c *cadence) chunkSize() int {
	x := c.st.x
	k := min(x.Options.TokensPerChunk.Draw(x.Rand), c.longest-c.sent)
	for i := range x.Choices {
		if one := &x.Choices[i]; c.sent < one.Reasoning || len(one.Calls) > 0 {
			k = one.Bound(c.sent, k)
		}
	}
	return k
}
