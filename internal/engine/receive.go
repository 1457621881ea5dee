package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
	"aiperfd/internal/engine/telemetry/serverspans"
)

const (
	// warnServerSpans is the warning on a run of whose requests servers sent too few spans.
	warnServerSpans = "server-spans-incomplete"
	// spansTime bounds how long a run waits for spans when its load has ended: exporters keep them for 5 s by default.
	spansTime = 6 * time.Second
)

// ReceiveSpans takes spans of servers for the active runs that want them; false = there is none.
func (e *Engine) ReceiveSpans(spans []otlp.ServerSpan) (taken bool) {
	for _, id := range e.Queue().Running {
		j := e.job(id)
		if j == nil {
			continue
		}
		if to := j.live.spans.Load(); to != nil {
			to.Add(spans)
			taken = true
		}
	}
	return taken
}

// receiveSpans begins to join spans of servers with the requests of the run. It is zero if the document does not ask
// for it. What they say is kept in ended.
func receiveSpans(p *plan.Plan, env *environment, files *collect.Files, ended **otel.ServerSpans) collect.RunObserver {
	if !p.Document.Benchmark.OTel.Receive {
		return collect.RunObserver{}
	}
	lines := files.ServerSpanLines()
	to := serverspans.NewJoiner(traces(p, env), lines)
	env.live.spans.Store(to)
	return collect.RunObserver{
		Phase: func(phase *spec.Phase, _ *measure.Set) collect.Observer {
			return collect.Observer{Observe: func(rec *bench.Record) { to.Observe(rec, phase.Name, phase.Kind) }}
		},
		End: func(warn func(code, detail string)) {
			ctx, end := untilForced(env)
			defer end()
			ctx, cancel := context.WithTimeout(ctx, spansTime)
			defer cancel()
			err := to.Await(ctx)
			env.live.spans.Store(nil)
			if err = errors.Join(err, lines.Close()); err != nil {
				warn(warnServerSpans, env.secrets.String(fmt.Sprintf("the file of spans is incomplete: %v", err)))
			}
			*ended = to.Report()
			if text := withoutSpans(*ended); text != "" {
				warn(warnServerSpans, text)
			}
		},
	}
}

// withoutSpans describes the requests that have no span of a server; empty = all have.
func withoutSpans(r *otel.ServerSpans) string {
	switch {
	case r.Requests == r.Joined:
		return ""
	case r.Received == 0:
		return fmt.Sprintf("no span of a server came for %d requests: let it send them to /v1/traces of this API (vLLM: "+
			"--otlp-traces-endpoint)", r.Requests)
	}
	return fmt.Sprintf("%d of %d requests have no span of a server; %d spans belong to none of them",
		r.Requests-r.Joined, r.Requests, r.Unmatched)
}
