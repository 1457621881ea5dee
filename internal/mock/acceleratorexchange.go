package mock

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/random"
)

// enqueue queues the request at the accelerator. The error is an error response that was
// sent, or the reason why waiting ended.
func (x *exchange) enqueue() error {
	a := x.s.accelerator
	if err := x.wait.until(x.Truth.BodyReadNs + int64(a.params.Frontend)); err != nil {
		return err
	}
	t := newTicket(x.sequences(), x.Now())
	err := a.submit(t)
	if err == nil {
		x.ticket = t
		x.metrics.promptTokens.Add(float64(x.Truth.PromptTokens))
		return nil
	}
	refusal := api.BadRequest("", fmt.Sprintf("The request cannot be served: %v.", err))
	if errors.Is(err, batch.ErrFull) {
		status := http.StatusServiceUnavailable
		refusal = api.NewError(status, "The server is overloaded: the waiting queue is full.", "")
	}
	x.metrics = nil // it never reached the engine
	x.refuse(refusal)
	return refusal
}

// cachedTokens returns the number of the request's prompt tokens that were in the prefix
// cache, each prompt counted once; 0 without an accelerator.
func (x *exchange) cachedTokens() int {
	if x.ticket == nil {
		return 0
	}
	x.ticket.mu.Lock()
	defer x.ticket.mu.Unlock()
	sum := 0
	for i := 0; i < len(x.ticket.cached); i += x.Request.N {
		sum += x.ticket.cached[i]
	}
	return sum
}

// sequences returns the sequences of the request, one per choice.
func (x *exchange) sequences() []*batch.Sequence {
	q := x.Request
	out := make([]*batch.Sequence, 0, len(x.Choices))
	for i := range x.Choices {
		p := &q.Prompts[i/q.N]
		out = append(out, &batch.Sequence{
			Prompt: p.Identify(), Answer: x.Choices[i].Identify(), Priority: q.Priority,
			Salt: random.Mix(uint64(random.Checksum(q.Model)), uint64(random.Checksum(q.CacheSalt))),
		})
	}
	return out
}

// awaitTokens waits until every choice has n tokens, or all its tokens if fewer.
func (x *exchange) awaitTokens(n int) error {
	if x.ticket == nil {
		return x.wait.until(x.tokenDue(n))
	}
	have := make([]int, len(x.Choices))
	for {
		x.ticket.progress(have)
		if !slices.ContainsFunc(x.Choices, func(c api.Choice) bool { return have[c.Index] < min(n, max(c.Total, 1)) }) {
			return x.wait.interrupted()
		}
		if _, err := x.wait.news(x.ticket.news, 0); err != nil {
			return err
		}
	}
}
