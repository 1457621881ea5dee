package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
	"aiperfd/internal/engine/telemetry/push"
)

// warnOTel is the warning on a run whose metrics or spans did not all reach the collector.
const warnOTel = "otel-incomplete"

// sendMetrics begins to send the metrics of the run to a collector. It is zero if the plan names none.
func sendMetrics(p *plan.Plan, env *environment, to *push.Senders) collect.RunObserver {
	o := &p.Document.Benchmark.OTel
	u, protocol := o.Collector()
	if u == nil {
		return collect.RunObserver{}
	}
	exporter := push.Start(push.Options{
		Collector: collector(o, u, protocol, env), Source: metricsSource(p, env), Snapshot: env.live.snapshot.Load,
		Secrets: env.secrets, Log: env.notify.log,
	})
	to.Metrics = exporter
	return collect.RunObserver{
		// The exporter reads the snapshots of the run, which cover all phases.
		Phase: func(*spec.Phase, *measure.Set) collect.Observer { return collect.Observer{} },
		End: func(warn func(code, detail string)) {
			ctx, end := untilForced(env)
			defer end()
			sent := exporter.Close(ctx)
			env.notify.note("info", "metrics were sent to the OpenTelemetry collector", map[string]any{
				"payloads": sent.Payloads, "dropped": sent.Dropped, "rejected_points": sent.Rejected,
			})
			if text := unsent(u.Host, &sent); text != "" {
				warn(warnOTel, text)
			}
		},
	}
}

// untilForced returns a context that ends when the run is cancelled by force, or with end.
func untilForced(env *environment) (ctx context.Context, end func()) {
	ctx, abort := context.WithCancelCause(context.Background())
	env.cancel.onForce(abort)
	if env.cancel.forced() {
		abort(nil)
	}
	return ctx, func() { abort(nil) }
}

// collector returns a collector of the section.
func collector(o *config.OTel, u *url.URL, protocol string, env *environment) push.Collector {
	header := make(http.Header, len(o.Headers))
	for name, value := range o.Headers {
		header.Set(name, value.Reveal())
	}
	return push.Collector{
		URL: u, GRPC: protocol == config.OTLPGRPC, Header: header, Timeout: o.Timeout.Duration(),
		Plain: o.Compression == "none", Allow: env.opts.Allow, Dial: env.opts.Dial,
	}
}

// unsent describes what did not reach the collector; empty = all did.
func unsent(collector string, s *otel.Metrics) string {
	switch {
	case s.Dropped > 0 && s.Payloads == 0:
		return fmt.Sprintf("no metrics reached the OpenTelemetry collector %s: %s", collector, s.LastError)
	case s.Dropped > 0:
		return fmt.Sprintf("%d of %d payloads of metrics did not reach the OpenTelemetry collector %s: %s",
			s.Dropped, s.Dropped+s.Payloads, collector, s.LastError)
	case s.Rejected > 0:
		return fmt.Sprintf("the OpenTelemetry collector %s refused %d points of the metrics: %s",
			collector, s.Rejected, s.LastError)
	}
	return ""
}

// metricsSource returns what all metrics of the run have in common.
func metricsSource(p *plan.Plan, env *environment) otlp.Source {
	clean, o := env.secrets.String, &p.Document.Benchmark.OTel
	s := otlp.Source{
		RunID: env.id, Version: env.opts.Version, Endpoint: p.Kind.Name,
		Labels: make(map[string]string), Attributes: make(map[string]string),
		Records: o.StreamMetrics, Timing: o.StreamTiming, Explicit: o.Histograms == "explicit",
	}
	for name, value := range p.Document.Metadata.Labels {
		s.Labels[clean(name)] = clean(value)
	}
	for name, value := range o.Attributes {
		s.Attributes[clean(name)] = clean(value.Reveal())
	}
	if names := p.Models.Names; len(names) == 1 {
		s.Model = clean(names[0])
	}
	if servers := remote(p); len(servers) == 1 {
		s.Server = servers[0]
	}
	s.Provider = provider(p, env.secrets)
	return s
}

// remote returns the URLs of the servers that are not reached through a socket of this machine.
func remote(p *plan.Plan) []*url.URL {
	return slices.DeleteFunc(serversByTarget(p), func(u *url.URL) bool { return u == nil })
}

// serversByTarget returns the URL of each target; nil = it is reached through a socket of this machine.
func serversByTarget(p *plan.Plan) []*url.URL {
	servers := make([]*url.URL, len(p.Targets))
	for i := range p.Targets {
		if t := &p.Targets[i]; !strings.HasPrefix(t.Address, "/") { // it is the path of a socket
			servers[i] = t.URL
		}
	}
	return servers
}

// provider returns the provider of the models, as the conventions name it.
func provider(p *plan.Plan, secrets *redact.Set) string {
	given := ""
	if name := p.Document.Benchmark.OTel.GenAIProvider; name != nil {
		given = secrets.String(*name)
	}
	return otlp.Provider(given, remote(p), p.Kind.Name)
}
