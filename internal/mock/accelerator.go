package mock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/random"
)

// accelerator runs the model of a server that batches in the time of the server: one
// goroutine computes a step, sleeps for the duration of the step, and notifies the
// requests of their new tokens. Steps follow each other without a gap: a step begins
// at the planned end of the previous one.
type accelerator struct {
	s      *Server
	params batch.Params
	wake   chan struct{} // buffered 1: a sequence was submitted
	ended  chan struct{} // closed by the goroutine

	mu      sync.Mutex
	engine  *batch.Engine
	slots   map[*batch.Sequence]slot // of the sequences in the engine
	emitted []*batch.Sequence        // by the current step
	began   int64                    // start of the current step
	working bool                     // there is a current step
}

// slot is the destination of the tokens of a sequence.
type slot struct {
	ticket *ticket
	choice int
}

// startAccelerator starts the goroutine, which ends when the server stops.
func startAccelerator(s *Server, p batch.Params) *accelerator {
	a := &accelerator{
		s: s, params: p, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		engine: batch.New(p, rand.New(rand.NewPCG(s.opt.Seed, random.Mix(s.opt.Seed, 0)))),
		slots:  make(map[*batch.Sequence]slot),
	}
	go a.run()
	return a
}

func (a *accelerator) run() {
	defer close(a.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for at := a.s.now(); ; {
		took, ok := a.step(at)
		if !ok {
			select {
			case <-a.wake:
				at = a.s.now()
				continue
			case <-a.s.stopping:
				return
			}
		}
		at += int64(took)
		timer.Reset(time.Duration(at - a.s.now()))
		select {
		case <-timer.C:
			a.deliver(at)
		case <-a.s.stopping:
			return
		}
	}
}

// step computes the next step. ok is false if there is nothing to do.
func (a *accelerator) step(at int64) (took time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	took, a.emitted, ok = a.engine.Step()
	a.began, a.working = at, ok
	if !ok {
		return 0, false
	}
	for _, q := range a.engine.Admitted() {
		if to, ok := a.slots[q]; ok {
			to.ticket.admit(to.choice, at, q.Cached)
		}
	}
	m, stats := a.s.metrics(), a.engine.Stats()
	m.iterationTokens.Observe(float64(stats.StepTokens))
	m.late.scheduled(stats, len(a.engine.Admitted()) > 0, at)
	return took, true
}

// deliver ends a step and delivers its tokens to their requests.
func (a *accelerator) deliver(at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.working = false
	stats := a.engine.Stats()
	a.s.metrics().late.completed(stats)
	size := stats.StepRunning
	a.s.gpus.spend(at, time.Duration(at-a.began), float64(size)/float64(a.params.MaxSequences))
	for _, q := range a.emitted {
		to, ok := a.slots[q]
		if !ok {
			continue // the client has left during the step
		}
		a.s.metrics().verified(to.ticket.emit(to.choice, q, size, at)...)
		if q.Done() {
			to.ticket.preempted(q.Preemptions)
			delete(a.slots, q)
		}
	}
	a.emitted = nil
}

// submit queues all sequences of a ticket or none.
func (a *accelerator) submit(t *ticket) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, q := range t.sequences {
		if err := a.engine.Submit(q); err != nil {
			for _, q := range t.sequences[:i] {
				a.engine.Remove(q)
				delete(a.slots, q)
			}
			return err
		}
		a.slots[q] = slot{t, i}
	}
	select {
	case a.wake <- struct{}{}:
	default: // it will wake up already
	}
	return nil
}

// leave removes the remaining sequences of a ticket.
func (a *accelerator) leave(t *ticket) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range t.sequences {
		if _, ok := a.slots[q]; ok {
			t.preempted(q.Preemptions)
			a.engine.Remove(q)
			delete(a.slots, q)
		}
	}
}

// stats returns the current state; sequences that a step finishes count until its end.
func (a *accelerator) stats() batch.Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.engine.Stats()
	if a.working {
		s.Running, s.BlocksUsed = s.StepRunning, s.StepBlocks
	}
	return s
}

// resetPrefixCache forgets cached prefixes that no running sequence uses.
func (a *accelerator) resetPrefixCache() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.engine.ResetPrefixCache()
}

// ticket represents one request in the accelerator.
type ticket struct {
	sequences []*batch.Sequence // one per choice
	queuedNs  int64
	news      chan struct{} // buffered 1: tokens have come out

	mu        sync.Mutex
	generated []int          // tokens of each choice
	cached    []int          // prompt tokens of each choice that were in the prefix cache
	verified  [][]batch.Step // of speculative decoding, by choice
	truth     api.TruthBatch
	steps     int // that generated a token
	batches   int // sum of their sizes
	firstNs   int64
	lastNs    int64
}

func newTicket(sequences []*batch.Sequence, queuedNs int64) *ticket {
	return &ticket{
		sequences: sequences, queuedNs: queuedNs, news: make(chan struct{}, 1), truth: api.TruthBatch{QueuedNs: queuedNs},
		generated: make([]int, len(sequences)), cached: make([]int, len(sequences)), verified: make([][]batch.Step, len(sequences)),
	}
}

// admit records that a sequence was taken from the queue.
func (t *ticket) admit(choice int, at int64, cached int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.truth.AdmittedNs == 0 {
		t.truth.AdmittedNs = max(at, t.queuedNs)
		t.truth.QueueMs = api.Millis(t.truth.AdmittedNs - t.queuedNs)
	}
	t.cached[choice] = cached
	t.truth.CachedTokens += cached
}

// emit records the tokens of a choice that a batch of size sequences has generated. It returns
// the draft that the step verified, if there was one.
func (t *ticket) emit(choice int, q *batch.Sequence, size int, at int64) []batch.Step {
	t.mu.Lock()
	t.generated[choice] = q.Generated
	step := q.Verified[len(t.verified[choice]):]
	t.verified[choice] = q.Verified
	t.steps++
	t.batches += size
	if t.firstNs == 0 {
		t.firstNs = at
	}
	t.lastNs = at
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default: // an unread notification covers these
	}
	return step
}

func (t *ticket) preempted(times int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.truth.Preemptions += times
}

// progress copies the number of tokens of each choice into dst.
func (t *ticket) progress(dst []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	copy(dst, t.generated)
}

// result returns the record of the request.
func (t *ticket) result() api.TruthBatch {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.truth
	if t.steps > 0 {
		b.MeanBatch = float64(t.batches) / float64(t.steps)
	}
	return b
}

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

// verified returns the steps of speculative decoding of a choice that was generated.
func (x *exchange) verified(c *api.Choice) []batch.Step {
	if x.ticket == nil {
		return c.Drafts
	}
	x.ticket.mu.Lock()
	defer x.ticket.mu.Unlock()
	return x.ticket.verified[c.Index]
}

// sequences returns the sequences of the request, one per choice.
func (x *exchange) sequences() []*batch.Sequence {
	q := x.Request
	out := make([]*batch.Sequence, 0, len(x.Choices))
	for i := range x.Choices {
		p := &q.Prompts[i/q.N]
		out = append(out, &batch.Sequence{
			Prompt: p.Identify(), Answer: x.Choices[i].Identify(), Priority: q.Priority, Drafts: x.Choices[i].Drafts,
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
