package engine

import (
	"fmt"
	"maps"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// describe returns the public description of a submission, redacted.
func describe(d *config.Document, s run.Submission, plan *plan.Plan, secrets *redact.Set) (run.Run, error) {
	b := &d.Benchmark
	shown, err := plainjson.Marshal(config.Resolved(d))
	if err != nil {
		return run.Run{}, fmt.Errorf("encode configuration: %w", err)
	}
	r := run.Run{
		Name: d.Metadata.Name, Labels: d.Metadata.Labels, Notes: d.Metadata.Notes,
		Terms:    terms(&d.Metadata, s.Cell != nil),
		State:    bench.StateQueued,
		Origin:   run.Origin{Via: s.Via, SubmittedBy: s.By, CLICommand: secrets.Exact(s.CLICommand), Idempotency: s.Idempotency, Seed: *d.RandomSeed},
		Endpoint: plan.Kind.Name, Streaming: plan.Settings.Streaming, Models: plan.Models.Names,
		Warnings: append([]bench.Warning{}, s.Warnings...), Config: shown,
		Credentials: credentials(&b.Endpoint),
	}
	for _, t := range plan.Targets {
		r.Targets = append(r.Targets, t.Shown)
	}
	for i := range plan.Phases {
		if p := &plan.Phases[i]; p.Kind == bench.Profiling {
			if p.Concurrency > 0 {
				r.Concurrency = &p.Concurrency
			}
			if p.Rate > 0 && !p.Shape.Series {
				r.Rate = &p.Rate
			}
			break
		}
	}
	if all := run.Loads(shown); len(all) > 1 {
		r.Loads = all
	}
	return r, nil
}

// terms returns the terms of a run. A study as a whole is pinned, waits and expires;
// its cells have only the terms that decide when they start.
func terms(m *config.Metadata, isCell bool) run.Terms {
	out := run.Terms{Priority: m.Priority, SharesTarget: m.AllowSharedTarget}
	if isCell {
		return out
	}
	out.Pinned, out.Deadline, out.TTL = m.Pinned, m.Deadline.Duration(), m.TTL.Duration()
	if !m.StartAfter.IsZero() {
		out.StartAfter = &m.StartAfter.Time
	}
	return out
}

func credentials(e *config.Endpoint) run.Credentials {
	c := run.Credentials{APIKey: !e.APIKey.Empty(), Headers: []string{}}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		if redact.SensitiveHeader(name) {
			c.Headers = append(c.Headers, name)
		}
	}
	for _, u := range e.URLs {
		c.URLUserinfo = c.URLUserinfo || u.Reveal() != u.String()
	}
	return c
}
