package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/transport"
)

// caller asks servers for what is not load: models, readiness, cache reset,
// profiler. Nothing of it is measured, and none of its connections is one of the
// run's. Only the supervisor uses it.
type caller struct {
	x      *execution
	client *transport.Client
}

func (x *execution) newCaller() *caller {
	o := x.plan.Transport
	o.Clock, o.Reuse, o.Streaming = bench.NewClock(), transport.Never, false
	return &caller{x: x, client: transport.New(o)}
}

func (c *caller) close() { c.client.Close() }

// maxControlBody is the most bytes of an answer to a request beside the load that
// is none to the model, 8 MiB: lists of models, and what functions say.
const maxControlBody = 8 << 20

// call is one request to a server beside the load.
type call struct {
	target  *Target
	method  string
	url     *url.URL
	body    []byte
	timeout time.Duration
}

// reply is what came back. It owns its bytes.
type reply struct {
	status  int    // 0 = nothing came back
	body    []byte // of one document
	failure *bench.Failure
	answer  bench.Answer // as the run's endpoint type reads it
}

// ok reports whether the server did what it was asked for.
func (r *reply) ok() bool { return r.status >= 200 && r.status < 300 && r.failure == nil }

// reason says what went wrong, redacted.
func (c *caller) reason(r *reply) string {
	text := ""
	f := r.failure
	if f == nil {
		f = r.answer.Failure
	}
	if f != nil {
		text = f.Message
		if f.Class == bench.Auth {
			text = advised(text, c.x.plan.hint(f.Class, text))
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
	return c.x.secrets.String(text)
}

// do performs a call within its time.
func (c *caller) do(ctx context.Context, k *call) *reply {
	ctx, cancel := context.WithTimeoutCause(ctx, k.timeout, transport.CancelWith(&bench.Failure{
		Class: bench.TimeoutTotal, Message: fmt.Sprintf("no answer within %v", k.timeout),
	}))
	defer cancel()
	h := maps.Clone(c.x.plan.Header)
	h["Accept"] = []string{"application/json"}
	most := 0 // as an answer of the load
	if k.body == nil {
		most = maxControlBody
		delete(h, "Content-Type")
	}
	rec := bench.Record{RequestID: c.x.ids.next()}
	h["X-Request-Id"] = []string{rec.RequestID}
	r := transport.Request{Method: k.method, URL: k.url, Host: k.target.Host, Header: h, Body: k.body, MaxBody: most}
	if k.target.Basic != "" && h["Authorization"] == nil {
		h["Authorization"] = []string{k.target.Basic}
	}
	streaming := k.body != nil && c.x.plan.Settings.Streaming
	r.Streaming = streaming
	ended := c.x.quiet.began(c.x, k.method+" "+redact.URL(k.url.String()))
	exchange := c.client.Do(ctx, &r)
	ended(exchange.Response.Status != 0)
	defer exchange.Release()
	resp := exchange.Response
	return &reply{
		status: resp.Status, body: bytes.Clone(resp.Body), failure: resp.Failure,
		answer: c.x.plan.Kind.Decode(resp, streaming),
	}
}

// beside returns the URL of another function of a server. Paths of the root do
// not live under a version such as /v1.
func (t *Target) beside(path string, atRoot bool) (*url.URL, error) {
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

func cutQuery(path string) (bare, query string) {
	if u, err := url.Parse(path); err == nil {
		return u.EscapedPath(), u.RawQuery
	}
	return path, ""
}
