// Package export turns a finished run into files. A format is one row of
// [Formats] and one file of this package. Formats read a [Report] and nothing
// else, except for the record stream, which is appended while the run goes.
package export

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/errorgroup"
	"aiperfd/internal/engine/verdict"
)

// Report is everything that is known about a finished (or interrupted) run. It
// is immutable; secrets have already been taken out of every text in it.
type Report struct {
	Identity
	InputConfig any // encodes to the input_config object
	State       bench.State
	Reason      string // why it ended, for people; may be empty
	Cancelled   bool
	Complete    bool // all expected results arrived
	Models      []string
	Targets     []string // redacted base URLs
	Endpoint    string   // endpoint type
	Title       string   // metrics title, for example "LLM Metrics"
	Streaming   bool
	Load        string // for people, for example "concurrency 64" or "poisson 12/s, cap 64"
	Tokenizer   string // who counted tokens, and how; empty = nobody
	Dataset     Dataset

	Start, End time.Time     // profiling window, wall clock
	Duration   time.Duration // profiling phase window W that rates divide by
	Expected   int64         // requests asked for; 0 = not bounded by requests

	SLOs     map[string]float64 // objectives: metric tag → threshold in the metric's unit; empty = none
	Results  metric.Results     // profiling phases together
	Warmup   metric.Results     // nil without a warm-up
	Phases   []PhaseReport
	Errors   []errorgroup.Group // profiling only, most frequent first
	Warnings []bench.Warning

	Client *verdict.Report // nil = nobody watched the client
	Stream *verdict.Stream // nil without streams
	Checks verdict.Checks  // whether the numbers agree with each other

	Saturation *verdict.Saturation // whether the servers kept up with the rate; nil without an open loop

	Layout Layout
}

// Identity says which run a report is about.
type Identity struct {
	RunID      string
	Version    string // of aiperfd
	Seed       int64
	Name       string            // metadata; may be empty
	Labels     map[string]string // metadata; may be nil
	CLICommand string            // redacted; empty for runs submitted over the API
}

// Layout is what the user has chosen about the files of a report.
type Layout struct {
	Prefix    string // replaces profile_export_aiperf and its relatives; empty = AIPerf's names
	CSVDigits *int   // decimals in CSV files; nil = as many as small numbers need, at least two
	NoSummary bool   // the summary is not written as JSON
}

// PhaseReport is one phase alone.
type PhaseReport struct {
	Stats   bench.PhaseStats
	Start   time.Time
	End     time.Time
	Results metric.Results
	Errors  []errorgroup.Group
	Slices  []Slice // nil = none were asked for, or the phase does not enter the results
}

// Slices returns the time slices of the phases that enter the results, in order.
func (r *Report) Slices() []Slice {
	var out []Slice
	for i := range r.Phases {
		out = append(out, r.Phases[i].Slices...)
	}
	return out
}

// Slice is an interval of a phase with the metrics of the requests that started in it;
// see [metric.Slice].
type Slice struct {
	Phase      string
	Start, End time.Time
	Complete   bool // as long as the others: the phase did not end in it
	Results    metric.Results
}

// Dataset identifies the conversations that were used.
type Dataset struct {
	Hash     string `json:"hash"` // empty = no dataset was opened
	Source   string `json:"source,omitempty"`
	Revision string `json:"revision,omitempty"` // commit of a dataset of the Hugging Face hub
}
