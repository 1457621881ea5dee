package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"aiperfd/internal/mock"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
)

// onlyOnCommandLine returns the flags that a configuration file cannot set.
func onlyOnCommandLine() []string { return []string{"config", "print-config", "help"} }

// printFlags writes the flags as a configuration file. Secrets are omitted.
func printFlags(w io.Writer, fs *pflag.FlagSet) error {
	var doc yaml.MapSlice
	fs.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(onlyOnCommandLine(), flag.Name) || !flag.Changed && flag.DefValue == "" {
			return
		}
		var value any = flag.Value.String()
		switch flag.Value.Type() {
		case "stringArray":
			value, _ = fs.GetStringArray(flag.Name) // cannot fail: the type is right
			if len(value.([]string)) == 0 {
				return
			}
		case "rule":
			if flag.Value.String() == "" {
				return
			}
			value = strings.Split(flag.Value.String(), "\n")
		case "bool":
			value = flag.Value.String() == "true"
		}
		if flag.Name == "api-key" {
			value = "<redacted>"
		}
		doc = append(doc, yaml.MapItem{Key: flag.Name, Value: value})
	})
	text, err := yaml.Marshal(doc)
	if err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// listen opens the socket of the simulated server.
func (f *mockFlags) listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	if f.uds == "" {
		return config.Listen(ctx, "tcp", net.JoinHostPort(f.host, strconv.Itoa(f.port)))
	}
	ln, err := config.Listen(ctx, "unix", f.uds)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return ln, err
	}
	// A socket that refuses connections was left by a process that was killed.
	c, dialErr := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", f.uds)
	if dialErr == nil {
		_ = c.Close()
		return nil, err
	}
	if !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, errors.Join(err, dialErr)
	}
	if err := os.Remove(f.uds); err != nil {
		return nil, err
	}
	return config.Listen(ctx, "unix", f.uds)
}

// independentFlagNames returns the flags that exclude a preset.
func independentFlagNames() []string {
	return []string{"ttft", "itl", "itl-per-request", "prefill-per-token", "fast"}
}

// batchFlags adds the flags of the simulated accelerator, with the names of vLLM's if vLLM has such
// a flag. They set the parameters, whose values are the defaults.
func batchFlags(fs *pflag.FlagSet, p *batch.Params) {
	fs.IntVar(&p.MaxSequences, "max-num-seqs", p.MaxSequences,
		"maximum number of running sequences (default of the preset)")
	fs.IntVar(&p.MaxBatched, "max-num-batched-tokens", p.MaxBatched, "maximum `tokens` per step (default of the preset)")
	fs.IntVar(&p.Blocks, "num-gpu-blocks-override", p.Blocks, "`blocks` of the key-value cache (default of the preset)")
	fs.IntVar(&p.BlockSize, "block-size", p.BlockSize, "`tokens` per block (default of the preset)")
	fs.BoolVar(&p.PrefixCache, "enable-prefix-caching", p.PrefixCache,
		"reuse cached blocks for prompts with the same prefix")
	fs.IntVar(&p.MaxWaiting, "max-waiting", p.MaxWaiting,
		"respond with 503 if this many requests are waiting; 0 = no limit")
	fs.DurationVar(&p.Frontend, "frontend", p.Frontend,
		"time from the arrival of a request to the queue (default of the preset)")
	fs.Float64Var(&p.Base, "step-base", p.Base, "base time per step, in `milliseconds` (default of the preset)")
	fs.Float64Var(&p.Prefill, "step-prefill", p.Prefill,
		"time per prompt token, in `milliseconds` (default of the preset)")
	fs.Float64Var(&p.Decode, "step-decode", p.Decode,
		"time per decoding sequence, in `milliseconds` (default of the preset)")
	fs.Float64Var(&p.Context, "step-context", p.Context,
		"time per token of context, in `milliseconds` (default of the preset)")
	fs.Float64Var(&p.Attention, "step-attention", p.Attention,
		"time per pair of prompt tokens, in `milliseconds` (default of the preset)")
	fs.Float64Var(&p.Jitter, "step-jitter", p.Jitter, "coefficient of variation of step times (default of the preset)")
}

// resolve sets the accelerator of the options. Flags without effect are rejected.
func (f *mockFlags) resolve(fs *pflag.FlagSet) error {
	var errs []error
	for _, name := range []string{"host", "port", "port-file"} {
		if f.uds != "" && fs.Changed(name) {
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --uds, which replaces it", name))
		}
	}
	var batched pflag.FlagSet // the same flags, with the defaults of the preset
	batched.SortFlags = false
	if f.preset == "" {
		batchFlags(&batched, new(batch.Params))
		batched.VisitAll(func(flag *pflag.Flag) {
			if fs.Changed(flag.Name) {
				errs = append(errs, fmt.Errorf("--%s needs --preset (one of %s)", flag.Name, strings.Join(options.Presets(), ", ")))
			}
		})
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
	p, err := options.Preset(f.preset)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	batchFlags(&batched, p)
	batched.VisitAll(func(flag *pflag.Flag) {
		if given := fs.Lookup(flag.Name); given.Changed {
			errs = append(errs, flag.Value.Set(given.Value.String()))
		}
	})
	o.Accelerator = p
	return errors.Join(errs...)
}
