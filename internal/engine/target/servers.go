// Package target sends the requests that prepare servers: it waits for the model, lists
// models, resets caches and controls profilers. These requests are not measured and share
// no connections with the load.
package target

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/transport"
)

// Options are what [New] needs. All fields are required.
type Options struct {
	Plan      *plan.Plan
	Transport transport.Options // of the run; connections are not reused here
	Secrets   *redact.Set       // removed from every text that a server sent
	Log       zerolog.Logger

	// Status is called with a description of the wait; empty if the run no longer waits.
	Status func(text string)
	// Silence is how long requests may wait for the servers before Unanswered is
	// called. The next calls follow each time this length has doubled.
	Silence time.Duration
	// Unanswered is called with the request that is waiting, and how long servers
	// have not answered. It may be called from another goroutine, and must not call
	// methods of Servers.
	Unanswered func(request string, since time.Time, length time.Duration)
}

// Servers are the servers of a run. Only one goroutine may use them, except for
// [Servers.Silence].
type Servers struct {
	opts    Options
	plan    *plan.Plan        // that of opts until Resolve replaces it
	client  *transport.Client // nil = closed
	silence silence
}

// New returns the servers of a plan. It sends nothing.
func New(o Options) *Servers {
	o.Transport.Reuse, o.Transport.Streaming = transport.Never, false
	return &Servers{opts: o, plan: o.Plan, silence: silence{first: o.Silence, alarm: o.Unanswered}}
}

// Close releases the resources of the requests sent so far. Servers can still be
// used after it, and must then be closed again.
func (s *Servers) Close() {
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

// Silence returns since when the servers have not answered, and at which length of
// that time it is to be reported next. since is zero if the last request was
// answered. It is safe for concurrent use.
func (s *Servers) Silence() (since time.Time, next time.Duration) { return s.silence.current() }

// maxBody is the most bytes of a response that is not a model's, 8 MiB: lists of
// models, and the responses of other functions.
const maxBody = 8 << 20

// call is one request to a server.
type call struct {
	target  *plan.Target
	method  string
	url     *url.URL
	body    []byte // JSON; nil = none
	timeout time.Duration
}

// reply is the response to a call. It owns its bytes.
type reply struct {
	status  int // 0 = there was no response
	body    []byte
	failure *bench.Failure
	answer  bench.Answer // the body, decoded with the endpoint type of the run
	reason  string       // for an error: status and failure, redacted
}

// ok reports whether the server has accepted the request.
func (r *reply) ok() bool { return r.status >= 200 && r.status < 300 && r.failure == nil }

// refused reports whether the server has rejected the credentials.
func (r *reply) refused() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

// do sends a request and waits for its response until the timeout of the call.
func (s *Servers) do(ctx context.Context, k *call) *reply {
	ctx, cancel := context.WithTimeoutCause(ctx, k.timeout, transport.CancelWith(&bench.Failure{
		Class: bench.TimeoutTotal, Message: fmt.Sprintf("no answer within %v", k.timeout),
	}))
	defer cancel()
	r := s.request(k)
	if s.client == nil {
		s.client = transport.New(s.opts.Transport)
	}
	ended := s.silence.began(k.method + " " + redact.URL(k.url.String()))
	exchange := s.client.Do(ctx, r)
	ended(exchange.Response.Status != 0)
	defer exchange.Release()
	resp := exchange.Response
	out := &reply{
		status: resp.Status, body: bytes.Clone(resp.Body), failure: resp.Failure,
		answer: s.plan.Kind.Decode(resp, r.Streaming),
	}
	out.reason = s.reason(out)
	return out
}

// request returns the HTTP request of a call.
func (s *Servers) request(k *call) *transport.Request {
	h := maps.Clone(s.plan.Header)
	h["Accept"] = []string{"application/json"}
	h["X-Request-Id"] = []string{uuid.NewString()}
	r := &transport.Request{Method: k.method, URL: k.url, Host: k.target.Host, Header: h, Body: k.body}
	if k.body == nil {
		r.MaxBody = maxBody
		delete(h, "Content-Type")
	} else {
		r.Streaming = s.plan.Settings.Streaming && k.url == k.target.URL
	}
	if k.target.Basic != "" && h["Authorization"] == nil {
		h["Authorization"] = []string{k.target.Basic}
	}
	return r
}

// reason returns why a reply is not the one that was expected.
func (s *Servers) reason(r *reply) string {
	text := ""
	f := r.failure
	if f == nil {
		f = r.answer.Failure
	}
	if f != nil {
		text = f.Message
		if f.Class == bench.Auth {
			text = s.plan.Hint(f.Class, text)
		}
	}
	switch {
	case r.status == 0 && text == "":
		text = "no answer"
	case r.status != 0 && text == "":
		text = fmt.Sprintf("HTTP %d %s", r.status, http.StatusText(r.status))
	case r.status != 0:
		text = fmt.Sprintf("HTTP %d: %s", r.status, text)
	}
	return s.opts.Secrets.String(text)
}
