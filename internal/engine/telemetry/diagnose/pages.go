package diagnose

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/window"
)

// Pages are the statistics of all families that the servers expose, for AIPerf's files.
type Pages struct {
	Clock      bench.Clock
	Formats    []string      // of the files that are written
	Slice      time.Duration // length of the time slices; 0 = none
	Configured []string      // addresses, redacted
	Ranges     []Range       // of the phases, in order
	Profiling  window.Window // from the first start of a profiling phase to the last end
	Pages      []Page        // of the targets that answered
}

// Range is the time of a phase.
type Range struct {
	Name, Kind string
	Excluded   bool // it enters neither the results nor those of the warm-up
	Window     window.Window
}

// Page is what one target exposes.
type Page struct {
	URL       string
	History   *window.History // may grow while the run goes on; the rest is of one time
	Info      Info
	Profiling []window.Metric
	Warmup    []window.Metric
}

// Info says how often a page was read, as AIPerf has it.
type Info struct {
	TotalFetches    int      `json:"total_fetches"`
	FirstFetch      int64    `json:"first_fetch_ns"`
	LastFetch       int64    `json:"last_fetch_ns"`
	AvgLatencyMS    float64  `json:"avg_fetch_latency_ms"`
	UniqueUpdates   int      `json:"unique_updates"`
	FirstUpdate     int64    `json:"first_update_ns"`
	LastUpdate      int64    `json:"last_update_ns"`
	DurationSeconds float64  `json:"duration_seconds"`
	AvgInterval     float64  `json:"avg_update_interval_ms"`
	MedianInterval  *float64 `json:"median_update_interval_ms,omitempty"`
}
