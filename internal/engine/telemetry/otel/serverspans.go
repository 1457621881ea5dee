package otel

import (
	"fmt"
	"strings"

	"aiperfd/internal/view"
)

// ServerSpans is what the spans of servers say of a run.
type ServerSpans struct {
	Requests  int64       `json:"requests"`  // successes whose spans were asked for
	Received  int64       `json:"received"`  // spans with times
	Joined    int64       `json:"joined"`    // with a request
	Unmatched int64       `json:"unmatched"` // spans that belong to no success of the run that asked for one
	Dropped   int64       `json:"dropped"`   // spans and requests that waited too long for each other, with too many others
	Phases    []SpanPhase `json:"phases"`    // in order
}

// SpanPhase is what the spans say of a phase.
type SpanPhase struct {
	Name     string        `json:"name"`
	Kind     string        `json:"kind"`
	Requests int64         `json:"requests"` // successes whose spans were asked for
	Joined   int64         `json:"joined"`
	Segments []SpanSegment `json:"segments"` // those that the spans have
}

// SpanSegment is a part of the time of single requests, in ms.
type SpanSegment struct {
	// Name is queue, prefill or decode, as the server measured them; or frontend: what is left of the time from the
	// written request to the first content, which is the network, HTTP and the tokenizer.
	Name  string  `json:"name" enums:"frontend,queue,prefill,decode"`
	Count int64   `json:"count"`
	Avg   float64 `json:"avg_ms"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// Title is the name as people read it: that of the time budget.
func (s *SpanSegment) Title() string {
	if s.Name == "frontend" {
		return "network and frontend"
	}
	return s.Name
}

// Line is a phase in one line, such as "p50 / p99 in ms of 120 requests: queue 590 / 812, prefill 185 / 190"; empty =
// no request was joined.
func (p *SpanPhase) Line() string {
	var parts []string
	for _, s := range p.Segments {
		parts = append(parts, fmt.Sprintf("%s %s / %s", s.Title(), view.Figure(s.P50), view.Figure(s.P99)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("p50 / p99 in ms of %s: %s", view.Plural(int(p.Joined), "request"), strings.Join(parts, ", "))
}
