package batch

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrFull is returned for a sequence if the waiting queue is full.
var ErrFull = errors.New("the waiting queue is full")

// Sequence is one request to the accelerator. The caller sets the first fields, must
// not change any while the sequence is in an [Engine], and must not submit one sequence
// to two engines.
type Sequence struct {
	Prompt   []uint32 // token ids
	Answer   []uint32 // token ids that will be generated, at least one
	Priority int      // lower is served first; equal ones in order of arrival
	Salt     uint64   // only sequences with the same salt share cached prefixes
	Drafts   []Step   // of speculative decoding, one for each step that verifies a draft; nil = there is none

	Generated   int // tokens of Answer so far; the engine's, like the next two
	Cached      int // prompt tokens that were found in the prefix cache at first admission
	Preemptions int // how often it lost its blocks and was restarted
	// Verified are the steps of Drafts so far. One whose draft did not fit into a step of the
	// engine is shorter than planned.
	Verified []Step

	drafted  int // draft tokens in the current step
	computed int // tokens of prompt and answer in the cache
	admitted bool
	blocks   []*block
	last     uint64 // key of the prefix that the full blocks hold
	full     int    // number of these blocks
}

// Step is what speculative decoding did for a sequence in one step: it generated one more
// token than it accepted, unless the answer ended before.
type Step struct{ Drafted, Accepted int }

// Done reports whether the whole answer was generated.
func (s *Sequence) Done() bool { return s.Generated >= len(s.Answer) }

// tokens returns n tokens of prompt and answer from index i.
func (s *Sequence) tokens(i, n int) []uint32 {
	if i+n <= len(s.Prompt) {
		return s.Prompt[i : i+n]
	}
	if i >= len(s.Prompt) {
		return s.Answer[i-len(s.Prompt) : i-len(s.Prompt)+n]
	}
	return slices.Concat(s.Prompt[i:], s.Answer[:i+n-len(s.Prompt)])
}

// need returns the number of tokens to compute before the next token is generated.
func (s *Sequence) need() int { return len(s.Prompt) + s.Generated - s.computed }

// Stats are running totals and the current state of an [Engine].
type Stats struct {
	Running, Waiting int
	BlocksUsed       int   // held by sequences
	Blocks           int   // in all
	StepRunning      int   // sequences in the last step
	StepTokens       int   // tokens that the last step computed
	StepBlocks       int   // held by sequences during the last step
	Preemptions      int64 // total
	PrefixQueries    int64 // prompt tokens looked up in the prefix cache
	PrefixHits       int64 // of these, found
	Steps            int64
}

// Engine is the accelerator. It is not safe for concurrent use.
type Engine struct {
	params  Params
	random  *rand.Rand
	pool    *pool
	running []*Sequence // in order of admission
	waiting []*Sequence
	emitted []*Sequence
	fresh   []*Sequence // what Admitted returns
	stats   Stats
}

// New returns an idle accelerator. random is the source of jitter.
func New(p Params, random *rand.Rand) *Engine {
	return &Engine{params: p, random: random, pool: newPool(p)}
}

// Submit puts a sequence into the waiting queue. It is an error if the sequence could
// never fit into the cache.
func (e *Engine) Submit(s *Sequence) error {
	if e.params.MaxWaiting > 0 && len(e.waiting) >= e.params.MaxWaiting {
		return ErrFull
	}
	if len(s.Prompt) == 0 || len(s.Answer) == 0 {
		return errors.New("a sequence needs a prompt and an answer")
	}
	longest := 0
	for _, step := range s.Drafts {
		longest = max(longest, step.Drafted)
	}
	if e.blocksFor(len(s.Prompt)+len(s.Answer)+longest) > e.params.Blocks {
		return errors.New("the sequence is longer than the key-value cache")
	}
	at := len(e.waiting)
	for at > 0 && e.waiting[at-1].Priority > s.Priority {
		at--
	}
	e.waiting = slices.Insert(e.waiting, at, s)
	return nil
}

// Remove removes a sequence, queued or running, and frees its blocks.
func (e *Engine) Remove(s *Sequence) {
	is := func(other *Sequence) bool { return other == s }
	e.waiting, e.running = slices.DeleteFunc(e.waiting, is), slices.DeleteFunc(e.running, is)
	e.drop(s)
}

// ResetPrefixCache evicts every cached prefix that no running sequence uses.
func (e *Engine) ResetPrefixCache() { e.pool.clear() }

// Stats returns the current state.
func (e *Engine) Stats() Stats {
	s := e.stats
	s.Running, s.Waiting = len(e.running), len(e.waiting)
	s.Blocks, s.BlocksUsed = e.params.Blocks, e.params.Blocks-e.pool.available()
	return s
}

// Admitted returns the sequences that the last step took from the queue for the
// first time. The slice is valid until the next step.
func (e *Engine) Admitted() []*Sequence { return e.fresh }

// work is the sum of the computations of a step.
type work struct {
	budget    int
	prefill   int
	decoding  int
	drafted   int // tokens that decoding sequences verify
	context   int
	attention float64
	preempted bool
}

// Step computes one step. It returns the duration of the step and the sequences that
// have a new token at its end; ok is false if there is nothing to do. Finished sequences
// are removed. The slice is valid until the next call.
func (e *Engine) Step() (took time.Duration, emitted []*Sequence, ok bool) {
	w := work{budget: e.params.MaxBatched}
	e.fresh = e.fresh[:0]
	e.advanceRunning(&w)
	if !w.preempted {
		e.admit(&w)
	}
	if len(e.running) == 0 {
		return 0, nil, false
	}
	e.stats.Steps++
	e.stats.StepRunning, e.stats.StepTokens = len(e.running), e.params.MaxBatched-w.budget
	e.stats.StepBlocks = e.params.Blocks - e.pool.available()
	e.emitted = e.emitted[:0]
	kept := e.running[:0]
	for _, s := range e.running {
		e.publish(s)
		if s.need() == 0 {
			s.generate()
			e.emitted = append(e.emitted, s)
		}
		if s.Done() {
			e.drop(s)
			continue
		}
		kept = append(kept, s)
	}
	clear(e.running[len(kept):])
	e.running = kept
	return e.duration(&w), e.emitted, true
}

// generate adds the tokens that a step gives a sequence: one, and the accepted ones of its
// draft.
func (s *Sequence) generate() {
	s.Generated++
	if s.drafted == 0 {
		return
	}
	step := Step{s.drafted, min(s.Drafts[len(s.Verified)].Accepted, s.drafted)}
	s.Verified, s.drafted = append(s.Verified, step), 0
	kept := min(step.Accepted, len(s.Answer)-s.Generated)
	s.Generated += kept
	s.computed += kept
}

// draft returns the draft tokens that a step verifies with the next token of a sequence,
// at most limit.
func (s *Sequence) draft(limit int) int {
	if s.Generated == 0 || s.need() != 1 || len(s.Verified) >= len(s.Drafts) {
		return 0
	}
	return max(0, min(s.Drafts[len(s.Verified)].Drafted, limit))
}

// advanceRunning computes tokens of every running sequence, in order of admission, within
// the token budget and the cache. If the cache is full, the sequence that was admitted
// last returns to the head of the queue.
func (e *Engine) advanceRunning(w *work) {
	for i := 0; i < len(e.running); i++ {
		s := e.running[i]
		n := min(s.need(), w.budget)
		if n == 0 {
			continue
		}
		s.drafted = s.draft(w.budget - n)
		for e.blocksFor(s.computed+n+s.drafted)-len(s.blocks) > e.pool.available() {
			w.preempted = true
			last := e.running[len(e.running)-1]
			e.preempt(last)
			if last == s {
				return
			}
		}
		e.compute(s, n, w)
	}
}

// preempt frees all blocks of the sequence that was admitted last.
func (e *Engine) preempt(s *Sequence) {
	e.running = e.running[:len(e.running)-1]
	e.drop(s)
	e.waiting = slices.Insert(e.waiting, 0, s)
	s.Preemptions++
	e.stats.Preemptions++
}

// admit admits waiting sequences, first come, first served.
func (e *Engine) admit(w *work) {
	for len(e.waiting) > 0 && w.budget > 0 && len(e.running) < e.params.MaxSequences {
		s := e.waiting[0]
		e.lookUp(s)
		n := min(s.need(), w.budget)
		wanted := e.blocksFor(s.computed+n) - len(s.blocks)
		if wanted > e.pool.available() {
			e.drop(s)
			return
		}
		if !s.admitted {
			s.admitted, s.Cached = true, min(s.computed, len(s.Prompt))
			e.stats.PrefixQueries += int64(len(s.Prompt))
			e.stats.PrefixHits += int64(s.Cached)
			e.fresh = append(e.fresh, s)
		}
		e.waiting = e.waiting[1:]
		e.running = append(e.running, s)
		e.compute(s, n, w)
	}
}

// lookUp reuses the longest cached prefix in whole blocks. At least one token is left to
// compute, because its computation generates the next one.
func (e *Engine) lookUp(s *Sequence) {
	size := e.params.BlockSize
	s.last = s.Salt
	for e.pool.known != nil && s.computed+size < len(s.Prompt)+s.Generated {
		key := e.pool.key(s.last, s.tokens(s.computed, size))
		b := e.pool.share(key)
		if b == nil {
			return
		}
		s.blocks = append(s.blocks, b)
		s.computed += size
		s.last = key
		s.full++
	}
}

// compute adds n tokens of a sequence to the step. Their blocks must be allocated.
func (e *Engine) compute(s *Sequence, n int, w *work) {
	for missing := e.blocksFor(s.computed+n+s.drafted) - len(s.blocks); missing > 0; missing-- {
		s.blocks = append(s.blocks, e.pool.take())
	}
	if s.Generated > 0 && n == 1 && s.need() == 1 {
		w.decoding++
		w.context += s.computed
		w.drafted += s.drafted
	} else {
		w.prefill += n
		w.attention += float64(n) * (float64(s.computed) + float64(n)/2)
	}
	s.computed += n
	w.budget -= n + s.drafted
}

// publish adds the blocks that have become full to the prefix cache.
func (e *Engine) publish(s *Sequence) {
	for size := e.params.BlockSize; e.pool.known != nil && (s.full+1)*size <= s.computed; s.full++ {
		s.last = e.pool.key(s.last, s.tokens(s.full*size, size))
		e.pool.publish(s.blocks[s.full], s.last)
	}
}

// drop frees the blocks of a sequence.
func (e *Engine) drop(s *Sequence) {
	for _, b := range slices.Backward(s.blocks) { // the end of a prefix is evicted first
		e.pool.release(b)
	}
	clear(s.blocks)
	s.blocks, s.computed, s.full, s.last, s.drafted = s.blocks[:0], 0, 0, 0, 0
}

func (e *Engine) blocksFor(tokens int) int {
	return (tokens + e.params.BlockSize - 1) / e.params.BlockSize
}

// duration returns the duration of a step.
func (e *Engine) duration(w *work) time.Duration {
	p := &e.params
	ms := p.Base + p.Prefill*float64(w.prefill+w.drafted) + p.Decode*float64(w.decoding) +
		p.Context*float64(w.context) + p.Attention*w.attention
	if p.Jitter > 0 {
		sigma := math.Sqrt(math.Log1p(p.Jitter * p.Jitter))
		ms *= math.Exp(sigma*e.random.NormFloat64() - sigma*sigma/2)
	}
	return time.Duration(ms * float64(time.Millisecond))
}
