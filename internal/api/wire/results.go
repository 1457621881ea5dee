package wire

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Results is the body of GET /api/results.
type Results struct {
	Status  ResultStatus     `json:"status" enums:"running,complete,cancelled,incomplete"`
	Results *BenchmarkResult `json:"results"`
	// Metrics has the statistics of the records of results by tag, as /api/metrics and the
	// files have them; empty without results.
	Metrics map[string]Stats `json:"metrics"`
	State   bench.State      `json:"state" enums:"queued,starting,running,stopping,exporting,completed,cancelled,failed"`
	Error   *run.Error       `json:"error"`
	Client  *verdict.Report  `json:"client"` // whether the load generator kept up; null while nothing was measured
	Stream  *verdict.Stream  `json:"stream"` // how answers came; null without streams
	// Saturation reports whether the servers kept up with the rate; null without an
	// open loop.
	Saturation *verdict.Saturation `json:"saturation"`
	// Cache reports how much of the prompts was repeated and cached; null while nothing
	// was measured, and for endpoint types that take no text.
	Cache *verdict.Cache `json:"cache"`
}

// ResultStatus reports whether results are available.
type ResultStatus string

// The result statuses. Everything before the exports are durable is running.
const (
	ResultsRunning    ResultStatus = "running"
	ResultsComplete   ResultStatus = "complete"
	ResultsCancelled  ResultStatus = "cancelled"
	ResultsIncomplete ResultStatus = "incomplete"
)

// BenchmarkResult is the profile and the errors of the run as a whole.
type BenchmarkResult struct {
	Results ProfileResults `json:"results"`
	Errors  []ErrorDetails `json:"errors"`
}

// ProfileResults are the final numbers of a run. Fields of AIPerf that have no
// counterpart here are null.
type ProfileResults struct {
	Records          []Record      `json:"records"`
	WarmupRecords    []Record      `json:"warmup_records"` // null without a warm-up
	Timeslices       []Timeslice   `json:"timeslices"`     // null without artifacts.sliceDuration
	TotalExpected    *int64        `json:"total_expected"`
	Completed        int64         `json:"completed"` // requests that returned
	StartNS          int64         `json:"start_ns"`
	EndNS            int64         `json:"end_ns"`
	WasCancelled     bool          `json:"was_cancelled"`
	IsComplete       bool          `json:"is_complete"`
	IncompleteReason *string       `json:"incomplete_reason"`
	Successful       int64         `json:"successful_request_count"`
	Failed           int64         `json:"error_request_count"`
	ErrorSummary     []ErrorCount  `json:"error_summary"`
	BranchStats      *struct{}     `json:"branch_stats"`
	ContextOverflow  int64         `json:"context_overflow_count"`
	PhaseRecords     []PhaseRecord `json:"phase_records"` // in order; never null
	// AcceptanceHist has the steps of speculative decoding by the number of draft tokens that they
	// accepted; null unless servers report it.
	AcceptanceHist map[int]int64 `json:"pooled_spec_decode_acceptance_histogram"`
}

// Timeslice is an interval of a phase with the metrics of the requests that started in
// it.
type Timeslice struct {
	StartNS    int64             `json:"start_ns"`
	EndNS      int64             `json:"end_ns"`
	IsComplete *bool             `json:"is_complete,omitempty"` // only false: shorter than the others
	Metrics    map[string]Record `json:"metric_results"`        // by tag
}

// newTimeslices returns the time slices of a final snapshot.
func newTimeslices(s *run.Snapshot) []Timeslice {
	var out []Timeslice
	for i := range s.Phases {
		for _, slice := range s.Phases[i].Slices {
			t := Timeslice{StartNS: slice.Start.UnixNano(), EndNS: slice.End.UnixNano(), Metrics: map[string]Record{}}
			if !slice.Complete {
				t.IsComplete = new(false)
			}
			for _, r := range NewRecords(slice.Metrics) {
				t.Metrics[r.Tag] = r
			}
			out = append(out, t)
		}
	}
	return out
}

// PhaseRecord are the final numbers of one phase. Fields of AIPerf that have no
// counterpart here are null or empty.
type PhaseRecord struct {
	PhaseIndex            int          `json:"phase_index"`
	ProfilingIndex        *int         `json:"profiling_index"` // null for a warm-up
	PhaseName             string       `json:"phase_name"`
	PhaseKind             string       `json:"phase_kind" enums:"warmup,profiling"`
	Records               []Record     `json:"records"`
	StartNS               int64        `json:"start_ns"`
	EndNS                 int64        `json:"end_ns"`
	BaselineStartNS       *int64       `json:"baseline_start_ns"`
	BaselineEndNS         *int64       `json:"baseline_end_ns"`
	WasCancelled          bool         `json:"was_cancelled"`
	Successful            int64        `json:"successful_request_count"`
	Failed                int64        `json:"error_request_count"`
	ErrorSummary          []ErrorCount `json:"error_summary"`
	TelemetryResults      *struct{}    `json:"telemetry_results"`
	ServerMetricsResults  *struct{}    `json:"server_metrics_results"`
	TelemetryWarnings     []string     `json:"telemetry_warnings"`
	ServerMetricsWarnings []string     `json:"server_metrics_warnings"`
	BranchStats           *struct{}    `json:"branch_stats"`
}

// newPhaseRecords returns the results of each phase of a final snapshot.
func newPhaseRecords(s *run.Snapshot) []PhaseRecord {
	out := make([]PhaseRecord, 0, len(s.Phases))
	for i := range s.Phases {
		p := &s.Phases[i]
		r := PhaseRecord{
			PhaseIndex: p.Stats.Index, PhaseName: p.Stats.Name, PhaseKind: string(p.Stats.Kind), Records: NewRecords(p.Metrics),
			StartNS: p.UnixNano(p.Stats.Start), EndNS: p.UnixNano(p.Stats.Start + p.Stats.Window(p.Stats.LastUpdate)),
			WasCancelled: p.Stats.End == bench.PhaseCancelled, Successful: p.Stats.Records.Success, Failed: p.Stats.Records.Errors,
			ErrorSummary: NewErrorSummary(p.Errors), TelemetryWarnings: []string{}, ServerMetricsWarnings: []string{},
		}
		if p.Stats.Kind == bench.Profiling {
			r.ProfilingIndex = &p.Stats.ProfilingIndex
		}
		out = append(out, r)
	}
	return out
}

// ErrorCount is one kind of error with how often it happened.
type ErrorCount struct {
	Details ErrorDetails `json:"error_details"`
	Count   int64        `json:"count"`
}

// ErrorDetails describes an error. Texts are redacted.
type ErrorDetails struct {
	Code       *int      `json:"code"` // HTTP status
	Type       *string   `json:"type"`
	Message    string    `json:"message"`
	Cause      *string   `json:"cause"`
	CauseChain *[]string `json:"cause_chain"`
	Details    *struct{} `json:"details"`
	Class      string    `json:"class" example:"overloaded"`
}

// NewResults returns the results of a run; s may be nil.
func NewResults(r *run.Run, s *run.Snapshot) Results {
	out := Results{State: r.State, Error: r.Error, Metrics: map[string]Stats{}}
	if s != nil {
		out.Client, out.Stream, out.Saturation, out.Cache = reportOf(s.Client), s.Stream, s.Saturation, s.PrefixCache()
	}
	switch r.State {
	case bench.StateQueued, bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting:
		out.Status = ResultsRunning
		return out
	case bench.StateCompleted:
		out.Status = ResultsComplete
	case bench.StateCancelled:
		out.Status = ResultsCancelled
	case bench.StateFailed:
		out.Status = ResultsIncomplete
		return out
	}
	if s == nil || !s.Final {
		if r.State == bench.StateCompleted {
			out.Status = ResultsIncomplete
		}
		return out
	}
	out.Results = &BenchmarkResult{Results: NewProfileResults(r, s), Errors: []ErrorDetails{}}
	out.Metrics = newStatsByTag(s.Metrics)
	return out
}

// NewProfileResults returns the results of a final snapshot.
func NewProfileResults(r *run.Run, s *run.Snapshot) ProfileResults {
	out := ProfileResults{
		Records: NewRecords(s.Metrics), StartNS: unixNano(s.Start), EndNS: unixNano(s.End),
		WasCancelled: s.Cancelled, IsComplete: s.Final && !s.Cancelled && r.State != bench.StateFailed,
		ErrorSummary: NewErrorSummary(s.Errors), Timeslices: newTimeslices(s), PhaseRecords: newPhaseRecords(s),
		AcceptanceHist: s.AcceptedDrafts,
	}
	if len(s.Warmup) > 0 {
		out.WarmupRecords = NewRecords(s.Warmup)
	}
	if !out.IsComplete && r.StateReason != "" {
		out.IncompleteReason = &r.StateReason
	}
	var expected int64
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Stats.Kind != bench.Profiling {
			continue
		}
		expected += p.Stats.ExpectedRequests
		out.Completed += p.Stats.Completed
		out.Successful += p.Counters.Success
		for class, n := range p.Counters.Errors {
			out.Failed += n
			if class == bench.ContextOverflow {
				out.ContextOverflow += n
			}
		}
	}
	out.TotalExpected = nonzero(expected)
	return out
}

// NewErrorSummary returns the kinds of errors, most frequent first, never nil.
func NewErrorSummary(groups []metric.ErrorGroup) []ErrorCount {
	out := make([]ErrorCount, 0, len(groups))
	for i := range groups {
		g := &groups[i]
		d := ErrorDetails{Message: g.Example, Class: string(g.Class)}
		if g.Status != 0 {
			d.Code = new(g.Status)
		}
		if g.Type != "" {
			d.Type = &g.Type
		} else if g.Class != "" {
			d.Type = &d.Class
		}
		out = append(out, ErrorCount{Details: d, Count: g.Count})
	}
	return out
}

func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// ResultFiles is the body of GET /api/results/list.
type ResultFiles struct {
	Files           []ResultFile `json:"files"` // ordered by name; empty until ready
	Ready           bool         `json:"ready"`
	Processing      bool         `json:"processing"`
	Partial         bool         `json:"partial"`
	FailedExporters []string     `json:"failed_exporters"`
}

// ResultFile is one artifact.
type ResultFile struct {
	Name        string    `json:"name" example:"profile_export_aiperf.json"` // with slashes for subfolders
	Size        int64     `json:"size"`
	SHA256      string    `json:"sha256"`
	ModifiedAt  time.Time `json:"modified_at" format:"date-time"`
	ContentType string    `json:"content_type" example:"application/json"`
	Encoding    *string   `json:"encoding"` // null: stored as it is
	Href        string    `json:"href"`
}

// ServerMetrics is the body of GET /api/server-metrics.
type ServerMetrics struct {
	Endpoints map[string]diagnose.Summary `json:"endpoint_summaries"` // by host and port
	Message   string                      `json:"message,omitempty"`  // why there is none
}

// ProbeRequest is the body of POST /api/telemetry/probe.
type ProbeRequest struct {
	URLs []string `json:"urls" example:"http://localhost:8000"` // pages of metrics, or servers; http:// may be left out
}

// ProbeAnswer says what pages of metrics are.
type ProbeAnswer struct {
	Targets []diagnose.Probed `json:"targets"` // in the order of the request
}

// Telemetry is what was measured beside the requests of a run.
type Telemetry struct {
	RunID  string           `json:"run_id"`
	State  string           `json:"state"`
	Server *diagnose.Server `json:"server"` // null: the metrics of servers were not read
	GPU    *gpu.Report      `json:"gpu"`    // null: no GPU was found
	Path   *paths.Report    `json:"path"`   // null: the kernel was not asked, or did not say
	OTel   *otel.Report     `json:"otel"`   // null: nothing is sent to an OpenTelemetry collector
	// ServerSpans are of single requests; null: the spans of servers are not received.
	ServerSpans *otel.ServerSpans `json:"server_spans"`
}
