package certify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/request"
	"aiperfd/internal/engine/transport"
)

// driver performs one phase of load against the reference server. It is the sink of
// the load.
type driver struct {
	opts   *Options
	shape  *shape
	server *server
	client *transport.Client
	plan   *plan.Plan
	body   []byte // of every request

	stop context.CancelCauseFunc // with the first failure

	mu      sync.Mutex
	results []result // guarded by mu
}

// result is a request that entered the certificate.
type result struct {
	record *bench.Record // its answer has nothing but chunks
	truth  *truth
}

var _ load.Sink = (*driver)(nil)

// seed makes the arrivals of every certificate the same.
const seed = bench.Seed(1)

// newDriver makes a driver. Its client must be closed.
func newDriver(o *Options, sh *shape, srv *server) (*driver, error) {
	kind, ok := endpoint.Lookup("chat")
	if !ok {
		return nil, errors.New("certify: no codec of chats")
	}
	d := &driver{opts: o, shape: sh, server: srv, client: transport.New(o.Transport), body: requestBody(o.RequestBytes)}
	// All requests share one body, which is not changed.
	kind.Encode = func([]byte, *endpoint.Request) ([]byte, error) { return d.body, nil }
	d.plan = &plan.Plan{
		Measure: plan.Measure{
			Seed: seed, Kind: kind, Settings: endpoint.Settings{Streaming: true}, Phases: []spec.Phase{o.phase(sh)},
		},
		Targets:   []plan.Target{{URL: &url.URL{Scheme: "http", Host: srv.ln.Addr().String(), Path: "/"}}},
		Header:    http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}},
		SessionID: "X-Correlation-Id",
	}
	return d, nil
}

// requestBody is the body of a chat request of about so many bytes.
func requestBody(size int) []byte {
	const head, tail = `{"model":"reference","stream":true,"messages":[{"role":"user","content":"`, `"}]}`
	return []byte(head + strings.Repeat("x", max(1, size-len(head)-len(tail))) + tail)
}

// phase returns the load. The slots of a closed loop open within the length of a
// response, so that the writes of the server spread over the time. The arrivals of an
// open loop are all sent, however late.
func (o *Options) phase(sh *shape) spec.Phase {
	p := spec.Phase{Name: "certify", Kind: bench.Profiling, Concurrency: sh.streams, Grace: -1}
	if o.Rate > 0 {
		p.Arrivals = until(arrival.Poisson(o.Rate, seed), o.Time)
	} else {
		p.Duration = o.Time
		p.Shape.Concurrency = arrival.Ramp{Duration: sh.length() * time.Duration(sh.streams-1) / time.Duration(sh.streams)}
	}
	return p
}

// until yields the arrivals up to a time.
func until(arrivals iter.Seq[time.Duration], end time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for at := range arrivals {
			if at > end || !yield(at) {
				return
			}
		}
	}
}

// run performs the load and waits for the last request.
func (d *driver) run(ctx context.Context) error {
	ctx, d.stop = context.WithCancelCause(ctx)
	defer d.stop(nil)
	work := load.NewWork(load.Options{
		Targets: 1, Clock: d.opts.Transport.Clock, Source: repeated{&bench.Conversation{Turns: make([]bench.Turn, 1)}},
		Encoder: request.NewEncoder(request.Options{Plan: d.plan}), Sender: newStreams(d.client, d.shape.streams),
		Received: func() uint64 { return 0 }, Pacer: d.opts.Pacer, Stop: never{},
	})
	phase := load.NewPhase(work, &d.plan.Phases[0], d)
	phase.Begin()
	phase.Run(ctx)
	return context.Cause(ctx)
}

// Finished implements load.Sink. A failure ends the load.
func (d *driver) Finished(f load.Finished) {
	defer f.Exchange.Release()
	f.Decode(request.Decoder{Plan: d.plan})
	r := f.Record
	if r.Answer.Failure != nil {
		d.stop(fmt.Errorf("request failed: %s", r.Answer.Failure.Message))
		return
	}
	t, err := d.server.truth(r.RequestID)
	if err != nil {
		d.stop(err)
		return
	}
	if len(r.Answer.Chunks) != len(d.shape.writes) {
		d.stop(fmt.Errorf("%d of %d events were received", len(r.Answer.Chunks), len(d.shape.writes)))
		return
	}
	if d.opts.Transport.Reuse != transport.Never && !r.Conn.Reused {
		return // the time to open a connection is no error of the client
	}
	r.Answer = bench.Answer{Chunks: r.Answer.Chunks}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.results = append(d.results, result{record: r, truth: t})
}

// repeated is a load.Source of one conversation, which does not end.
type repeated struct{ conversation *bench.Conversation }

var _ load.Source = repeated{}

// Next implements load.Source.
func (r repeated) Next(int64, <-chan struct{}) (c *bench.Conversation, model string, err error) {
	return r.conversation, "reference", nil
}

// Restart implements load.Source.
func (repeated) Restart(bool) error { return nil }

// streams is the client as the load uses it: the requests at the same time belong to
// streams whose sessions do not end, so that sticky connections are reused as well.
type streams struct {
	client   *transport.Client
	sessions chan string // that have no request in flight; has room for all
}

var _ load.Sender = (*streams)(nil)

func newStreams(client *transport.Client, n int) *streams {
	s := &streams{client: client, sessions: make(chan string, n)}
	for i := range n {
		s.sessions <- strconv.Itoa(i)
	}
	return s
}

// Do implements load.Sender.
func (s *streams) Do(ctx context.Context, r *transport.Request) transport.Exchange {
	own := *r
	own.Session = <-s.sessions
	x := s.client.Do(ctx, &own)
	s.sessions <- own.Session
	return x
}

// EndSession implements load.Sender.
func (s *streams) EndSession(string) {}

// never is a load.Stop: only the context stops the load.
type never struct{}

var _ load.Stop = never{}

// Requested implements load.Stop.
func (never) Requested() <-chan struct{} { return nil }

// Grace implements load.Stop.
func (never) Grace(*spec.Phase) (time.Duration, bool) { return 0, false }

// Patience implements load.Stop.
func (never) Patience() time.Duration { return 0 }
