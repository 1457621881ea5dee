package mock

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/seed"
)

// board queues the request at the accelerator. The error is a refusal that was
// sent, or says why waiting ended.
func (x *exchange) board() error {
	a := x.s.accelerator
	if err := x.wait.until(x.truth.BodyReadNs + int64(a.params.Frontend)); err != nil {
		return err
	}
	t := newTicket(x.sequences(), x.now())
	err := a.submit(t)
	if err == nil {
		x.ticket = t
		x.metrics.promptTokens.Add(float64(x.truth.PromptTokens))
		return nil
	}
	refusal := apierror.BadRequest("", fmt.Sprintf("The request cannot be served: %v.", err))
	if errors.Is(err, batch.ErrFull) {
		status := http.StatusServiceUnavailable
		refusal = apierror.New(status, "The server is overloaded: the waiting queue is full.", "")
	}
	x.metrics = nil // it never reached the engine
	x.refuse(refusal)
	return refusal
}

// cachedTokens returns how many of the request's prompt tokens were in the prefix
// cache, each prompt once; 0 without an accelerator.
func (x *exchange) cachedTokens() int {
	if x.ticket == nil {
		return 0
	}
	x.ticket.mu.Lock()
	defer x.ticket.mu.Unlock()
	sum := 0
	for i := 0; i < len(x.ticket.cached); i += x.q.n {
		sum += x.ticket.cached[i]
	}
	return sum
}

// sequences makes the work of the request, one sequence a choice.
func (x *exchange) sequences() []*batch.Sequence {
	q := x.q
	out := make([]*batch.Sequence, 0, len(x.choices))
	for i := range x.choices {
		p := &q.prompts[i/q.n]
		out = append(out, &batch.Sequence{
			Prompt: p.identify(), Answer: x.choices[i].identify(), Priority: q.priority,
			Salt: seed.Mix(uint64(seed.Checksum(q.model)), uint64(seed.Checksum(q.cacheSalt))),
		})
	}
	return out
}

// identify returns the tokens of the prompt, as many as it counts and at least
// one. What a protocol has counted without reading tokens gets numbers of its own.
func (p *prompt) identify() []uint32 {
	wanted := max(p.tokens, 1)
	ids := p.ids[:min(len(p.ids), wanted)]
	for i := len(ids); i < wanted; i++ {
		ids = append(ids, uint32(seed.Mix(uint64(p.hash), uint64(i))))
	}
	return ids
}

// identify returns the tokens of the answer, at least one. The answer's own are
// those that the next turn of a conversation repeats.
func (c *choice) identify() []uint32 {
	ids := make([]uint32, 0, max(c.total, 1))
	for i := range c.total {
		if i < c.reasoning {
			ids = append(ids, ofRole("reasoning", c.thoughts.Identify(i)))
		} else {
			ids = append(ids, ofRole("assistant", c.text.Identify(i-c.reasoning)))
		}
	}
	if len(ids) == 0 {
		ids = append(ids, 0)
	}
	return ids
}

// ofRole tells the tokens of one role from the same ones of another.
func ofRole(role string, id uint32) uint32 { return id ^ seed.Checksum(role) }

// awaitTokens waits until every choice has n tokens, or as many as it will have.
func (x *exchange) awaitTokens(n int) error {
	if x.ticket == nil {
		return x.wait.until(x.tokenDue(n))
	}
	have := make([]int, len(x.choices))
	for {
		x.ticket.progress(have)
		if !slices.ContainsFunc(x.choices, func(c choice) bool { return have[c.index] < min(n, max(c.total, 1)) }) {
			return x.wait.interrupted()
		}
		if _, err := x.wait.news(x.ticket.news, 0); err != nil {
			return err
		}
	}
}
