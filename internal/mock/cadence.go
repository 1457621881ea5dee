package mock

// cadence says when the next tokens of a stream are due, and sends them. Calls
// of next and emit alternate until over.
type cadence struct {
	st      *stream
	longest int   // tokens of the longest choice
	sent    int   // tokens of every choice so far
	size    int   // tokens that are due next
	offset  int64 // of their due time, from the first token's
	begun   bool  // emit was called
}

func newCadence(st *stream) cadence {
	return cadence{st: st, longest: longestChoice(st.x.choices)}
}

// over says that all tokens were sent; an answer without any takes one emit too.
func (c *cadence) over() bool { return c.begun && c.sent == c.longest }

// next draws what comes next and returns when it is due.
func (c *cadence) next() int64 {
	x := c.st.x
	c.size = c.chunkSize()
	gaps := c.size
	if c.sent == 0 {
		gaps = max(c.size-1, 0)
	}
	c.offset += int64(x.itl.DrawSum(x.rng, gaps))
	return x.firstNs + c.offset
}

// emit sends what next has drawn.
func (c *cadence) emit() error {
	c.begun = true
	if c.sent == 0 {
		if err := c.st.e.run(c.st.e.script.first); err != nil {
			return err
		}
	}
	if err := c.st.step(c.sent, c.sent+c.size); err != nil {
		return err
	}
	c.sent += c.size
	return nil
}

// chunkSize draws how many tokens the next events carry; an event never mixes
// parts of an answer.
func (c *cadence) chunkSize() int {
	x := c.st.x
	k := min(x.opt.TokensPerChunk.Draw(x.rng), c.longest-c.sent)
	for i := range x.choices {
		if one := &x.choices[i]; c.sent < one.reasoning || len(one.calls) > 0 {
			k = one.bound(c.sent, k)
		}
	}
	return k
}
