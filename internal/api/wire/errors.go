package wire

import (
	"time"

	"aiperfd/internal/run"
)

// Errors is the body of GET /api/runs/{id}/errors.
type Errors struct {
	Total int64        `json:"total"` // failed requests of the profiling phases, cancelled ones not included
	Items []ErrorGroup `json:"items"` // most frequent first; at most 1,001
	Final bool         `json:"final"` // the run has ended
	// ElapsedSec is when they were counted, since the first phase started; null = the run is not active.
	ElapsedSec *float64 `json:"elapsed_sec"`
}

// ErrorGroup is one kind of error: failures that differ only in numbers and identifiers.
// Texts are redacted.
type ErrorGroup struct {
	Class   string     `json:"class" example:"overloaded"` // other: all kinds beyond the first 1,000
	Status  *int       `json:"status" example:"503"`       // HTTP status; null = none
	Code    *string    `json:"code"`                       // of the error object of the server; null = none
	Type    *string    `json:"type"`                       // likewise
	Message string     `json:"message" example:"worker <n> is busy"`
	Sample  string     `json:"sample" example:"worker 17 is busy"` // the message of the first one
	Count   int64      `json:"count"`
	First   *time.Time `json:"first_at" format:"date-time"` // null = not known
	Last    *time.Time `json:"last_at" format:"date-time"`  // likewise
}

// NewErrors returns the errors of a run, live or final; s may be nil.
func NewErrors(r *run.Run, s *run.Snapshot) Errors {
	out := Errors{Items: []ErrorGroup{}, Final: r.State.Terminal()}
	if s == nil {
		return out
	}
	if !out.Final && s.Elapsed > 0 {
		out.ElapsedSec = new(s.Elapsed.Seconds())
	}
	for i := range s.Errors {
		g := &s.Errors[i]
		item := ErrorGroup{
			Class: string(g.Class), Code: textOrNil(g.Code), Type: textOrNil(g.Type), Message: g.Pattern, Sample: g.Example, Count: g.Count,
		}
		if g.Status != 0 {
			item.Status = &g.Status
		}
		if len(s.Phases) > 0 { // all offsets of a run have one epoch
			item.First, item.Last = new(s.Phases[0].Epoch.Add(g.First).UTC()), new(s.Phases[0].Epoch.Add(g.Last).UTC())
		}
		out.Total += g.Count
		out.Items = append(out.Items, item)
	}
	return out
}

// textOrNil returns nil for an empty text.
func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
