package mock

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"net/http"
	"unicode/utf8"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
)

// stream is the streamed response of an exchange. It belongs to the goroutine of the
// exchange.
type stream struct {
	x       *exchange
	e       *api.Events
	flusher *http.ResponseController
	cut     cutter // nil = whole writes
	unseen  int    // times between tokens since the last content write
}

// openStream sends the response head. The caller must release the stream, also after an
// error.
func openStream(x *exchange) (*stream, error) {
	st := &stream{x: x, flusher: http.NewResponseController(x.w), cut: newCutter(x.Options.Split, x.Rand)}
	e := api.NewEvents(&x.Answer, x.api.Script, x.s.frame(), st.write)
	st.e = e
	if kind, named := x.Options.ContentType(e.Script.ContentType); named {
		x.Header.Set("Content-Type", kind)
	} else {
		x.Header["Content-Type"] = nil // prevents the detection of net/http
	}
	x.Header.Set("Cache-Control", "no-cache")
	x.head(http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	if st.flusher.Flush() != nil {
		return st, api.ErrClientGone
	}
	e.LastNs = x.Now()
	return st, nil
}

func (st *stream) release() { st.x.s.putFrame(st.e.Release()) }

// run sends the tokens of the stream when they are due.
func (st *stream) run() error {
	x, e := st.x, st.e
	if err := x.fault.checkpoint(options.PosAfterHeaders, 0); err != nil {
		return err
	}
	if e.Run(e.Script.Begin); e.Err != nil {
		return e.Err
	}
	if x.ticket != nil {
		if err := newRelay(st).run(); err != nil {
			return err
		}
		return st.end()
	}
	c := newCadence(st)
	for {
		if err := st.tokenFault(c.sent); err != nil {
			return err
		}
		if c.over() {
			return st.end()
		}
		if err := st.waitUntil(c.next()); err != nil {
			return err
		}
		if err := c.emit(); err != nil {
			return err
		}
	}
}

// tokenFault applies a rule with after_tokens. Buffered events are sent first, so that
// the client receives the number of tokens of the rule.
func (st *stream) tokenFault(sent int) error {
	f := &st.x.fault
	if !f.due(options.PosAfterTokens, sent) {
		return nil
	}
	if st.e.Flush(); st.e.Err != nil {
		return st.e.Err
	}
	switch f.rule.Action {
	case options.ActStreamError:
		st.x.Acted = true
		return st.breakDown(f.rule.Message)
	case options.ActMalformed:
		// The next event is broken; without one there is nothing to break.
		st.e.BreakNext = f.rule.Kind
		return nil
	case options.ActReset, options.ActClose, options.ActStall, options.ActStatus, options.ActSlowHeaders, options.ActEmpty,
		options.ActSlowBody, options.ActJob, options.ActBadChunk:
	}
	return f.checkpoint(options.PosAfterTokens, sent)
}

// breakDown writes the error event of a server that fails, and the end of the stream.
func (st *stream) breakDown(message string) error {
	e := st.e
	if e.Script.Fail != nil {
		e.Script.Fail(e, api.NewError(http.StatusInternalServerError, message, ""))
	}
	e.Flush()
	return cmp.Or(e.Err, errFaulted)
}

// end sends the events after the last token.
func (st *stream) end() error {
	e, f := st.e, &st.x.fault
	if f.due(options.PosAfterFinish, 0) {
		if e.Flush(); e.Err != nil {
			return e.Err
		}
		if err := f.checkpoint(options.PosAfterFinish, 0); err != nil {
			return err
		}
	}
	e.Run(e.Script.Close)
	if trailing := e.Answer.Options.Trailing; trailing != "" {
		e.B = append(e.B, trailing...)
		e.Gathered++
	}
	if e.Flush(); e.Err != nil {
		return e.Err
	}
	return f.checkpoint(options.PosAfterDone, 0)
}

// waitUntil waits for a due time and sends comments during long silences.
func (st *stream) waitUntil(dueNs int64) error {
	e := st.e
	pause := int64(e.Answer.Options.Comments)
	if e.Script.Unframed {
		pause = 0
	}
	for pause > 0 && e.LastNs+pause < dueNs {
		if err := st.x.wait.until(e.LastNs + pause); err != nil {
			return err
		}
		if e.Comment(); e.Err != nil {
			return e.Err
		}
	}
	return st.x.wait.until(dueNs)
}

// step adds the tokens from … to−1 of every choice that has them, and the finish of those
// that end with them.
func (st *stream) step(from, to int) error {
	before := st.x.Truth.LastWriteNs
	for i := range st.x.Choices {
		c := &st.x.Choices[i]
		st.e.Tokens(c, from, min(to, c.Total))
	}
	if to > from && st.e.Err == nil {
		st.observe(before, to-from, to-from)
	}
	return st.e.Err
}

// observe adds the content writes of a step to the histograms. gaps is the number of times
// between tokens that it counts for: with speculative decoding one, since the tokens of a step
// come together.
func (st *stream) observe(before int64, tokens, gaps int) {
	st.x.s.sent.Add(int64(tokens))
	if st.x.Options.Spec.Tokens > 0 {
		gaps = 1
	}
	t, m := &st.x.Truth, st.x.metrics
	switch {
	case t.LastWriteNs == before: // still buffered
		st.unseen += gaps
		return
	case before == 0:
		m.span(firstToken, t.AcceptNs, t.FirstWriteNs)
	default:
		m.spread(interToken, before, t.LastWriteNs, st.unseen+gaps)
	}
	st.unseen = 0
}

// write sends b in one write, or in the pieces that the options select.
func (st *stream) write(b []byte) error {
	if st.x.fault.slow() {
		return st.x.fault.drip(b)
	}
	size := len(b)
	for rest := b; len(rest) > 0; rest = rest[size:] {
		if st.cut != nil {
			size = st.cut(rest)
		}
		if _, err := st.x.w.Write(rest[:size]); err != nil {
			return api.ErrClientGone
		}
		if err := st.flusher.Flush(); err != nil {
			return api.ErrClientGone
		}
	}
	return nil
}

// cadence determines when the tokens of a stream are due, and sends them. Calls of next
// and emit alternate until over returns true.
type cadence struct {
	st      *stream
	longest int   // tokens of the longest choice
	sent    int   // tokens of every choice so far
	size    int   // tokens that are due next
	offset  int64 // of their due time, from the first token's
	begun   bool  // emit was called

	drafts []batch.Step // of the longest choice, those that are not begun
	rest   int          // tokens of the current one that are not sent
}

func newCadence(st *stream) cadence {
	c := cadence{st: st, longest: api.LongestChoice(st.x.Choices)}
	if len(st.x.Choices) > 0 {
		c.drafts = longestOf(st.x.Choices).Drafts
	}
	return c
}

// over reports whether all tokens were sent. An answer without tokens also needs one emit.
func (c *cadence) over() bool { return c.begun && c.sent == c.longest }

// next draws the next tokens and returns their due time.
func (c *cadence) next() int64 {
	x := c.st.x
	gaps := 0
	if begins := c.sent > 0 && c.rest == 0 && len(c.drafts) > 0; begins {
		c.rest, c.drafts, gaps = c.drafts[0].Accepted+1, c.drafts[1:], 1
	}
	c.size = c.chunkSize()
	switch {
	case c.rest > 0:
		c.rest -= min(c.rest, c.size)
	case c.sent == 0:
		gaps = max(c.size-1, 0)
	default:
		gaps = c.size
	}
	c.offset += int64(x.ITL.DrawSum(x.Rand, gaps))
	return x.FirstNs + c.offset
}

// emit sends the tokens that next has drawn.
func (c *cadence) emit() error {
	c.begun = true
	c.count()
	if c.sent == 0 {
		c.st.e.Run(c.st.e.Script.First)
	}
	err := c.st.step(c.sent, c.sent+c.size)
	c.sent += c.size
	return err
}

// count adds the drafts that the step verifies to the metrics.
func (c *cadence) count() {
	choices := c.st.x.Choices
	for i := range choices {
		one := &choices[i]
		from, to := one.Steps(c.sent), one.Steps(c.sent+c.size)
		if one.Drafts != nil && to > from {
			c.st.x.s.metrics().verified(one.Drafts[from:to]...)
		}
	}
}

// chunkSize draws the number of tokens of the next events. An event belongs to one part
// of an answer.
func (c *cadence) chunkSize() int {
	x := c.st.x
	k := c.rest
	if k == 0 {
		k = x.Options.TokensPerChunk.Draw(x.Rand)
	}
	k = min(k, c.longest-c.sent)
	for i := range x.Choices {
		if one := &x.Choices[i]; c.sent < one.Reasoning || len(one.Calls) > 0 {
			k = one.Bound(c.sent, k)
		}
	}
	return k
}

// cutter returns the length of the next write, from 1 to len(b).
type cutter func(b []byte) int

// newCutter returns what the option split says; nil = whole writes.
func newCutter(split string, rng *rand.Rand) cutter {
	switch split {
	case options.SplitNone:
		return nil
	case options.SplitEveryByte:
		return func([]byte) int { return 1 }
	case options.SplitRandom:
		return func(b []byte) int { return 1 + rng.IntN(len(b)) }
	case options.SplitMidUTF8:
		return func(b []byte) int {
			for i, c := range b[:len(b)-1] {
				if c >= utf8.RuneSelf && utf8.RuneStart(c) && !utf8.RuneStart(b[i+1]) {
					return i + 1
				}
			}
			return len(b)
		}
	case options.SplitBeforeNewline:
		return func(b []byte) int {
			if i := bytes.IndexByte(b[1:], '\n'); i >= 0 {
				return i + 1
			}
			return len(b)
		}
	}
	size, _ := options.SplitSize(split) // the options were checked
	return func(b []byte) int { return min(size, len(b)) }
}
