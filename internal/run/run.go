package run

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
)

// Run is the public description of one run: identity, state, and the redacted
// configuration. Values of this type are copies. It is stored as JSON, so that the
// folder of a run is self-contained.
type Run struct {
	ID     string            `json:"id"` // 32 lower-case hex digits, ordered by time
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Notes  string            `json:"notes,omitempty"`
	Terms
	State       bench.State `json:"state"`
	StateReason string      `json:"state_reason"` // for users; may be empty
	CreatedAt   time.Time   `json:"created_at"`
	StartedAt   *time.Time  `json:"started_at"`
	EndedAt     *time.Time  `json:"ended_at"`
	Origin
	Models      []string        `json:"models"`
	Targets     []string        `json:"targets"` // redacted base URLs
	Endpoint    string          `json:"endpoint_type"`
	Streaming   bool            `json:"streaming"`
	Concurrency *int            `json:"concurrency"`     // of the first profiling phase
	Rate        *float64        `json:"request_rate"`    // of the first profiling phase; requests/s
	Loads       []PhaseLoad     `json:"loads,omitempty"` // of the profiling phases if there are several
	Credentials Credentials     `json:"credentials"`
	Summary     *Summary        `json:"summary"` // once terminal
	Client      *ClientVerdict  `json:"client"`  // once terminal; nil = it never got to measure
	Error       *Error          `json:"error"`
	Warnings    []bench.Warning `json:"warnings"`
	Revision    int64           `json:"revision"` // grows with every change
	// Cancelled is the request that stops the run; nil = there was none. It is stored before
	// the request is answered, so that the next process does not go on with the run if this
	// one is killed.
	Cancelled *CancelRequest `json:"cancel_request,omitempty"`
	// Config is AIPerf's camelCase document with every default, redacted. The
	// API serves it on its own route.
	Config json.RawMessage `json:"-"`

	Study *Study `json:"study,omitempty"` // a study: runs that belong together; nil = a run
	Cell  *Cell  `json:"cell,omitempty"`  // the place of the run in a study; nil = it stands alone
}

// Origin is where a run comes from, and what repeats it.
type Origin struct {
	Via         string `json:"submitted_via"`          // "api" or "cli"
	SubmittedBy string `json:"submitted_by,omitempty"` // name of the token; empty = submitted without one
	Version     string `json:"aiperfd_version"`
	CLICommand  string `json:"cli_command,omitempty"` // redacted
	Seed        int64  `json:"random_seed"`
	// Idempotency identifies the request that submitted the run; nil = it had no key.
	Idempotency *Idempotency `json:"idempotency,omitempty"`
}

// Idempotency identifies a request to submit a run, so that its repetition is known.
type Idempotency struct {
	Caller string `json:"caller,omitempty"` // name of the token; empty = none
	Key    string `json:"key"`              // chosen by the client, 1 to 255 visible ASCII characters
	Body   string `json:"body_sha256"`      // of the document, in hexadecimal
}

// Terms are when a run may start, how long it may take, and how long it is kept. The zero
// value sets no limits.
type Terms struct {
	Pinned     bool          `json:"pinned,omitempty"`      // the retention rules do not delete it
	Priority   int           `json:"priority,omitempty"`    // -100 to 100; the highest starts first
	StartAfter *time.Time    `json:"start_after,omitempty"` // nil = at once
	Deadline   time.Duration `json:"deadline_ns,omitempty"` // after the start; 0 = none
	TTL        time.Duration `json:"ttl_ns,omitempty"`      // after the end; 0 = as the retention rules say
	// SharesTarget permits the run to load a server together with other runs that permit it.
	SharesTarget bool `json:"allow_shared_target,omitempty"`
}

// Ready returns how long a run must still wait for its StartAfter; at most 0 = not at all.
func (t *Terms) Ready(now time.Time) time.Duration {
	if t.StartAfter == nil {
		return 0
	}
	return t.StartAfter.Sub(now)
}

// ExpiresAt returns when the run will be deleted because of its TTL; nil = not, or not
// known before its end.
func (r *Run) ExpiresAt() *time.Time {
	if r.TTL <= 0 || r.EndedAt == nil {
		return nil
	}
	return new(r.EndedAt.Add(r.TTL))
}

// Before orders queued runs: by priority, then as they were submitted.
func (r *Run) Before(other *Run) bool {
	if r.Priority != other.Priority {
		return r.Priority > other.Priority
	}
	return r.ID < other.ID
}

// Kind is what a [Run] is.
type Kind string

// The kinds.
const (
	KindRun   Kind = "run"   // one benchmark
	KindSweep Kind = "sweep" // a study: the variations and repeats of one document
)

// Kind returns what the run is.
func (r *Run) Kind() Kind {
	if r.Study != nil {
		return KindSweep
	}
	return KindRun
}

// ServerInCommon reports whether both runs have a server in common: a URL with the same host and port.
func (r *Run) ServerInCommon(other *Run) bool {
	host := func(target string) string {
		if u, err := url.Parse(target); err == nil && u.Host != "" {
			return u.Host
		}
		return target
	}
	return slices.ContainsFunc(r.Targets, func(target string) bool {
		return slices.ContainsFunc(other.Targets, func(o string) bool { return host(o) == host(target) })
	})
}

// ParentID returns the id of the study that the run belongs to; "" = it stands alone.
func (r *Run) ParentID() string {
	if r.Cell == nil {
		return ""
	}
	return r.Cell.ParentID
}

// Cell is the place of a run in a study.
type Cell struct {
	ParentID  string         `json:"parent_id"`
	Variation vary.Variation `json:"variation"`
	Trial     int            `json:"trial"`  // from 0
	Label     string         `json:"label"`  // of the trial: run_0001
	Folder    string         `json:"folder"` // below that of the study, with slashes
	// LoadLost is for how many seconds earlier processes have loaded servers for this cell.
	LoadLost float64 `json:"load_lost_sec,omitempty"`
}

// Study is the progress of a study. A cell is one run of it.
type Study struct {
	// Experiment is the kind of question that it answers; empty if an earlier version has stored it.
	Experiment Experiment `json:"experiment,omitempty"`

	Type   string `json:"type"`        // of the sweep: grid, …; repeats without a sweep
	Total  int    `json:"cells_total"` // planned; an upper bound if results decide what comes next
	Done   int    `json:"cells_done"`  // ended, failed ones included
	Failed int    `json:"cells_failed"`
	// Current is the label of the active cell; empty = none is active.
	Current string `json:"current,omitempty"`
	// Interruptions is how many processes have ended while a cell was measured, which is measured again then.
	Interruptions int `json:"interruptions,omitempty"`
	// LoadLost is for how many seconds earlier processes have loaded servers for the cell that is measured again: they
	// count for the budget of load. LoadActive is for how many this process has, for the active cell.
	LoadLost   float64 `json:"load_lost_sec,omitempty"`
	LoadActive float64 `json:"load_active_sec,omitempty"`
	// Objectives are those of the runs, judged once all of them have ended; empty if they have
	// none. A search has none: its probes are there to find the limit, and may miss them.
	Objectives []StudyObjective `json:"objectives,omitempty"`
}

// Experiment is the kind of question that a study answers.
type Experiment string

// The kinds.
const (
	RepeatsExperiment  Experiment = "repeats"
	SweepExperiment    Experiment = "sweep"
	CapacityExperiment Experiment = "capacity"
	PairedExperiment   Experiment = "ab"
)

// StudyObjective is an objective of the runs of a study.
type StudyObjective struct {
	Objective string `json:"objective" example:"p95(time_to_first_token) < 500ms"`
	Runs      int    `json:"runs"`   // that were judged
	Missed    int    `json:"missed"` // runs of them that missed it
	// MissedBy names the first of the runs that missed it.
	MissedBy []string `json:"missed_by,omitempty" example:"concurrency 2"`
	// Uncounted are the runs in which the load generator leaves open if they met it.
	Uncounted int `json:"uncounted,omitempty"`
}

// Line describes the outcome in words.
func (o *StudyObjective) Line() string {
	text := "SLO " + o.Objective + ": "
	switch {
	case o.Runs == 0:
		text += "not judged"
	case o.Missed == 0:
		text += fmt.Sprintf("met by %d of %d runs", o.Runs, o.Runs)
	default:
		text += fmt.Sprintf("missed by %d of %d runs (%s", o.Missed, o.Runs, strings.Join(o.MissedBy, ", "))
		if more := o.Missed - len(o.MissedBy); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		text += ")"
	}
	switch {
	case o.Uncounted == 1:
		text += "; 1 run does not count, because the load generator distorted the metric"
	case o.Uncounted > 1:
		text += fmt.Sprintf("; %d runs do not count, because the load generator distorted the metric", o.Uncounted)
	}
	return text
}

// MissedLines describes the objectives that a run of the study missed.
func (s *Study) MissedLines() []string {
	var out []string
	for i := range s.Objectives {
		if s.Objectives[i].Missed > 0 {
			out = append(out, s.Objectives[i].Line())
		}
	}
	return out
}

// MissedObjective reports whether a run of the study missed an objective.
func (s *Study) MissedObjective() bool {
	return slices.ContainsFunc(s.Objectives, func(o StudyObjective) bool { return o.Missed > 0 })
}

// ObjectivesVerdict returns whether all objectives are met, in a study by all runs that count;
// nil if there are none, or one was not judged.
func (r *Run) ObjectivesVerdict() *string {
	judged, passed := false, false
	if s := r.Study; s != nil && r.State.Terminal() {
		unjudged := slices.ContainsFunc(s.Objectives, func(o StudyObjective) bool { return o.Runs == 0 })
		passed = !s.MissedObjective()
		judged = !passed || len(s.Objectives) > 0 && !unjudged
	} else if r.Summary != nil {
		passed, judged = metric.SLOsPassed(r.Summary.SLOs), len(r.Summary.SLOs) > 0
	}
	switch {
	case !judged:
		return nil
	case passed:
		return new("pass")
	}
	return new("fail")
}

// Credentials names the secrets of a run, without their values.
type Credentials struct {
	APIKey      bool     `json:"api_key"`
	Headers     []string `json:"headers"` // names of headers with secret values
	URLUserinfo bool     `json:"url_userinfo"`
}

// Any reports whether the run has secrets, which are never stored.
func (c Credentials) Any() bool { return c.APIKey || len(c.Headers) > 0 || c.URLUserinfo }

// Summary are the few numbers of a list view; nil = the metric does not exist.
type Summary struct {
	Requests              int64    `json:"requests"`
	Errors                int64    `json:"errors"`
	Cancelled             int64    `json:"cancelled"`
	CancelledByTest       int64    `json:"cancelled_by_test,omitempty"` // not in cancelled; absent if there were none
	ErrorRate             *float64 `json:"error_rate_percent"`
	RequestThroughput     *float64 `json:"request_throughput_per_sec"`
	OutputTokenThroughput *float64 `json:"output_token_throughput_per_sec"`
	TTFTP50               *float64 `json:"time_to_first_token_p50_ms"`
	TTFTP99               *float64 `json:"time_to_first_token_p99_ms"`
	ITLAvg                *float64 `json:"inter_token_latency_avg_ms"`
	ITLP99                *float64 `json:"inter_token_latency_p99_ms"`
	LatencyP50            *float64 `json:"request_latency_p50_ms"`
	LatencyP99            *float64 `json:"request_latency_p99_ms"`
	Goodput               *float64 `json:"goodput_per_sec"`
	// Windows are the named windows of the only profiling phase; absent if there are more.
	Windows []Window `json:"windows,omitempty"`
	// SLOs are the outcomes of the objectives of the run as a whole.
	SLOs []metric.SLOResult `json:"slo_results,omitempty"`
	// ByURL has the numbers of each server, if there are several.
	ByURL []URLSummary `json:"by_url,omitempty"`
	// ByModel has the numbers of each model, LoRA adapters among them, if the document names
	// several.
	ByModel []ModelSummary `json:"by_model,omitempty"`
	// ByCategory has the numbers of each category of the dataset, if it has categories.
	ByCategory []CategorySummary `json:"by_category,omitempty"`
	// Unsupported lists the members above that are unreliable percentiles: fewer than
	// five independent samples lie beyond them. Never null.
	Unsupported []string            `json:"unsupported_percentiles" example:"time_to_first_token_p99_ms"`
	Saturation  *verdict.Saturation `json:"saturation"` // whether the servers kept up with the rate; null without an open loop
}

// Window is a part of a phase that has a name.
type Window struct {
	Name                  string   `json:"name" enums:"phase,activity,steady"`
	Method                string   `json:"method"`  // how its bounds were found; for one that is absent, why
	Absent                bool     `json:"absent"`  // the other fields have no meaning
	Seconds               float64  `json:"seconds"` // its length
	RequestThroughput     *float64 `json:"request_throughput_per_sec"`
	OutputTokenThroughput *float64 `json:"output_token_throughput_per_sec"`
	// Trend says how the run changed with time within the steady window; absent for others.
	Trend *metric.Steadiness `json:"trend,omitempty"`
}

// URLSummary are the numbers of one of several servers.
type URLSummary struct {
	URL string `json:"url"` // redacted
	GroupSummary
}

// ModelSummary are the numbers of one of several models.
type ModelSummary struct {
	Model string `json:"model"` // other = those that the dataset names, and the document does not
	GroupSummary
}

// CategorySummary are the numbers of one category of the dataset.
type CategorySummary struct {
	Category string `json:"category"`
	GroupSummary
	// AcceptanceLength and AcceptanceRate are those of speculative decoding; nil unless servers
	// report it.
	AcceptanceLength *float64 `json:"spec_decode_acceptance_length"`
	AcceptanceRate   *float64 `json:"spec_decode_acceptance_rate_percent"`
}

// GroupSummary are the numbers of some of the requests of a run; nil = the metric does not
// exist.
type GroupSummary struct {
	Requests              int64    `json:"requests"`
	Errors                int64    `json:"errors"`
	RequestThroughput     *float64 `json:"request_throughput_per_sec"`
	OutputTokenThroughput *float64 `json:"output_token_throughput_per_sec"`
	TTFTP50               *float64 `json:"time_to_first_token_p50_ms"`
	TTFTP99               *float64 `json:"time_to_first_token_p99_ms"`
	LatencyP50            *float64 `json:"request_latency_p50_ms"`
	LatencyP99            *float64 `json:"request_latency_p99_ms"`
}

// ClientVerdict is the verdict on the load generator in a run.
type ClientVerdict struct {
	Verdict verdict.Level    `json:"verdict"`
	Reasons []verdict.Reason `json:"reasons"` // which numbers are affected, and why; never null
	// Evidence is the signs of a busy client. Without a reason, no number is
	// affected. Never null.
	Evidence []verdict.Sign `json:"evidence"`
	Bias     []verdict.Bias `json:"bias"` // never null
	// Certificate is what the client adds to latencies, as measured; only in runs
	// that requested one.
	Certificate *verdict.Certificate `json:"certificate,omitempty"`
}

// NewClientVerdict returns the public part of a report; nil for nil. It shares the
// slices of the report, which is immutable.
func NewClientVerdict(r *verdict.Report) *ClientVerdict {
	if r == nil {
		return nil
	}
	return &ClientVerdict{Verdict: r.Verdict, Reasons: r.Reasons, Evidence: r.Evidence, Bias: r.Bias, Certificate: r.Certificate}
}

// Error is why a run failed; redacted.
type Error struct {
	Code    ErrorCode `json:"code"`
	Message string    `json:"message"`
	Phase   string    `json:"phase,omitempty"`
}

// ErrorCode is the closed list of causes of a failed run.
type ErrorCode string

// The causes.
const (
	NoSuccess       ErrorCode = "no-success"      // not one request succeeded
	ErrorThreshold  ErrorCode = "error-threshold" // failedRequestThreshold was crossed
	Saturated       ErrorCode = "saturated"       // more arrivals waited for a slot than saturationLimit
	TokenizerFailed ErrorCode = "tokenizer"       // the tokenizer could not be loaded
	DatasetFailed   ErrorCode = "dataset"         // the dataset could not be opened or built
	SourceAddress   ErrorCode = "source-address"  // an address to connect from is not one of this machine
	Connections     ErrorCode = "connections"     // more are needed at a time than this machine can open
	// TargetNotAllowed: a server has an address that submitted documents must not reach.
	TargetNotAllowed ErrorCode = "target-not-allowed"
	NotReady         ErrorCode = "model-not-ready"  // the server did not serve the model in time, or refused the credentials
	ModelUnknown     ErrorCode = "model"            // no model is given, and the server does not name the only one
	CacheReset       ErrorCode = "cache-reset"      // the server's cache could not be emptied
	ExportFailed     ErrorCode = "export"           // results could not be written
	Internal         ErrorCode = "internal"         // a defect of aiperfd
	Interrupted      ErrorCode = "daemon-restarted" // the process ended while the run was active
	DeadlinePassed   ErrorCode = "deadline"         // the run took longer than its deadline
	SecretLost       ErrorCode = "secret-lost"      // queued with secrets, which are never stored
	TooManyFailures  ErrorCode = "cell-failures"    // a study ended because of its failed cells
	WorkersMissing   ErrorCode = "workers-missing"  // there are not enough load generators for the run
	WorkerLost       ErrorCode = "worker-lost"      // a load generator of the run did not begin, or ended before the others
	TwinFailed       ErrorCode = "other-side"       // the run of the server that this one is compared with did not begin
)
