package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"aiperfd/internal/mock"

	"github.com/spf13/pflag"
)

// batchFlags are the flags of the simulated accelerator. They have the names of
// vLLM's flags if vLLM has such a flag.
type batchFlags struct {
	preset       string
	sequences    int
	batched      int
	blocks       int
	blockSize    int
	prefixCache  bool
	maxWaiting   int
	frontend     time.Duration
	base         float64
	prefill      float64
	decode       float64
	contextToken float64
	attention    float64
	jitter       float64
}

// batchFlagNames returns the flags that require a preset.
func batchFlagNames() []string {
	return []string{
		"max-num-seqs", "max-num-batched-tokens", "num-gpu-blocks-override", "block-size", "enable-prefix-caching",
		"max-waiting", "frontend", "step-base", "step-prefill", "step-decode", "step-context", "step-attention", "step-jitter",
	}
}

// independentFlagNames returns the flags that exclude a preset.
func independentFlagNames() []string {
	return []string{"ttft", "itl", "itl-per-request", "prefill-per-token", "fast"}
}

func (b *batchFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&b.preset, "preset", "", "simulate a server with continuous batching on this `accelerator` (one of "+
		strings.Join(mock.Presets(), ", ")+")")
	fs.IntVar(&b.sequences, "max-num-seqs", 0, "maximum number of running sequences (default of the preset)")
	fs.IntVar(&b.batched, "max-num-batched-tokens", 0, "maximum `tokens` per step (default of the preset)")
	fs.IntVar(&b.blocks, "num-gpu-blocks-override", 0, "`blocks` of the key-value cache (default of the preset)")
	fs.IntVar(&b.blockSize, "block-size", 0, "`tokens` per block (default of the preset)")
	fs.BoolVar(&b.prefixCache, "enable-prefix-caching", true, "reuse cached blocks for prompts with the same prefix")
	fs.IntVar(&b.maxWaiting, "max-waiting", 0, "respond with 503 if this many requests are waiting; 0 = no limit")
	fs.DurationVar(&b.frontend, "frontend", 0, "time from the arrival of a request to the queue (default of the preset)")
	fs.Float64Var(&b.base, "step-base", 0, "base time per step, in `milliseconds` (default of the preset)")
	fs.Float64Var(&b.prefill, "step-prefill", 0, "time per prompt token, in `milliseconds` (default of the preset)")
	fs.Float64Var(&b.decode, "step-decode", 0, "time per decoding sequence, in `milliseconds` (default of the preset)")
	fs.Float64Var(&b.contextToken, "step-context", 0, "time per token of context, in `milliseconds` (default of the preset)")
	fs.Float64Var(&b.attention, "step-attention", 0, "time per pair of prompt tokens, in `milliseconds` (default of the preset)")
	fs.Float64Var(&b.jitter, "step-jitter", 0, "coefficient of variation of step times (default of the preset)")
}

// resolve sets the accelerator of the options. Flags without effect are rejected.
func (f *mockFlags) resolve(fs *pflag.FlagSet) error {
	var errs []error
	for _, name := range []string{"host", "port", "port-file"} {
		if f.uds != "" && fs.Changed(name) {
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --uds, which replaces it", name))
		}
	}
	b := &f.batch
	if b.preset == "" {
		for _, name := range batchFlagNames() {
			if fs.Changed(name) {
				errs = append(errs, fmt.Errorf("--%s needs --preset (one of %s)", name, strings.Join(mock.Presets(), ", ")))
			}
		}
		return errors.Join(errs...)
	}
	for _, name := range independentFlagNames() {
		if fs.Changed(name) {
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --preset, which computes its own times", name))
		}
	}
	o := &f.opt
	o.TTFT, o.ITL = mock.Delay{}, mock.Delay{}
	if !fs.Changed("max-model-len") {
		o.MaxModelLen = 0 // what fits into the cache
	}
	p, err := mock.Preset(b.preset)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	override(fs, "max-num-seqs", &p.MaxSequences, b.sequences)
	override(fs, "max-num-batched-tokens", &p.MaxBatched, b.batched)
	override(fs, "num-gpu-blocks-override", &p.Blocks, b.blocks)
	override(fs, "block-size", &p.BlockSize, b.blockSize)
	override(fs, "enable-prefix-caching", &p.PrefixCache, b.prefixCache)
	override(fs, "max-waiting", &p.MaxWaiting, b.maxWaiting)
	override(fs, "frontend", &p.Frontend, b.frontend)
	override(fs, "step-base", &p.Base, b.base)
	override(fs, "step-prefill", &p.Prefill, b.prefill)
	override(fs, "step-decode", &p.Decode, b.decode)
	override(fs, "step-context", &p.Context, b.contextToken)
	override(fs, "step-attention", &p.Attention, b.attention)
	override(fs, "step-jitter", &p.Jitter, b.jitter)
	o.Accelerator = p
	return errors.Join(errs...)
}

// override sets *to to the value of a flag if the flag was given.
func override[T any](fs *pflag.FlagSet, name string, to *T, value T) {
	if fs.Changed(name) {
		*to = value
	}
}
