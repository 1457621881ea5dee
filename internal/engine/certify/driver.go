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
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/transport"
)

// driver sends requests to the reference server as a run does, and compares what
// it would report with the truth.
type driver struct {
	opts   *Options
	shape  *shape
	server *server
	client *transport.Client
	clock  bench.Clock
	kind   endpoint.Kind
	places []*place
	start  time.Duration
	group  sync.WaitGroup

	stop context.CancelCauseFunc // with the first failure
}

// place performs one request at a time: a slot of the server, the request that
// names it, and what was measured there.
type place struct {
	slot    *slot
	request transport.Request
	found   findings
}

// findings are what requests have shown. Each place has its own until the end.
type findings struct {
	ttft, gap     []sample
	send, receive []time.Duration // errors of single stamps
	schedule      []time.Duration // start after due time; open loop
	requests      int
	kernel        int // requests with the kernel's stamps
}

// seed makes the arrivals of every certificate the same.
const seed = bench.Seed(1)

// newDriver makes a driver. Its client must be closed.
func newDriver(o *Options, sh *shape, srv *server) (*driver, error) {
	kind, ok := endpoint.Lookup("chat")
	if !ok {
		return nil, errors.New("certify: no codec of chats")
	}
	d := &driver{
		opts: o, shape: sh, server: srv, client: transport.New(o.Transport), clock: o.Transport.Clock, kind: kind,
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	body := requestBody(o.RequestBytes)
	for i, slot := range srv.slots {
		d.places = append(d.places, &place{slot: slot, request: transport.Request{
			URL:    &url.URL{Scheme: "http", Host: srv.ln.Addr().String(), Path: "/" + strconv.Itoa(i)},
			Header: header, Body: body, Streaming: true, Session: strconv.Itoa(i),
		}})
	}
	return d, nil
}

// requestBody is the body of a chat request of about so many bytes.
func requestBody(size int) []byte {
	const head, tail = `{"model":"reference","stream":true,"messages":[{"role":"user","content":"`, `"}]}`
	return []byte(head + strings.Repeat("x", max(1, size-len(head)-len(tail))) + tail)
}

// run sends requests for the time that was asked for and waits for the last one.
func (d *driver) run(ctx context.Context) error {
	ctx, d.stop = context.WithCancelCause(ctx)
	defer d.stop(nil)
	d.start = d.clock.Now()
	if d.opts.Rate > 0 {
		d.openLoop(ctx)
	} else {
		d.closedLoop(ctx)
	}
	d.group.Wait()
	return context.Cause(ctx)
}

// closedLoop keeps every place busy. They begin one after the other within the
// length of a response, so that the writes of the server spread over the time.
func (d *driver) closedLoop(ctx context.Context) {
	length := d.shape.length()
	for i, p := range d.places {
		first := d.start + length*time.Duration(i)/time.Duration(len(d.places))
		d.group.Go(func() {
			timer := time.NewTimer(first - d.clock.Now())
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			for ctx.Err() == nil && d.clock.Now() < d.start+d.opts.Time {
				d.perform(ctx, p, 0)
			}
		})
	}
}

// openLoop sends at the due times of a Poisson process, as long as there is a
// place. As in a run, who was woken at a due time sends, and leaves the watch to
// another goroutine.
func (d *driver) openLoop(ctx context.Context) {
	next, stop := iter.Pull(arrival.Poisson(d.opts.Rate, seed))
	defer stop()
	wait := d.opts.Pacer()
	defer wait.Close()
	w := watch{driver: d, next: next, wait: wait, free: make(chan *place, len(d.places)), over: make(chan struct{})}
	for _, p := range d.places {
		w.free <- p
	}
	d.group.Go(func() { w.arrival(ctx) })
	<-w.over
}

// watch is the watch for arrivals of an open loop. One goroutine at a time has it.
type watch struct {
	driver *driver
	next   func() (time.Duration, bool)
	wait   pace.Waiter
	free   chan *place   // holds all places
	over   chan struct{} // closed when no arrival will come any more
}

// arrival waits for the next arrival, has another goroutine watch for the one
// after it, and sends.
func (w *watch) arrival(ctx context.Context) {
	d := w.driver
	offset, more := w.next()
	if !more || offset > d.opts.Time || !w.wait.Until(d.clock.At(d.start+offset), ctx.Done()) {
		close(w.over)
		return
	}
	var p *place
	select {
	case p = <-w.free:
	case <-ctx.Done():
		close(w.over)
		return
	}
	d.group.Go(func() { w.arrival(ctx) })
	d.perform(ctx, p, d.start+offset)
	w.free <- p
}

// perform sends one request and compares. A failure ends everything.
func (d *driver) perform(ctx context.Context, p *place, due time.Duration) {
	p.slot.ready <- struct{}{} // never full: the last request was answered
	x := d.client.Do(ctx, &p.request)
	defer x.Release()
	a := d.kind.Decode(x.Response, true)
	if a.Failure != nil {
		d.stop(fmt.Errorf("request failed: %s", a.Failure.Message))
		return
	}
	select {
	case err := <-p.slot.done:
		if err != nil {
			d.stop(fmt.Errorf("write response: %w", err))
			return
		}
	case <-ctx.Done():
		return
	}
	if len(a.Chunks) != len(d.shape.writes) {
		d.stop(fmt.Errorf("%d of %d events were received", len(a.Chunks), len(d.shape.writes)))
		return
	}
	if d.opts.Transport.Reuse != transport.Never && !x.Conn.Reused {
		return // opening a connection is no error of the client
	}
	p.found.add(&x, a.Chunks, &p.slot.truth)
	if due > 0 {
		p.found.schedule = append(p.found.schedule, x.Stamps.Start-due)
	}
}

// add compares one exchange with the truth.
//
// A write happened between the stamps before and after its call, and with it the
// arrival at the client, since both are on one machine. The errors are the largest
// that this leaves possible.
func (f *findings) add(x *transport.Exchange, chunks []bench.Chunk, t *truth) {
	f.requests++
	if x.Conn.Kernel {
		f.kernel++
	}
	send := t.received - x.Stamps.Start
	f.send = append(f.send, send)
	f.ttft = append(f.ttft, sample{
		at:       chunks[0].At,
		reported: chunks[0].At - x.Stamps.Start,
		truth:    t.before[0] - t.received,
		err:      max(chunks[0].At-t.before[0]+send, t.after[0]-chunks[0].At-send),
	})
	for i := range chunks {
		most, least := chunks[i].At-t.before[i], chunks[i].At-t.after[i]
		f.receive = append(f.receive, max(most, -least))
		if i == 0 {
			continue
		}
		f.gap = append(f.gap, sample{
			at:       chunks[i].At,
			reported: chunks[i].At - chunks[i-1].At,
			truth:    t.before[i] - t.before[i-1],
			err:      max(most-(chunks[i-1].At-t.after[i-1]), (chunks[i-1].At-t.before[i-1])-least),
		})
	}
}

// join adds other findings.
func (f *findings) join(o *findings) {
	f.ttft, f.gap = append(f.ttft, o.ttft...), append(f.gap, o.gap...)
	f.send, f.receive = append(f.send, o.send...), append(f.receive, o.receive...)
	f.schedule = append(f.schedule, o.schedule...)
	f.requests, f.kernel = f.requests+o.requests, f.kernel+o.kernel
}
