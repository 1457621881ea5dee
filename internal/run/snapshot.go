package run

import (
	"cmp"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/verdict"
)

// Snapshot is the state of a run at one instant. It is immutable: readers share it
// without locks. An active run publishes a new one at least four times per second.
// The last one of a terminal run is Final and is kept with the files of the run.
type Snapshot struct {
	Wall      time.Time      `json:"wall"`
	Elapsed   time.Duration  `json:"elapsed_ns"` // since the first phase started; 0 before
	State     bench.State    `json:"state"`
	Final     bool           `json:"final"`     // results are exact and exported
	Exported  bool           `json:"exported"`  // files are complete and durable
	Cancelled bool           `json:"cancelled"` // a cancel was requested
	Phases    []Phase        `json:"phases"`    // those that started, in order
	Metrics   metric.Results `json:"metrics"`   // profiling only; at most one second old
	MetricsAt time.Time      `json:"metrics_at"`
	Warmup    metric.Results `json:"warmup_metrics"` // Final only
	// AcceptedDrafts has the steps of speculative decoding by the number of draft tokens that they
	// accepted; Final only, nil unless servers report it.
	AcceptedDrafts map[int]int64 `json:"pooled_spec_decode_acceptance_histogram,omitempty"`

	Errors  []metric.ErrorGroup `json:"errors"` // profiling only, most frequent first
	Process Process             `json:"process"`
	Client  *verdict.Report     `json:"client"` // whether the load generator itself kept up; nil before a profiling phase
	Stream  *verdict.Stream     `json:"stream"` // how answers came; nil without streams
	// Saturation describes whether the servers keep up with the rate; nil without an
	// open loop.
	Saturation *verdict.Saturation `json:"saturation"`
	// Cache is what is known of prefix caches; Final only, see [Snapshot.PrefixCache].
	Cache *verdict.Cache `json:"cache,omitempty"`
	// Workers are the load generators by name; nil = this process is the only one.
	Workers []WorkerState `json:"workers,omitempty"`
	// Of several load generators, Final only: what may be wrong if some were too busy (nil = none was), and what became
	// of all requests.
	Contamination []verdict.Contamination `json:"contamination,omitempty"`
	Conservation  *verdict.Conservation   `json:"conservation,omitempty"`

	Start time.Time `json:"start"` // profiling window; zero before it opens
	End   time.Time `json:"end"`
}

// WorkerState is the state of one of several load generators of a run.
type WorkerState struct {
	Name   string  `json:"name" example:"worker-1"`
	State  string  `json:"state" enums:"preparing,ready,running,reporting,late,lost,completed,cancelled,failed"`
	Reason string  `json:"reason,omitempty"` // why it is lost, or how its part ended
	Share  float64 `json:"share"`            // of the load
	// Requests that it sent, of which Failed failed and InFlight have not returned; in all phases.
	Requests int64     `json:"requests"`
	Failed   int64     `json:"failed"`
	InFlight int64     `json:"in_flight"`
	Heard    time.Time `json:"last_heard"`
	// Of the phase that began last: the requests per second that it sent, and those that it was asked for; null = the
	// phase has no rate of requests, or has not begun.
	Rate      *float64 `json:"sent_rate"`
	AskedRate *float64 `json:"asked_rate"`
	Slots     int      `json:"slots"` // its part of the concurrency of that phase, a closed loop; 0 = it is none
	// ClockBound is how far its clock may be from that of the controller, in milliseconds; null = it is not known.
	ClockBound *float64 `json:"clock_bound_ms"`
	// What its own results say, Final only: whether it kept up, and percentiles in milliseconds.
	Verdict    string   `json:"verdict,omitempty" enums:"ok,suspect,invalid,unknown"`
	TTFTP50    *float64 `json:"time_to_first_token_p50_ms,omitempty"`
	TTFTP99    *float64 `json:"time_to_first_token_p99_ms,omitempty"`
	LatencyP50 *float64 `json:"request_latency_p50_ms,omitempty"`
	LatencyP99 *float64 `json:"request_latency_p99_ms,omitempty"`
}

// PrefixCache describes the prefix caches of the servers; nil = nothing was sent, or no text.
func (s *Snapshot) PrefixCache() *verdict.Cache { return cmp.Or(s.Cache, verdict.NewCache(s.Metrics)) }

// SetElapsed sets Elapsed; now is the offset at which the snapshot was taken.
func (s *Snapshot) SetElapsed(now time.Duration) {
	if len(s.Phases) > 0 {
		s.Elapsed = now - s.Phases[0].Stats.Start
	}
}

// Phase is the public state of one phase. Stamps are wall times in nanoseconds
// since 1970; 0 = has not happened.
type Phase struct {
	Stats       bench.PhaseStats `json:"stats"` // with offsets from the run's epoch
	Epoch       time.Time        `json:"epoch"` // wall time of offset 0
	Counters    Counters         `json:"counters"`
	Concurrency *int             `json:"concurrency"`
	// Metrics and Errors are the exact results of the phase alone, in a Final snapshot.
	Metrics metric.Results      `json:"metrics,omitempty"`
	Errors  []metric.ErrorGroup `json:"errors,omitempty"`
	Slices  []Slice             `json:"slices,omitempty"` // likewise; in order
}

// Slice is a time slice of a phase.
type Slice struct {
	Start    time.Time      `json:"start"`
	End      time.Time      `json:"end"`
	Complete bool           `json:"complete"` // as long as the others
	Metrics  metric.Results `json:"metrics"`
}

// UnixNano returns the wall time of an offset of this phase, 0 for 0.
func (p *Phase) UnixNano(offset time.Duration) int64 {
	if offset == 0 {
		return 0
	}
	return p.Epoch.Add(offset).UnixNano()
}

// Counters are the monotonic totals of one phase, for Prometheus.
type Counters struct {
	Sent            int64                 `json:"sent"`
	Success         int64                 `json:"success"`
	Errors          map[bench.Class]int64 `json:"errors"`
	Cancelled       int64                 `json:"cancelled"`
	CancelledByTest int64                 `json:"cancelled_by_test"`
	InputTokens     int64                 `json:"input_tokens"`
	OutputTokens    int64                 `json:"output_tokens"` // visible and reasoning
	ReasoningTokens int64                 `json:"reasoning_tokens"`
	BytesSent       int64                 `json:"bytes_sent"`     // request bodies
	BytesReceived   int64                 `json:"bytes_received"` // response bodies
	SLOMet          map[string]int64      `json:"slo_met"`
	SLOMissed       map[string]int64      `json:"slo_missed"`
	// Histograms holds copies of the sketches by metric tag: times in seconds,
	// lengths in tokens.
	Histograms map[string]*sketch.Sketch `json:"histograms"`
	// Models has the same of the records of each model, without Sent and bytes; nil
	// unless the run has several models.
	Models map[string]Counters `json:"models,omitempty"`
}

// Process describes the resources that the load generator uses.
type Process struct {
	PID                 int           `json:"pid"`
	Created             time.Time     `json:"created"`
	CPUUser             time.Duration `json:"cpu_user_ns"`
	CPUSystem           time.Duration `json:"cpu_system_ns"`
	CPUPercent          float64       `json:"cpu_percent"` // since the last snapshot; 100 = one core
	RSS                 bench.Bytes   `json:"rss_bytes"`
	Threads             int           `json:"threads"`
	Goroutines          int           `json:"goroutines"`
	VoluntarySwitches   int64         `json:"voluntary_switches"`
	InvoluntarySwitches int64         `json:"involuntary_switches"`
	IO                  *IO           `json:"io"` // nil if the platform does not provide it
}

// IO are the I/O totals of the process.
type IO struct {
	ReadOps, WriteOps     int64
	ReadBytes, WriteBytes int64
	ReadChars, WriteChars int64
}
