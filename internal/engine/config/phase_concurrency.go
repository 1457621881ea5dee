package config

import (
	"fmt"

	"aiperfd/internal/engine/config/problem"
)

// This file has the rules of the type concurrency, and of the limits that phases of other types share
// with it.

func fillConcurrency(in *input, p *Phase, path string) {
	if p.Concurrency == nil {
		p.Concurrency = new(1)
		in.infer(path+".concurrency", 1, "a phase without a rate is driven by its concurrency")
	}
}

// checkRamps checks what changes in time.
func checkRamps(in *input, p *Phase, path string) {
	arrives := in.options.Choices.isArrival(p.Type)
	for _, r := range []struct {
		name    string
		ramp    *Ramp
		allowed bool
		need    string
	}{
		{"concurrencyRamp", p.ConcurrencyRamp, in.Has(path + ".concurrency"), "needs a concurrency"},
		{"prefillRamp", p.PrefillRamp, in.Has(path + ".prefillConcurrency"), "needs a prefill concurrency"},
		{"rateRamp", p.RateRamp, arrives, "needs a rate or a series of rates"},
	} {
		switch at := path + "." + r.name; {
		case !in.Has(at):
		case r.ramp != nil && !in.Has(at+".duration"):
			in.require(at+".duration", "duration: required")
		case r.allowed:
		case r.name == "prefillRamp" && in.Where(in.shown(at)).Flag == "": // a template of AIPerf has one
			in.noEffect(at, " has no effect without a prefill concurrency")
		default:
			in.Conflict(in.shown(at), r.need)
		}
	}
	checkPrefill(in, p, path+".prefillConcurrency")
	if at := path + ".rateSeries"; in.Has(at) && !arrives {
		in.Conflict(in.shown(at), noRate(in, p))
	}
	ramped := in.Has(path+".concurrencyRamp") || in.Has(path+".prefillRamp") || in.Has(path+".rateRamp")
	if p.ExcludeRamp && (p.Kind == "warmup" || !ramped) {
		in.Conflict(path+".excludeRamp", "needs a ramp in a profiling phase")
	}
}

// checkPrefill checks the limit of requests without a first token.
func checkPrefill(in *input, p *Phase, at string) {
	if p.PrefillConcurrency == nil {
		return
	}
	if !in.doc.Benchmark.Endpoint.Streaming && !in.Failed["benchmark.endpoint.streaming"] {
		in.Conflict(at, "needs streaming, since only streams show when the prefill of a request has ended")
	}
	if p.Concurrency != nil && *p.PrefillConcurrency > *p.Concurrency {
		in.FailValue(in.At(at), problem.CodeOutOfRange, fmt.Sprintf("must be at most the concurrency, %d", *p.Concurrency))
	}
}
