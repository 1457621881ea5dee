package collect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/request"
)

// Run is the state that the recorders of one run share.
type Run struct {
	Plan    *plan.Plan
	Clock   bench.Clock
	Secrets *redact.Set
	Tokens  *Tokens
	Files   *Files
	Faults  *Faults
	// Prefixes knows which prompts of recorded sessions were sent. Recording guards it.
	Prefixes *agents.Prefixes

	// Forced reports whether the run was cancelled by force; nil = it cannot be.
	Forced func() bool

	Recording  sync.Mutex // held by a recorder while it measures: what it calls sees all recorders at rest
	publishing sync.Mutex // held while a snapshot is taken and published; locked before Recording

	Mismatched atomic.Int64           // answers with a count_mismatch
	Malformed  atomic.Int64           // answers with a malformed_event
	Impossible atomic.Int64           // answers with an impossible_token_count
	malformed  atomic.Pointer[string] // the first such event; nil = there was none
}

// Publish calls take while all recorders are at rest, and what it returns after that: they
// measure while a snapshot is published. Snapshots are published in the order in which they
// were taken.
func (r *Run) Publish(take func() (publish func())) {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	r.atRest(take)()
}

func (r *Run) atRest(take func() (publish func())) func() {
	r.Recording.Lock()
	defer r.Recording.Unlock()
	return take()
}

// MalformedEvent returns the first event of a stream that could not be read, clipped and
// redacted; empty = there was none, or it is not known.
func (r *Run) MalformedEvent() string {
	if first := r.malformed.Load(); first != nil {
		return *first
	}
	return ""
}

// unreadable returns the first event of a response that is not JSON, redacted and then clipped: the
// start of a secret at the end of a short text would not be found.
func unreadable(r *bench.Response, secrets *redact.Set) string {
	const searched, shown = 4 << 10, 120 // bytes
	for e := range r.Events.All() {
		if data := bytes.TrimSpace(e.Data); len(data) > 0 && data[0] != '[' && !json.Valid(data) {
			text := secrets.String(string(data[:min(len(data), searched)]))
			return strings.ToValidUTF8(text[:min(len(text), shown)], "")
		}
	}
	return ""
}

// startFinishers starts the pool that decodes responses and counts tokens. It ends when
// r.finish is closed.
func (r *Recorder) startFinishers() {
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		r.finishers.Go(func() {
			for f := range r.finish {
				if r.Run.Forced != nil && r.Run.Forced() && f.Force() {
					r.counts.forced.Add(1)
				}
				raw := r.Run.decode(f)
				if failure := f.Record.Answer.Failure; failure != nil && !failure.Class.Cancelled() {
					r.counts.failed.Add(1)
				}
				r.Run.Files.writeRaw(raw)
				r.decoded.add(f.Record)
			}
		})
	}
}

// decode makes the record of a request complete and releases its response. raw is nil
// unless raw records are kept.
func (r *Run) decode(f *load.Finished) (raw *export.Raw) {
	f.Decode(request.Decoder{Plan: r.Plan})
	if p := f.Panic(); p != nil {
		r.Faults.note("decode", p.Value, p.Stack)
	}
	r.Faults.guard("read", f.Record, func(rec *bench.Record) { raw = r.examine(f, rec) })
	f.Exchange.Release()
	r.Faults.guard("count the tokens of", f.Record, func(*bench.Record) { r.Tokens.count(f) })
	r.redact(f.Record)
	return raw
}

// examine takes what is kept of a response besides its answer.
func (r *Run) examine(f *load.Finished, rec *bench.Record) (raw *export.Raw) {
	if rec.Answer.Warnings[answer.WarnImpossibleCount] > 0 {
		r.Impossible.Add(1)
	}
	if rec.Answer.Warnings[request.WarnCountMismatch] > 0 {
		r.Mismatched.Add(1)
	}
	if rec.Answer.Warnings[answer.WarnMalformedEvent] > 0 {
		r.Malformed.Add(1)
		if r.malformed.Load() == nil {
			example := unreadable(f.Exchange.Response, r.Secrets)
			r.malformed.CompareAndSwap(nil, &example)
		}
	}
	if r.Plan.Files.Raw && !f.Forced() {
		raw = export.NewRaw(rec, f.Header, f.Sent().WholeBody(), f.Exchange.Response)
		if rec.Content.Marker != "" {
			raw.CacheBust = r.Plan.CacheBust.Target
		}
	}
	rec.Answer.Headers = keptHeaders(f.Exchange.Response.Header)
	r.trace(f)
	return raw
}

// keptHeaders returns the headers of a response that are kept: ids of requests, limits of
// rates, and times spent in front of the server. nil = there are none.
func keptHeaders(h http.Header) map[string]string {
	var kept map[string]string
	for name, values := range h {
		switch {
		case strings.HasPrefix(name, "X-Ratelimit-"):
		case slices.Contains(keptNames[:], name):
		default:
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return kept
}

// keptNames are the headers that are kept besides X-Ratelimit-*.
var keptNames = [...]string{
	"X-Request-Id", "Request-Id", "Apim-Request-Id", "Cf-Ray", "Openai-Processing-Ms", "Retry-After", "Retry-After-Ms",
	"X-Envoy-Upstream-Service-Time", "X-Inference-Pod",
}

// trace completes the trace of a request, if traces are exported.
func (r *Run) trace(f *load.Finished) {
	if !r.Plan.Files.Trace {
		return
	}
	c := &f.Record.Conn
	if c.Trace == nil { // it got no connection
		c.Trace = new(bench.Trace)
	}
	c.Trace.Response = f.Exchange.Response.Header
	if f.Header != nil {
		t := &r.Plan.Targets[f.Record.Target]
		c.Trace.Request = f.Header.Clone()
		c.Trace.Request.Set("Host", cmp.Or(t.Host, t.URL.Host))
		c.Trace.Request.Set("Content-Length", strconv.Itoa(f.Sent().BodySize()))
	}
}

// redact removes secrets from the texts of a server.
func (r *Run) redact(rec *bench.Record) {
	a := &rec.Answer
	a.ResponseID, a.Model = r.Secrets.String(a.ResponseID), r.Secrets.String(a.Model)
	for name, value := range a.Headers {
		a.Headers[name] = r.Secrets.String(value)
	}
	if f := a.Failure; f != nil {
		clean := *f
		clean.Message, clean.Code, clean.Type = r.Secrets.String(f.Message), r.Secrets.String(f.Code), r.Secrets.String(f.Type)
		a.Failure = &clean
	}
}
