package mock

// relay sends the tokens of a stream as they come out of the accelerator.
type relay struct {
	x    *exchange
	e    *events
	have []int // tokens that have come out, by choice
	sent []int
	size []int // of the next event
	done []bool
	left int // choices that are not done
}

// streamTokens is the part of a stream between its beginning and its end, when an
// accelerator says when tokens are there.
func (x *exchange) streamTokens(e *events) error {
	n := len(x.choices)
	r := &relay{x: x, e: e, have: make([]int, n), sent: make([]int, n), size: make([]int, n), done: make([]bool, n), left: n}
	for begun := false; ; {
		if err := x.tokenFault(e, longestSent(r.sent)); err != nil {
			return err
		}
		if r.left == 0 {
			return nil
		}
		x.ticket.progress(r.have)
		if !r.ready() {
			if err := e.waitNews(); err != nil {
				return err
			}
			continue
		}
		if err := x.interrupted(); err != nil {
			return err
		}
		if !begun {
			begun = true
			if err := e.run(e.script.first); err != nil {
				return err
			}
		}
		if err := r.round(); err != nil {
			return err
		}
	}
}

func longestSent(sent []int) int {
	longest := 0
	for _, n := range sent {
		longest = max(longest, n)
	}
	return longest
}

// ready draws the sizes of next events and says whether one can be sent.
func (r *relay) ready() bool {
	any := false
	for i := range r.x.choices {
		c := &r.x.choices[i]
		if r.size[i] == 0 && r.sent[i] < c.total {
			k := min(r.x.s.opt.TokensPerChunk.Draw(r.x.rng), c.total-r.sent[i])
			r.size[i] = c.bound(r.sent[i], k)
		}
		any = any || r.complete(i)
	}
	return any
}

// complete says that the next event of a choice can be sent.
func (r *relay) complete(i int) bool {
	return !r.done[i] && r.have[i] >= max(1, r.sent[i]+r.size[i])
}

// round sends one event of every choice that has one.
func (r *relay) round() error {
	before, tokens := r.x.truth.LastWriteNs, 0
	for i := range r.x.choices {
		if !r.complete(i) {
			continue
		}
		c := &r.x.choices[i]
		from, to := r.sent[i], r.sent[i]+r.size[i]
		if err := r.e.tokens(c, from, to); err != nil {
			return err
		}
		tokens = max(tokens, to-from)
		r.sent[i], r.size[i] = to, 0
		if to == c.total {
			r.done[i] = true
			r.left--
		}
	}
	if tokens > 0 {
		r.e.observe(before, tokens)
	}
	return nil
}

// waitNews waits for tokens, sending comments into long silences.
func (e *events) waitNews() error {
	for {
		due := int64(0)
		if pause := int64(e.x.s.opt.Comments); pause > 0 {
			due = e.lastNs + pause
		}
		told, err := e.x.awaitNews(due)
		if err != nil || told {
			return err
		}
		if err := e.comment(); err != nil {
			return err
		}
	}
}
