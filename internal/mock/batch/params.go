// Package batch models one accelerator that serves many sequences by continuous
// batching with chunked prefill: a running batch, a waiting queue, a pool of
// key-value cache blocks with a prefix cache, and preemption when the pool runs
// dry. It determines which sequences get a token in the next step, and how long
// that step takes.
//
// It is pure: no goroutine and no clock. The caller submits sequences, calls
// [Engine.Step], waits for the duration of the step, and then delivers the tokens
// to the clients.
package batch

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Params are the costs and limits of a modelled accelerator. Costs are in
// milliseconds.
type Params struct {
	Base      float64 // of every step
	Prefill   float64 // per prompt token computed, and per draft token verified
	Decode    float64 // per sequence that decodes
	Context   float64 // per token of context that decoding sequences read
	Attention float64 // per pair of tokens of prefill attention

	MaxSequences int // running at once
	MaxBatched   int // tokens computed in one step
	Blocks       int // of the key-value cache
	BlockSize    int // tokens in a block
	PrefixCache  bool
	MaxWaiting   int // sequences in the queue; 0 = no limit

	Frontend time.Duration // from the arrival of a request to the queue
	Jitter   float64       // coefficient of variation of a step's duration, log-normal; 0 = none
}

// Validate returns all problems of the parameters at once.
func (p *Params) Validate() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"step base", p.Base}, {"step prefill", p.Prefill}, {"step decode", p.Decode}, {"step context", p.Context},
		{"step attention", p.Attention}, {"step jitter", p.Jitter},
		{"frontend", p.Frontend.Seconds()}, {"max waiting", float64(p.MaxWaiting)},
	} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			errs = append(errs, fmt.Errorf("%s is %v, want a finite number ≥ 0", f.name, f.value))
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"max sequences", p.MaxSequences}, {"max batched tokens", p.MaxBatched}, {"blocks", p.Blocks}, {"block size", p.BlockSize},
	} {
		if f.value < 1 {
			errs = append(errs, fmt.Errorf("%s is %d, want ≥ 1", f.name, f.value))
		}
	}
	if p.Base+p.Prefill <= 0 || p.Base+p.Decode <= 0 {
		errs = append(errs, errors.New("a step takes no time: give it a base cost, or costs of prefill and decode"))
	}
	return errors.Join(errs...)
}

// Preset is a named set of parameters.
type Preset struct {
	Name   string
	Params Params
}

// Presets returns the built-in accelerators, the default first. The figures are estimates
// of the right order of magnitude from weights, memory bandwidth and arithmetic, not
// claims of a vendor.
func Presets() []Preset {
	const jitter = 0.03
	return []Preset{
		{"h100-8b", Params{ // one H100 with an 8B model
			Base: 6.5, Prefill: 0.040, Decode: 0.020, Context: 0.00005, Attention: 2e-6,
			MaxSequences: 256, MaxBatched: 8192, Blocks: 25_600, BlockSize: 16,
			PrefixCache: true, Frontend: 2 * time.Millisecond, Jitter: jitter,
		}},
		{"h100x8-70b", Params{ // eight H100 with a 70B model
			Base: 13, Prefill: 0.080, Decode: 0.030, Context: 0.000016, Attention: 6e-7,
			MaxSequences: 256, MaxBatched: 8192, Blocks: 78_000, BlockSize: 16,
			PrefixCache: true, Frontend: 2 * time.Millisecond, Jitter: jitter,
		}},
		{"l4-8b", Params{ // one L4 with an 8B model
			Base: 58, Prefill: 0.28, Decode: 0.06, Context: 0.00044, Attention: 1.5e-5,
			MaxSequences: 64, MaxBatched: 2048, Blocks: 1_900, BlockSize: 16,
			PrefixCache: true, Frontend: 2 * time.Millisecond, Jitter: jitter,
		}},
		{"tiny", Params{ // milliseconds a step, saturated by 16 sequences; for tests
			Base: 1, Prefill: 0.004, Decode: 0.010, Context: 0.000005,
			MaxSequences: 16, MaxBatched: 1024, Blocks: 1_024, BlockSize: 16,
			PrefixCache: true, Frontend: 200 * time.Microsecond, Jitter: jitter,
		}},
	}
}
