package export

import (
	"fmt"
	"strings"

	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

// Cluster says how several load generators performed a run.
type Cluster struct {
	Workers []Worker `json:"workers"`
	// Contamination has the bounds of percentiles that follow if all values of doubtful load generators are wrong; nil =
	// there was none. They bound errors of measuring, not what another load does to the server.
	Contamination []verdict.Contamination `json:"contamination,omitempty"`
	Conservation  verdict.Conservation    `json:"conservation"`
}

// Worker is a load generator of a run.
type Worker struct {
	Name       string   `json:"name"`
	State      string   `json:"state"` // completed, cancelled, failed, lost
	Reason     string   `json:"reason,omitempty"`
	Share      float64  `json:"share"` // of the load that was asked of it
	Requests   int64    `json:"requests"`
	Verdict    string   `json:"verdict"`
	TTFTP50    *float64 `json:"time_to_first_token_p50_ms,omitempty"`
	TTFTP99    *float64 `json:"time_to_first_token_p99_ms,omitempty"`
	LatencyP50 *float64 `json:"request_latency_p50_ms,omitempty"`
	LatencyP99 *float64 `json:"request_latency_p99_ms,omitempty"`
	// ClockBound is the largest error of its clock beside that of the run.
	ClockBound *float64 `json:"clock_bound_ms,omitempty"`
}

// Line describes the load generators in a line.
func (c *Cluster) Line() string {
	const shown = 8
	var parts, lost []string
	bound, known := 0.0, true
	for i := range c.Workers {
		w := &c.Workers[i]
		if w.State == "lost" {
			lost = append(lost, w.Name)
		}
		parts = append(parts, fmt.Sprintf("%s %s", w.Name, view.Whole(w.Requests)))
		if known = known && w.ClockBound != nil; known {
			bound = max(bound, *w.ClockBound)
		}
	}
	text := fmt.Sprintf("%d load generators", len(c.Workers))
	if len(parts) <= shown {
		text += ", requests " + strings.Join(parts, ", ")
	}
	if known {
		text += fmt.Sprintf("; clocks within %s ms", view.Bound(bound))
	}
	if len(lost) > 0 {
		text += "; lost: " + strings.Join(lost, ", ")
	}
	return text
}

// workers prints which load generators performed the run; nil = there was one.
func (p *page) workers(c *Cluster) {
	if c != nil {
		p.entry("", "Workers", c.Line(), 0)
	}
}
