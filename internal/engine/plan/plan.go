package plan

import (
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/transport"
)

// Plan is a compiled configuration: every name has become a value, and nothing
// is looked up by string after this. It does not change after [Compile]. It holds
// secrets (in headers and target URLs) and is never printed but by String.
type Plan struct {
	Measure
	Models     Models
	Targets    []Target
	Spread     spread      // of requests over targets
	Header     http.Header // of every request
	SessionID  string      // name of the session header
	Affinity   []string    // names of more headers with the session's id
	Wait       Readiness   // for the model
	Reset      *CacheReset // of the servers' caches; nil = they are left alone
	Profiler   *Profiler
	Transport  transport.Options
	Preconnect bool // connections are opened before the phase that needs them
	Dataset    Dataset
	Tokens     Tokens
	Certify    string // when the client certifies itself: none, before, after
}

// Measure is the part of a plan that says what is measured and reported. The
// document alone decides it: no file that the document names is read, so the
// results of an interrupted run can be computed when these files are gone.
type Measure struct {
	Seed     bench.Seed
	Kind     endpoint.Kind
	Settings endpoint.Settings
	Phases   []Phase
	Metrics  metric.Options
	Files    Files
	Warnings []bench.Warning // about what was asked, for the result

	Document *config.Document // what the plan was made of
}

// Target is one server under test.
type Target struct {
	URL     *url.URL // where requests are posted; holds secrets. The host of a unix socket is made up
	Host    string   // for the Host header; empty = that of the URL
	Basic   string   // value of Authorization for the URL's own user info; empty = none
	Address string   // who answers there: host and port, or the path of a socket
	Shown   string   // the base URL, redacted
	Root    string   // what the paths of the server's other functions are below; holds secrets
}

// Readiness says how long to wait for the model, and for what.
type Readiness struct {
	Timeout   time.Duration // 0 = not at all
	Interval  time.Duration // > 0
	Models    bool          // the list of models must name it
	Inference bool          // a short request must be answered
}

// CacheReset says how a server's cache is emptied.
type CacheReset struct {
	Timeout time.Duration // of one attempt
	Paths   []string      // the next one where the server does not know one
}

// Profiler says how a server's profiler is started and stopped.
type Profiler struct {
	Timeout     time.Duration // of one attempt
	Start, Stop string        // paths
}

// Files says which artifacts a run leaves.
type Files struct {
	Prefix  string // replaces profile_export_aiperf and its relatives; empty = AIPerf's names
	Records bool   // profile_export.jsonl
	Raw     bool   // profile_export_raw.jsonl
}

// Phase is one stretch of load.
type Phase struct {
	Index           int
	ProfilingIndex  int // -1 for warm-up
	Name            string
	Kind            bench.PhaseKind
	Arrivals        iter.Seq[time.Duration] // offsets from the phase's start; nil = closed loop
	Concurrency     int                     // sessions at a time; 0 = without limit
	ConcurrencyRamp time.Duration           // in which the slots of a closed loop open one by one, evenly; 0 = at once
	Requests        int64                   // 0 = without bound
	Sessions        int64                   // 0 = without bound
	Duration        time.Duration           // 0 = without bound
	Grace           time.Duration           // after Duration; <0 = without limit
	Rate            float64                 // arrivals per second; 0 = closed loop
	Smoothness      float64                 // of the arrivals: below 1 they come in bursts; 1 = Poisson, and of every other process
	Excluded        bool                    // its records do not enter the result
	FailThreshold   *float64                // share of failures that ends the phase; nil = none does
	Load            string                  // for people: "concurrency 8", "poisson 12/s, cap 64"
}

// Counted reports whether the records of a phase enter the result, so that the
// client must have kept up with it.
func (p *Phase) Counted() bool { return p.Kind == bench.Profiling && !p.Excluded }

// Enough returns how many records of a phase say something about its failures.
func (p *Phase) Enough() int64 { return max(int64(p.Concurrency), 10) }

// TooMany reports whether more requests have failed than the phase allows.
func (p *Phase) TooMany(failed, ok int64) bool {
	return p.FailThreshold != nil && float64(failed) > *p.FailThreshold*float64(failed+ok)
}

// Dataset opens the dataset; opening may take long and is done by the run.
type Dataset struct {
	Kind     dataset.Kind
	Options  dataset.Options
	Sampling string
}

// String is a summary without secrets.
func (p *Plan) String() string {
	return fmt.Sprintf("%s on %d target(s), %d phase(s)", p.Kind.Name, len(p.Targets), len(p.Phases))
}

// Servers names the servers of a run, three at most.
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

// ModelOf returns the model of a turn as far as it is known before a session
// draws one.
func (p *Plan) ModelOf(conversation *bench.Conversation, turn int) string {
	for _, name := range []string{conversation.Turns[turn].Model, conversation.Model} {
		if name != "" {
			return name
		}
	}
	return p.Models.Names[0]
}

// Tokens says who counts tokens.
type Tokens struct {
	// Names are the tokenizers: one for all models, or each model's own in the order
	// of the plan's models. A name is builtin, an encoding, a path or a model.
	Names    []string
	Revision string // of models on the hub
	Explicit bool   // the user named it; it is not just the model's name
	Server   bool   // only the server's usage block counts
	Client   bool   // only the tokenizer counts
	Optional bool   // nothing needs a tokenizer
	Spare    bool   // it only counts where the server does not
	Fetch    bool   // it may be downloaded
	Template bool   // lengths of prompts include the chat template
	// Open opens a file within the bounds of an untrusted document; nil = every file
	// may be read.
	Open func(name string) (io.ReadCloser, error)
}

// MainRevision is the revision of models for which none is given.
const MainRevision = "main"
