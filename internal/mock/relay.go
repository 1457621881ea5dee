package mock

import "slices"

// relay sends the tokens of a stream when the accelerator has generated them.
type relay struct {
	st   *stream
	have []int // generated tokens, by choice
	sent []int
	size []int // of the next event
	done []bool
	left int // choices that are not done
}

func newRelay(st *stream) *relay {
	n := len(st.x.Choices)
	return &relay{st: st, have: make([]int, n), sent: make([]int, n), size: make([]int, n), done: make([]bool, n), left: n}
}

// run sends the tokens, from the beginning of the stream to its end.
func (r *relay) run() error {
	st := r.st
	for begun := false; ; {
		if err := st.tokenFault(slices.Max(r.sent)); err != nil {
			return err
		}
		if r.left == 0 {
			return nil
		}
		st.x.ticket.progress(r.have)
		if !r.ready() {
			if err := st.waitNews(); err != nil {
				return err
			}
			continue
		}
		if err := st.x.wait.interrupted(); err != nil {
			return err
		}
		if !begun {
			begun = true
			st.e.Run(st.e.Script.First)
		}
		if err := r.round(); err != nil {
			return err
		}
	}
}

// ready draws the sizes of next events and reports whether one can be sent.
func (r *relay) ready() bool {
	any := false
	for i := range r.st.x.Choices {
		c := &r.st.x.Choices[i]
		switch {
		case r.sent[i] >= c.Total:
		case c.Drafts != nil: // what a step gives is sent together
			r.size[i] = c.Bound(r.sent[i], max(1, min(r.have[i], c.Total)-r.sent[i]))
		case r.size[i] == 0:
			k := min(r.st.x.Options.TokensPerChunk.Draw(r.st.x.Rand), c.Total-r.sent[i])
			r.size[i] = c.Bound(r.sent[i], k)
		}
		any = any || r.complete(i)
	}
	return any
}

// complete reports whether the next event of a choice can be sent.
func (r *relay) complete(i int) bool {
	return !r.done[i] && r.have[i] >= max(1, r.sent[i]+r.size[i])
}

// round sends one event of every choice that has one.
func (r *relay) round() error {
	before, tokens := r.st.x.Truth.LastWriteNs, 0
	for i := range r.st.x.Choices {
		if !r.complete(i) {
			continue
		}
		c := &r.st.x.Choices[i]
		from, to := r.sent[i], r.sent[i]+r.size[i]
		if r.st.e.Tokens(c, from, to); r.st.e.Err != nil {
			return r.st.e.Err
		}
		tokens = max(tokens, to-from)
		r.sent[i], r.size[i] = to, 0
		if to == c.Total {
			r.done[i] = true
			r.left--
		}
	}
	if tokens > 0 {
		r.st.observe(before, tokens, tokens)
	}
	return nil
}

// waitNews waits for tokens and sends comments during long silences.
func (st *stream) waitNews() error {
	for {
		due := int64(0)
		if pause := int64(st.x.Options.Comments); pause > 0 {
			due = st.e.LastNs + pause
		}
		came, err := st.x.wait.news(st.x.ticket.news, due)
		if err != nil || came {
			return err
		}
		if st.e.Comment(); st.e.Err != nil {
			return st.e.Err
		}
	}
}
