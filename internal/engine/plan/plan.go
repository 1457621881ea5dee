// Package plan compiles documents to plans: every name of a document becomes a value,
// and nothing is looked up by name afterwards. A plan is immutable. Values that exist
// only while a run is active (clock, dialer, memory) are passed beside the plan.
// [Measure] is the part that recovery needs.
package plan

import (
	"errors"
	"fmt"
	"io"
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
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/transport"
)

// Plan is a compiled configuration: every name has become a value, and nothing
// is looked up by string afterwards. It does not change after [Compile]. It holds
// secrets (in headers and target URLs) and is printed only by String.
type Plan struct {
	Measure
	Models     Models
	Targets    []Target
	Spread     spec.Spread // of requests over targets
	Header     http.Header // of every request
	SessionID  string      // name of the session header
	Affinity   []string    // names of more headers with the session's id
	Wait       Readiness   // for the model
	Reset      *CacheReset // of the servers' caches; nil = caches are not reset
	Profiler   *Profiler
	Transport  transport.Options
	Preconnect bool // connections are opened before the phase that needs them
	Dataset    Dataset
	Sessions   spec.Sessions
	CacheBust  CacheBust
	Tokens     Tokens
	Certify    string // when the client certifies itself: none, before, after

	ServerMetrics ServerMetrics
	GPUTelemetry  GPUTelemetry
}

// Measure is the part of a plan that determines what is measured and reported. The
// document alone decides it: no file that the document names is read, so the
// results of an interrupted run can be computed when these files are gone.
type Measure struct {
	Seed     bench.Seed
	Kind     endpoint.Kind
	Settings endpoint.Settings
	Phases   []spec.Phase
	Metrics  measure.Options
	RunSLOs  []measure.Objective // that the run as a whole must meet
	Unwanted []string            // codes of findings that no profiling phase must have
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

// FunctionURL returns the URL of another function of the server. Paths at the root are
// not below a version such as /v1.
func (t *Target) FunctionURL(path string, atRoot bool) (*url.URL, error) {
	path, query := cutQuery(path)
	joined, err := endpoint.JoinURL(t.Root, endpoint.Kind{Path: path, RootPath: atRoot}, false, nil, "")
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(endpoint.WithQuery(joined, query))
	if err != nil {
		return nil, errors.New("the path is not valid in a URL")
	}
	return u, nil
}

// ModelList returns the URL of the list of models; ok = false if the API is known not
// to have one.
func (t *Target) ModelList() (list *url.URL, ok bool) {
	if !endpoint.ListsModels(t.URL) {
		return nil, false
	}
	list, err := t.FunctionURL("/v1/models", false)
	return list, err == nil // the URL of the requests was joined from the same base
}

func cutQuery(path string) (bare, query string) {
	if u, err := url.Parse(path); err == nil {
		return u.EscapedPath(), u.RawQuery
	}
	return path, ""
}
