package serverspans

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
)

// phase collects what spans say of a phase.
type phase struct {
	name             string
	kind             bench.PhaseKind
	requests, joined int64
	segments         [4]*sketch.Sketch // as segmentNames
}

// segmentNames returns the names of the segments, in the order of the time to the first token.
func segmentNames() []string { return []string{"frontend", "queue", "prefill", "decode"} }

// phase returns a phase, which is new if it has another name than the others.
func (j *Joiner) phase(name string, kind bench.PhaseKind) *phase {
	for _, p := range j.phases {
		if p.name == name {
			return p
		}
	}
	p := &phase{name: name, kind: kind}
	for i := range p.segments {
		p.segments[i] = sketch.New()
	}
	j.phases = append(j.phases, p)
	return p
}

// add adds the times of a request that waited for its first content.
func (p *phase) add(t *otlp.ServerTimes, wait float64) {
	p.joined++
	queue, prefill := inMS(t.Queue), inMS(t.Prefill)
	var rest *float64
	if queue != nil && prefill != nil {
		rest = new(wait - *queue - *prefill)
	}
	for i, v := range []*float64{rest, queue, prefill, inMS(t.Decode)} {
		if v != nil {
			p.segments[i].Add(*v)
		}
	}
}

// describe returns what is known of the phase.
func (p *phase) describe() otel.SpanPhase {
	out := otel.SpanPhase{Name: p.name, Kind: string(p.kind), Requests: p.requests, Joined: p.joined, Segments: []otel.SpanSegment{}}
	for i, name := range segmentNames() {
		s := p.segments[i]
		if s.Count() == 0 {
			continue
		}
		out.Segments = append(out.Segments, otel.SpanSegment{
			Name: name, Count: int64(s.Count()), Avg: s.Mean(), P50: s.Quantile(0.5), P90: s.Quantile(0.9), P99: s.Quantile(0.99),
			Max: s.Max(),
		})
	}
	return out
}
