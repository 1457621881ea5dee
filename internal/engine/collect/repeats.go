package collect

import (
	"hash/maphash"
	"math"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
)

// repeats counts which prompts of a run, and which blocks of the prompts of a trace, had
// been sent before. It takes less than 16 MiB, however long the run is; [distinct] says
// how exact it is.
//
// The order in which requests return does not matter: of the requests with one prompt, all
// but one are repetitions.
type repeats struct {
	bust    plan.CacheBust
	seed    maphash.Seed
	prompts distinct
	blocks  distinct
	unit    inputUnit
}

// inputUnit is what the input of requests is measured in.
type inputUnit uint8

const (
	unitUnknown inputUnit = iota // no request has succeeded yet
	unitTokens
	unitBytes // tokens are not counted
)

// NewRepeats returns the observer that adds to the metrics of each phase what it repeats.
func NewRepeats(bust plan.CacheBust) RunObserver {
	r := newRepeats(bust)
	return RunObserver{Phase: func(_ *spec.Phase, set *measure.Set) Observer {
		return Observer{Observe: (&phaseRepeats{run: r, set: set}).observe}
	}}
}

func newRepeats(bust plan.CacheBust) *repeats { return &repeats{bust: bust, seed: maphash.MakeSeed()} }

// phaseRepeats counts the repetitions of one phase: what is different in the run after a
// record, less what was before, is new.
type phaseRepeats struct {
	run *repeats
	set *measure.Set

	sum                            catalogue.Reuse
	unique, uniqueInput, newBlocks float64 // new in the run
}

// observe counts a request. Those that were not sent completely do not count.
func (p *phaseRepeats) observe(rec *bench.Record) {
	if rec.Content.Prompt == 0 || rec.Stamps.Wrote == 0 {
		return
	}
	r, s := p.run, &p.sum
	input := r.input(rec)
	p.unique -= r.prompts.count()
	p.uniqueInput -= r.prompts.sum()
	r.prompts.add(rec.Content.Prompt, input)
	p.unique += r.prompts.count()
	p.uniqueInput += r.prompts.sum()
	s.Requests++
	s.Input += float64(input)
	s.Unique = between(0, p.unique, s.Requests)
	s.UniqueInput = between(0, p.uniqueInput, s.Input)
	if n := len(rec.Content.Blocks); n > 0 {
		p.newBlocks -= r.blocks.count()
		r.addBlocks(rec)
		p.newBlocks += r.blocks.count()
		s.Blocks += float64(n)
		s.Hits = between(0, s.Blocks-p.newBlocks, s.Blocks)
	}
	if turn := rec.Content.Replayed; turn != nil && rec.OK() && rec.InputTokens != nil && rec.Content.Expected != nil {
		s.Blocks += float64(turn.Recorded.Blocks)
		s.Hits += float64(turn.Recorded.Seen)
		s.Replayed += float64(*rec.InputTokens)
		s.Expected += float64(*rec.Content.Expected)
	}
	if u := rec.Answer.Usage; u != nil && u.Input != nil && rec.Turn == 0 && rec.OK() {
		s.FirstInput += float64(*u.Input)
		if u.Cached != nil {
			s.FirstCached += float64(*u.Cached)
			s.CachedReported = true
		}
	}
	p.set.Reused(*s)
}

// between returns v, or the bound that it exceeds: estimates may.
func between(least, v, most float64) float64 { return min(max(least, v), most) }

// input returns the size of the input of a request. The first request that succeeds
// decides for the run whether that is in tokens or in bytes.
func (r *repeats) input(rec *bench.Record) uint32 {
	if r.unit == unitUnknown && rec.OK() {
		r.unit = unitBytes
		if rec.InputTokens != nil {
			r.unit = unitTokens
		}
	}
	var size int64
	switch r.unit {
	case unitUnknown:
	case unitTokens:
		if rec.InputTokens != nil {
			size = int64(*rec.InputTokens)
		}
	case unitBytes:
		size = int64(rec.Conn.Sent)
	}
	return uint32(min(max(0, size), math.MaxUint32))
}

// addBlocks adds the blocks of a prompt. A block is the same as another one if all blocks
// before it are, too. Prompts that begin with different markers have none in common.
func (r *repeats) addBlocks(rec *bench.Record) {
	begin := rec.Model
	if !r.bust.Suffix {
		begin += rec.Content.Marker
	}
	chain := maphash.String(r.seed, begin)
	for _, id := range rec.Content.Blocks {
		chain = bench.Mix(chain ^ bench.Mix(uint64(id)))
		r.blocks.add(max(1, chain), 0)
	}
}
