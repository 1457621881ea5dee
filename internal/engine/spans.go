package engine

import (
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
	"aiperfd/internal/engine/telemetry/push"
)

// traces returns the traces of the run.
func traces(p *plan.Plan, env *environment) *otlp.Traces {
	return otlp.NewTraces(env.id, p.Document.Benchmark.OTel.Sample())
}

// traceparent returns what makes the header of that name; nil = no request has one.
func traceparent(p *plan.Plan, env *environment) func(rec *bench.Record) string {
	which := p.Document.Benchmark.OTel.Propagation()
	if which == config.PropagateNone {
		return nil
	}
	of, all := traces(p, env), which == config.PropagateAll
	return func(rec *bench.Record) string { return of.Traceparent(rec, all) }
}

// sendSpans begins to send spans of the requests of the run to a collector. It is zero if the plan names none.
func sendSpans(p *plan.Plan, clock bench.Clock, env *environment, to *push.Senders) collect.RunObserver {
	o := &p.Document.Benchmark.OTel
	u, protocol := o.TracesCollector()
	if u == nil {
		return collect.RunObserver{}
	}
	spans := push.StartSpans(push.SpanOptions{
		Collector: collector(o, u, protocol, env),
		Tracer: otlp.Tracer{
			SpanSource: otlp.SpanSource{
				Source: metricsSource(p, env), Traces: traces(p, env), Clock: clock,
				Servers: serversByTarget(p), Streaming: p.Settings.Streaming, Clean: env.secrets.String,
			},
			Tail: o.Propagation() == config.PropagateNone,
		},
		Secrets: env.secrets, Log: env.notify.log,
	})
	to.Spans = spans
	return collect.RunObserver{
		Phase: func(phase *spec.Phase, _ *measure.Set) collect.Observer {
			return collect.Observer{Observe: func(rec *bench.Record) { spans.Observe(rec, phase.Name) }}
		},
		End: func(warn func(code, detail string)) {
			ctx, end := untilForced(env)
			defer end()
			sent := spans.Close(ctx)
			env.notify.note("info", "spans were sent to the OpenTelemetry collector", map[string]any{
				"spans": sent.Spans, "dropped": sent.Dropped, "rejected": sent.Rejected, "limited": sent.Limited,
			})
			for _, text := range unsentSpans(u.Host, &sent) {
				warn(warnOTel, text)
			}
		},
	}
}

// unsentSpans describes what did not reach the collector; none = all did.
func unsentSpans(collector string, s *otel.Spans) (texts []string) {
	switch {
	case s.Dropped > 0 && s.Spans == 0:
		texts = append(texts, fmt.Sprintf("no spans reached the OpenTelemetry collector %s: %s", collector, s.LastError))
	case s.Dropped > 0:
		texts = append(texts, fmt.Sprintf("%d of %d spans did not reach the OpenTelemetry collector %s: %s",
			s.Dropped, s.Dropped+s.Spans, collector, s.LastError))
	case s.Rejected > 0:
		texts = append(texts, fmt.Sprintf("the OpenTelemetry collector %s refused %d spans: %s",
			collector, s.Rejected, s.LastError))
	}
	if s.Limited > 0 {
		texts = append(texts, fmt.Sprintf("%d requests of sampled traces have no span, because more than %d ended within "+
			"a second: give a smaller share (otel.tracesSample)", s.Limited, otlp.MostPerSecond))
	}
	return texts
}
