package plan

import (
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/slo"
	"aiperfd/internal/engine/transport"
)

// Plan is a compiled configuration: every name has become a value, and nothing
// is looked up by string afterwards. It does not change after [Compile]. It holds
// secrets (in headers and target URLs) and is printed only by String.
type Plan struct {
	Measure
	Models     Models
	Targets    []Target
	Spread     spread      // of requests over targets
	Header     http.Header // of every request
	SessionID  string      // name of the session header
	Affinity   []string    // names of more headers with the session's id
	Wait       Readiness   // for the model
	Reset      *CacheReset // of the servers' caches; nil = caches are not reset
	Profiler   *Profiler
	Transport  transport.Options
	Preconnect bool // connections are opened before the phase that needs them
	Dataset    Dataset
	Sessions   Sessions
	CacheBust  CacheBust
	Tokens     Tokens
	Certify    string // when the client certifies itself: none, before, after
}

// Measure is the part of a plan that determines what is measured and reported. The
// document alone decides it: no file that the document names is read, so the
// results of an interrupted run can be computed when these files are gone.
type Measure struct {
	Seed     bench.Seed
	Kind     endpoint.Kind
	Settings endpoint.Settings
	Phases   []Phase
	Metrics  metric.Options
	RunSLOs  []slo.Objective // that the run as a whole must meet
	Files    Files
	Warnings []bench.Warning // about the document, for the result

	Document *config.Document // from which the plan was compiled
}

// Target is one server under test.
type Target struct {
	URL     *url.URL // of the requests; holds secrets. The host of a unix socket is invented
	Host    string   // for the Host header; empty = that of the URL
	Basic   string   // value of Authorization for the URL's own user info; empty = none
	Address string   // of the server: host and port, or the path of a socket
	Shown   string   // the base URL, redacted
	Root    string   // base URL of the server's other functions; holds secrets
}

// Readiness describes how long to wait for the model, and for which sign of it.
type Readiness struct {
	Timeout   time.Duration // 0 = do not wait
	Interval  time.Duration // > 0
	Models    bool          // the list of models must name it
	Inference bool          // a short request must be answered
}

// CacheReset describes how the cache of a server is emptied.
type CacheReset struct {
	Timeout   time.Duration // of one attempt
	Paths     []secret.URL  // tried in order until the server knows one
	Run       bool          // before the run
	Profiling bool          // before each profiling phase
}

// Profiler describes how the profiler of a server is started and stopped.
type Profiler struct {
	Timeout     time.Duration // of one attempt
	Start, Stop secret.URL    // paths
}

// Files selects the artifacts of a run.
type Files struct {
	Layout  export.Layout
	Records bool // profile_export.jsonl
	Tables  bool // profile_export.parquet
	Raw     bool // profile_export_raw.jsonl
	Inputs  bool // inputs.json
	Outputs bool // outputs.json
	Trace   bool // trace_data in the lines of Records

	Keep     export.RecordKeep // which requests Records, Tables and Raw have
	PartSize int64             // bytes after which Records and Raw are continued in a next file; 0 = never
}

// Phase is one period of load.
type Phase struct {
	Index          int
	ProfilingIndex int // -1 for warm-up
	Name           string
	Kind           bench.PhaseKind
	Starts
	Arrivals      iter.Seq[time.Duration] // offsets from the phase's start; nil = closed loop, or a replay
	Once          bool                    // the dataset is read from its beginning to its end, once; always so in a replay
	Concurrency   int                     // sessions at a time; 0 = without limit
	Prefill       int                     // requests at a time that were sent and have no first token; 0 = without limit
	Shape         Shape
	Requests      int64         // 0 = without bound
	Sessions      int64         // 0 = without bound
	Duration      time.Duration // 0 = without bound
	Grace         time.Duration // after Duration; <0 = without limit
	Rate          float64       // arrivals per second, after a ramp; of a series, its largest; 0 = closed loop
	Smoothness    float64       // of the arrivals: below 1 they come in bursts; 1 = Poisson, and of every other process
	Excluded      bool          // its records do not enter the result
	FailThreshold *float64      // share of failures that ends the phase; nil = none does
	Cancellation  *Cancellation // of some requests on purpose; nil = of none
	Load          string        // for people: "concurrency 8", "poisson 12/s, cap 64"
}

// Starts says who starts the sessions of a phase. The zero value leaves it to the
// arrivals, or in a closed loop to the slots.
type Starts struct {
	Replay     *Replay // the dataset says when conversations start; nil = it does not
	Users      *Users  // users start one after the other; nil = there are none
	Seamless   bool    // the phase starts when the one before has sent everything
	PerSession bool    // arrivals only start sessions: later turns follow after their think time
	Backlog    Backlog // of arrivals that find no free slot
}

// Replay is the schedule of a phase that sends conversations at the times that the
// dataset has for them.
type Replay struct {
	Auto  bool          // the time of the first conversation is the start of the phase, in place of Start
	Start time.Duration // the dataset's time at the start of the phase; earlier conversations are left out unless Auto
	End   time.Duration // later conversations are left out; <0 = none is
}

// Users are the users of a user-centric phase. Each of them holds one conversation.
type Users struct {
	Count        int
	Rate         float64       // requests per second of all users together
	Gap          time.Duration // between the turns of a user
	OnCompletion bool          // a user is replaced when it has finished, in place of when it should have
}

// Backlog holds the arrivals of an open loop that find no free slot.
type Backlog struct {
	Saturation Saturation
	Limit      int // most arrivals that may wait, for AbortArrivals
}

// Saturation says what becomes of an arrival that finds no free slot.
type Saturation uint8

// The policies. The names in documents are those of [Saturations].
const (
	QueueArrivals Saturation = iota // it waits and keeps its due time
	DropArrivals                    // it is not sent
	AbortArrivals                   // it waits, and the run ends if too many do
)

// Saturations returns the names of the policies, in the order of their values.
func Saturations() []string { return []string{"queue", "drop", "abort"} }

// Open reports whether the phase is an open loop: requests are due at times that do
// not depend on the server.
func (p *Phase) Open() bool { return p.Arrivals != nil || p.Replay != nil || p.Users != nil }

// Sessions describes how conversations are carried out.
type Sessions struct {
	OnTurnError TurnError
	FailFast    bool    // a child that fails ends its parent
	Speedup     float64 // divides the dataset's times and delays; 0 = 1
}

// TurnError says what happens after a turn that failed.
type TurnError uint8

// The policies. The names in documents are those of [TurnErrors].
const (
	EndSession TurnError = iota // the session ends
	Continue                    // the next turn follows; the history has what was received of the answer
	RetryTurn                   // the turn is sent again, a few times; then the session ends
)

// TurnErrors returns the names of the policies, in the order of their values.
func TurnErrors() []string { return []string{"end_session", "continue", "retry_turn"} }

// Scaled returns a time or a delay of the dataset in the time of the run.
func (s *Sessions) Scaled(d time.Duration) time.Duration {
	if s.Speedup == 0 || s.Speedup == 1 {
		return d
	}
	const most = float64(100 * 365 * 24 * time.Hour) // neither a sum nor a conversion overflows
	return time.Duration(math.RoundToEven(max(-most, min(float64(d)/s.Speedup, most))))
}

// Counted reports whether the records of a phase enter the result, so that the
// client must have kept up with it.
func (p *Phase) Counted() bool { return p.Kind == bench.Profiling && !p.Excluded }

// Enough returns the least number of records of a phase with a meaningful share of
// failures.
func (p *Phase) Enough() int64 { return max(int64(p.Concurrency), 10) }

// TooMany reports whether more requests have failed than the phase allows.
func (p *Phase) TooMany(failed, ok int64) bool {
	return p.FailThreshold != nil && float64(failed) > *p.FailThreshold*float64(failed+ok)
}

// Dataset describes the dataset of a run. The run opens it, because that may take long.
type Dataset struct {
	Kind     dataset.Kind
	Options  dataset.Options
	Sampling string
	// Calibrate subtracts the tokens that the server adds to prompts from their lengths.
	Calibrate bool
	// SeparateWarmup gives the warm-up conversations of its own.
	SeparateWarmup bool
}

// String returns a summary without secrets.
func (p *Plan) String() string {
	return fmt.Sprintf("%s on %d target(s), %d phase(s)", p.Kind.Name, len(p.Targets), len(p.Phases))
}

// Servers names the servers of a run, at most three.
func (p *Plan) Servers() string {
	const most = 3
	var names []string
	for i := range min(len(p.Targets), most) {
		names = append(names, p.Targets[i].Shown)
	}
	text := strings.Join(names, ", ")
	if more := len(p.Targets) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Indirect reports whether the servers are not reached directly, over TCP.
func (p *Plan) Indirect() bool {
	o := &p.Transport
	return o.Proxy != nil || o.EnvProxy || len(o.Sockets) > 0 || o.Version != transport.HTTP1
}

// ModelOf returns the model of a turn if it is known before a session draws one.
func (p *Plan) ModelOf(conversation *bench.Conversation, turn int) string {
	for _, name := range []string{conversation.Turns[turn].Model, conversation.Model} {
		if name != "" {
			return name
		}
	}
	return p.Models.Names[0]
}

// Tokens describes who counts tokens.
type Tokens struct {
	// Names are the tokenizers: one for all models, or each model's own in the order
	// of the plan's models. A name is builtin, an encoding, a path or a model.
	Names    []string
	Revision string // of models on the hub
	Explicit bool   // the user named it; otherwise it is the name of the model
	Server   bool   // only the server's usage block counts
	Client   bool   // only the tokenizer counts
	Optional bool   // nothing needs a tokenizer
	Fallback bool   // the tokenizer counts only if the server does not
	Fetch    bool   // it may be downloaded
	Template bool   // lengths of prompts include the chat template
	// Open opens a file within the bounds of an untrusted document; nil = every file
	// may be read.
	Open func(name string) (io.ReadCloser, error)
}

// MainRevision is the default revision of models.
const MainRevision = "main"
