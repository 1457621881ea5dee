// Package export turns a finished run into files. A format is one row of
// [Formats] and one file of this package. Formats read a [Report] and nothing
// else, except for the record stream, which is appended while the run goes.
package export

import (
	"cmp"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/verdict"
)

// Report is everything that is known about a finished (or interrupted) run. It
// is immutable; secrets have already been taken out of every text in it. Its names in
// JSON are those of result.json.
type Report struct {
	Identity
	InputConfig any         `json:"-"` // encodes to the input_config object
	State       bench.State `json:"state"`
	Reason      string      `json:"state_reason"` // why it ended, for people; may be empty
	Cancelled   bool        `json:"was_cancelled"`
	Complete    bool        `json:"is_complete"` // all expected results arrived
	Models      []string    `json:"models"`
	Groups
	Endpoint  string  `json:"endpoint_type"` // endpoint type
	Title     string  `json:"title"`         // metrics title, for example "LLM Metrics"
	Streaming bool    `json:"streaming"`
	Load      string  `json:"load"`         // for people, for example "concurrency 64" or "poisson 12/s, cap 64"
	Tokenizer string  `json:"token_counts"` // who counted tokens, and how; empty = nobody
	Dataset   Dataset `json:"dataset"`

	Start    time.Time     `json:"start_time"` // profiling window, wall clock
	End      time.Time     `json:"end_time"`
	Duration time.Duration `json:"duration_ns"`       // profiling phase window W that rates divide by
	Expected int64         `json:"expected_requests"` // requests asked for; 0 = not bounded by requests

	SLOs    SLOs           `json:"slos,omitzero"`
	Results metric.Results `json:"-"` // profiling phases together
	Warmup  metric.Results `json:"-"` // nil without a warm-up
	Phases  []PhaseReport  `json:"-"`
	// AcceptedDrafts has the steps of speculative decoding by the number of draft tokens that they
	// accepted; nil unless servers report it.
	AcceptedDrafts map[int]int64 `json:"pooled_spec_decode_acceptance_histogram,omitempty"`

	Errors   []metric.ErrorGroup `json:"errors"` // profiling only, most frequent first
	Warnings []bench.Warning     `json:"notes"`

	Client *verdict.Report `json:"client"`      // nil = nobody watched the client
	Stream *verdict.Stream `json:"stream"`      // nil without streams
	Checks verdict.Checks  `json:"consistency"` // whether the numbers agree with each other

	Saturation *verdict.Saturation `json:"saturation"` // whether the servers kept up with the rate; nil without an open loop

	// Cache is what is known of prefix caches; nil = nothing was sent, no text, or the file has it not. See
	// [Report.PrefixCache].
	Cache *verdict.Cache `json:"cache,omitempty"`

	Server *diagnose.Server `json:"server,omitempty"` // what the servers' metrics say; nil = they were not read

	GPU *gpu.Report `json:"gpu,omitempty"` // what the accelerators did; nil = they were not read

	Path *paths.Report `json:"path,omitempty"` // how the network behaved; nil = nothing was counted

	OTel *otel.Report `json:"otel,omitempty"` // what was sent to OpenTelemetry collectors; nil = nothing

	ServerSpans *otel.ServerSpans `json:"server_spans,omitempty"` // of single requests; nil = none were received

	Validity *verdict.Validity `json:"validity,omitempty"` // whether the result counts for its scenario; nil = it has none

	Agents *agents.Report `json:"agents,omitempty"` // what the replay of recorded sessions measured; nil = none was replayed

	Cluster *Cluster `json:"cluster,omitempty"` // the load generators; nil = there was one

	Layout Layout `json:"layout"`
}

// Groups are the groups of requests that have results of their own, of the profiling
// phases together.
type Groups struct {
	Targets  []string         `json:"targets"`             // redacted base URLs
	ByTarget []metric.Results `json:"by_target,omitempty"` // one for each target; nil unless there are several
	ByTurn   []metric.Results `json:"by_turn,omitempty"`   // from the first turn on; nil without conversations of several turns

	// ByModel has the models that the document names, LoRA adapters among them, and the others
	// together; nil unless the document names several.
	ByModel []measure.NamedResults `json:"by_model,omitempty"`

	ByCategory []measure.NamedResults `json:"by_category,omitempty"` // of a dataset with categories, by name
}

// Identity says which run a report is about.
type Identity struct {
	RunID      string            `json:"benchmark_id"`
	Version    string            `json:"aiperfd_version"` // of aiperfd
	Seed       int64             `json:"random_seed"`
	Name       string            `json:"name,omitempty"`        // metadata; may be empty
	Labels     map[string]string `json:"labels,omitempty"`      // metadata; may be nil
	CLICommand string            `json:"cli_command,omitempty"` // redacted; empty for runs submitted over the API
}

// Layout is what the user has chosen about the files of a report, and what became of them.
type Layout struct {
	Prefix    string `json:"prefix,omitempty"`        // replaces profile_export_aiperf and its relatives; empty = AIPerf's names
	CSVDigits *int   `json:"csv_precision,omitempty"` // decimals in CSV files; nil = as many as small numbers need, at least two
	NoSummary bool   `json:"no_summary,omitempty"`    // the summary is not written as JSON

	// Incomplete names the files that lack requests, because the disk was nearly full.
	Incomplete []string `json:"incomplete,omitempty"`
	// Kept is what the record files have; nil = all requests.
	Kept *KeptRecords `json:"kept_records,omitempty"`
}

// SLOs are the objectives of a run.
type SLOs struct {
	Requests map[string]float64 `json:"requests,omitempty"` // of each request: metric tag → threshold in the metric's unit; empty = none
	Run      []metric.SLOResult `json:"run,omitempty"`      // of the run as a whole, with their outcomes; empty = none
}

// PhaseReport is one phase alone.
type PhaseReport struct {
	Stats   bench.PhaseStats    `json:"-"`
	Start   time.Time           `json:"start_time"`
	End     time.Time           `json:"end_time"`
	Results metric.Results      `json:"-"`
	Errors  []metric.ErrorGroup `json:"errors"`
	// Sketches estimates the distribution of each metric that has one value per request.
	// Times are in seconds, sizes in bytes, everything else in its display unit.
	Sketches map[string]*sketch.Sketch `json:"sketches,omitempty"`
	Windows  []Window                  `json:"windows,omitempty"` // nil for a warm-up
	Slices   []Slice                   `json:"-"`                 // nil = none were asked for, or the phase does not enter the results
}

// PrefixCache describes the prefix caches of the servers; nil = nothing was sent, or no text.
func (r *Report) PrefixCache() *verdict.Cache { return cmp.Or(r.Cache, verdict.NewCache(r.Results)) }

// Slices returns the time slices of the phases that enter the results, in order.
func (r *Report) Slices() []Slice {
	var out []Slice
	for i := range r.Phases {
		out = append(out, r.Phases[i].Slices...)
	}
	return out
}

// Window is a part of a phase that has a name; see [measure.Window].
type Window struct {
	Name    string         `json:"name" enums:"phase,activity,steady"`
	Method  string         `json:"method"`           // how its bounds were found; for one that is absent, why
	Absent  bool           `json:"absent,omitempty"` // the other fields have no meaning
	Start   time.Time      `json:"start_time"`
	End     time.Time      `json:"end_time"`
	Results metric.Results `json:"metrics"`
	// Trend is nil unless the window is the steady one.
	Trend *metric.Steadiness `json:"trend,omitempty"`
}

// Windows returns the windows of the phase that enters the results; none if several do.
func (r *Report) Windows() []Window {
	var out []Window
	for i := range r.Phases {
		switch w := r.Phases[i].Windows; {
		case len(w) == 0:
		case out != nil:
			return nil
		default:
			out = w
		}
	}
	return out
}

// Slice is an interval of a phase with the metrics of the requests that started in it;
// see [measure.Slice].
type Slice struct {
	Phase    string         `json:"-"`
	Start    time.Time      `json:"start_time"`
	End      time.Time      `json:"end_time"`
	Complete bool           `json:"is_complete"` // as long as the others: the phase did not end in it
	Results  metric.Results `json:"-"`
}

// Dataset identifies the conversations that were used.
type Dataset struct {
	Hash     string `json:"hash"` // empty = no dataset was opened
	Source   string `json:"source,omitempty"`
	Revision string `json:"revision,omitempty"` // commit of a dataset of the Hugging Face hub
	Entries  int    `json:"entries,omitempty"`  // conversations of a complete pass; 0 = unknown
	LeftOut  string `json:"left_out,omitempty"` // conversations that were not used, as a sentence; empty = none
}
