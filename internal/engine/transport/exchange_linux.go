//go:build amd64 || arm64

package transport

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/frame"
	"aiperfd/internal/engine/transport/loop"
)

// loopExchange is one request and its response on an event loop. The session that
// sends the request prepares it and hands it to a connection; the loop performs it
// and hands it to a worker once, when it is over. Only a request that
// opens its connection is waited for. From begin to the end its
// fields are guarded by the lock of its connection, whose events it handles.
type loopExchange struct {
	// What every event of a stream touches. With a thousand streams this memory is
	// cold each time; together it is two cache lines.
	owner     *loopTransport
	pc        *pooledConn
	framer    *frame.Framer // nil = no response head
	last      time.Duration // when the last bytes arrived
	lag       time.Duration // longest of a read
	reads     int32
	coalesces bool     // reads of the middle of the body may wait in backlog
	shaking   bool     // the session performs the TLS handshake, or is about to
	backlog   *backlog // nil = it is empty
	deadlines deadlines

	request request
	// done is sent to on a new connection when the exchange is over, or an address did not
	// answer. Its capacity is 1, so that the loop never waits.
	done   chan struct{}
	ended  func()          // on a connection that was idle: is called in a goroutine of its own instead
	ctx    context.Context //nolint:containedctx // its end cuts an exchange for which nobody waits; nil = somebody does
	over   bool
	result result

	stamps bench.Stamps
	conn   bench.Connection
	step   bench.Step
	began  time.Duration
	dialed time.Duration
	header http.Header
}

// deadlines are offsets; 0 = none. The first two change with the reads of a stream.
type deadlines struct{ idle, backlog, drain, total, connect, head, planned time.Duration }

// earliest returns the first deadline; 0 = none.
func (d *deadlines) earliest() time.Duration {
	first := time.Duration(0)
	for _, by := range [...]time.Duration{d.idle, d.backlog, d.drain, d.total, d.connect, d.head, d.planned} {
		if by != 0 && (first == 0 || by < first) {
			first = by
		}
	}
	return first
}

// request is what is sent, and what is known of its response in advance.
type request struct {
	head      *[]byte // of the pool of the transport; nil = it was written
	body      []byte
	content   Content // in place of body; nil = none
	streaming bool
	limit     int // of the response body, in bytes; 0 = the default
	cancel    bench.Cancellation
	noBody    bool // the response has none
	connects  bool // nothing is sent: the connection is for later requests
	watch     func(*bench.Response) bool
}

// result is how an exchange ended.
type result struct {
	end    bench.End
	err    error        // of the connection; nil = none
	cause  error        // why this package ended the exchange; nil = it did not
	dial   error        // why the last address could not be connected to
	unsent error        // why the request could not be written
	fault  *bench.Panic // nil = nothing panicked
}

var _ loop.Handler = (*loopExchange)(nil)

// Connected implements loop.Handler.
func (e *loopExchange) Connected(err error) {
	e.deadlines.connect = 0
	e.conn.Connect = e.owner.clock.Now() - e.dialed
	if e.result.dial = err; err != nil || e.pc.secure != nil {
		e.shaking = err == nil // from now on, so that no deadline ends the exchange while done is full
		e.done <- struct{}{}   // the session tries the next address, or performs the TLS handshake
		return
	}
	e.connected()
}

// connected continues the exchange on the open connection.
func (e *loopExchange) connected() {
	if e.request.connects {
		e.addToPool()
		return
	}
	e.begin()
}

// addToPool puts the new connection into the pool.
func (e *loopExchange) addToPool() {
	pc := e.pc
	e.over = true
	pc.handle(pc, nil)
	if !pc.keep(e.owner.clock.Now()) {
		pc.shut()
	}
	e.done <- struct{}{}
}

// begin sends the request on the open connection.
func (e *loopExchange) begin() {
	e.step = bench.StepSend
	if s := e.pc.secure; s != nil {
		err := s.Encrypt(*e.request.head, e.request.body)
		if e.request.content != nil && err == nil {
			err = s.EncryptFrom(e.request.content.Open())
		}
		if err != nil {
			e.settle(bench.EndReset, err)
			return
		}
	}
	now := e.owner.clock.Now()
	if e.conn.Reused {
		e.began = now // nothing was waited for
	}
	e.stamps.Connected = now
	e.conn.Kernel = e.pc.conn.Kernel()
	e.conn.Blocked = max(0, now-e.began-e.conn.DNS-e.conn.Connect-e.conn.TLS)
	if e.owner.opts.Trace {
		local, remote := e.pc.conn.Addresses()
		e.conn.Trace = &bench.Trace{Local: local, Remote: remote}
	}
	e.pc.parser.Reset(e.request.noBody)
	sent, err := e.pc.send(&e.request)
	if e.result.unsent = err; sent {
		e.Wrote()
	}
	e.arm()
}

// Wrote implements loop.Handler.
func (e *loopExchange) Wrote() {
	e.stamps.Wrote, e.conn.Writes = e.owner.clock.Now(), e.pc.conn.Writes()
	if head := e.request.head; head != nil { // it is not needed while a response is awaited
		e.request.head = nil
		e.owner.heads.Put(head)
	}
	if e.step == bench.StepSend {
		e.step = bench.StepHeaders
	}
	if timeout := e.owner.opts.HeadersTimeout; timeout > 0 && e.framer == nil {
		e.deadlines.head = e.stamps.Wrote + timeout
		e.pc.conn.Arm(e.deadlines.head)
	}
	if c := &e.request.cancel; c.On {
		e.deadlines.planned = e.stamps.Wrote + c.After
		e.pc.conn.Arm(e.deadlines.planned)
	}
}

// Received implements loop.Handler.
func (e *loopExchange) Received(r loop.Read) {
	// The pairing of wall clock and monotonic clock is good to some 10 ns: reads of
	// one packet must not go back in time, nor the first one before the request.
	e.last = max(e.last, r.At, e.stamps.Connected)
	if e.reads++; e.reads == 1 {
		e.stamps.FirstByte = e.last
	}
	e.lag = max(e.lag, r.Lag)
	now := r.At + r.Lag
	if waits := e.coalesces && len(r.Bytes) < backlogBytes && middle(r.Bytes); !waits {
		if e.flushBacklog() {
			e.parse(e.last, now, r.Bytes)
		}
		return
	}
	e.resetIdle(now)
	if e.deadlines.backlog == 0 {
		e.deadlines.backlog = now + backlogAge
		e.pc.conn.Arm(e.deadlines.backlog)
	}
	if e.backlog == nil {
		e.backlog = newBacklog(&e.owner.backlogs)
	}
	if room := e.backlog.add(e.last, r.Bytes); !room {
		e.flushBacklog()
	}
}

// resetIdle moves the deadline for the next bytes of the body.
func (e *loopExchange) resetIdle(now time.Duration) {
	idle := e.owner.opts.IdleTimeout
	if idle == 0 || e.framer == nil {
		return
	}
	first := e.deadlines.idle == 0
	if e.deadlines.idle = max(e.deadlines.idle, now+idle); first {
		e.pc.conn.Arm(e.deadlines.idle)
	}
}

// flushBacklog parses the reads of the backlog. It returns false if the exchange is
// over, so that it belongs to its session again.
func (e *loopExchange) flushBacklog() bool {
	l := e.backlog
	if l == nil {
		return true
	}
	e.backlog, e.deadlines.backlog = nil, 0
	defer l.free(&e.owner.backlogs)
	begin := 0
	for _, r := range l.reads {
		if !e.parse(r.at, r.at, l.bytes[begin:r.end]) {
			return false
		}
		begin = r.end
	}
	return true
}

// parse processes the bytes of one read. It returns false if the exchange is over, so
// that it belongs to its session again.
func (e *loopExchange) parse(at, now time.Duration, b []byte) bool {
	p := &e.pc.parser
	body, err := p.Feed(b)
	if e.framer == nil && p.HasHead() {
		e.startBody(at)
	}
	e.resetIdle(now)
	if len(body) > 0 {
		if e.conn.Received += bench.Bytes(len(body)); e.stamps.FirstBody == 0 {
			e.stamps.FirstBody = at
		}
		e.framer.Feed(at, body)
	}
	switch {
	case e.framer != nil && e.framer.Err() != nil:
		e.settle(bench.EndAborted, nil)
	case p.Done():
		e.settle(bench.EndEOF, nil)
	case err != nil:
		e.settle(bench.EndReset, err)
	case e.framer != nil && e.framer.Drained():
		e.settle(bench.EndEOF, nil)
	case e.deadlines.drain == 0 && e.framer != nil && e.framer.Done():
		e.deadlines.drain, e.deadlines.planned = now+drainTime, 0 // it is complete
		e.pc.conn.Arm(e.deadlines.drain)
		e.coalesces = false
		return true
	default:
		e.coalesces = e.deadlines.drain == 0 && e.framer != nil && e.request.streaming && p.Chunked() && !e.framer.Watched()
		return true
	}
	return false
}

// startBody processes the response head, which arrived at the given time.
func (e *loopExchange) startBody(at time.Duration) {
	p := &e.pc.parser
	e.stamps.Headers, e.step, e.deadlines.head = at, bench.StepBody, 0
	e.header = p.Header()
	e.framer = e.owner.framers.Get().(*frame.Framer)
	e.framer.Reset(frame.Head{
		Status: p.Status(), ContentType: e.header.Get("Content-Type"),
		ContentEncoding: e.header.Get("Content-Encoding"), Streaming: e.request.streaming,
		Length: e.header.Get("Content-Length"), Limit: e.request.limit, Memory: e.owner.opts.Memory,
	})
	e.framer.Watch(e.request.watch)
}

// Ended implements loop.Handler.
func (e *loopExchange) Ended(err error) {
	if fault, ok := errors.AsType[*loop.Fault](err); ok {
		e.result.fault = &fault.Panic
		e.settle(bench.EndAborted, nil)
		return
	}
	if !e.flushBacklog() {
		return
	}
	switch {
	case errors.Is(err, loop.ErrClosed):
		e.result.cause = errClientClosed
		e.settle(bench.EndAborted, nil)
		return
	case errors.Is(err, io.EOF):
		cut := errors.Is(err, loop.ErrCutOff)
		if err = e.pc.parser.End(); err == nil && cut {
			err = cutOff(e.framer, e.pc.parser.Status())
		}
		if err == nil {
			e.settle(bench.EndEOF, nil)
			return
		}
	}
	if e.step == bench.StepSend && e.result.unsent != nil {
		err = e.result.unsent
	}
	e.settle(bench.EndReset, err)
}

// Expired implements loop.Handler.
func (e *loopExchange) Expired(now time.Duration) {
	passed := func(by time.Duration) bool { return by != 0 && now >= by }
	if e.shaking {
		switch {
		case passed(e.deadlines.total):
			e.pc.secure.Fail(errTotalTimeout)
		case passed(e.deadlines.connect):
			e.pc.secure.Fail(errHandshakeTimeout)
		default:
			e.arm()
		}
		return
	}
	if passed(e.deadlines.backlog) || passed(e.deadlines.total) || passed(e.deadlines.idle) || passed(e.deadlines.planned) {
		if !e.flushBacklog() {
			return
		}
	}
	switch {
	case passed(e.deadlines.total):
		e.result.cause = errTotalTimeout
	case passed(e.deadlines.planned):
		e.result.cause = CancelWith(e.request.cancel.Failure(e.step))
		e.settle(bench.EndAborted, nil)
		return
	case passed(e.deadlines.connect):
		e.pc.conn.Shut()
		e.Connected(errConnectTimeout)
		return
	case passed(e.deadlines.head):
		e.result.cause = errHeadersTimeout
	case passed(e.deadlines.drain):
		e.conn.Held = now - e.last
		e.settle(bench.EndEOF, nil)
		return
	case passed(e.deadlines.idle):
		e.result.cause = errIdleTimeout
	default:
		e.arm()
		return
	}
	e.settle(bench.EndTimeout, nil)
}

// arm makes the loop call Expired at the earliest deadline.
func (e *loopExchange) arm() {
	if by := e.deadlines.earliest(); by != 0 {
		e.pc.conn.Arm(by)
	}
}

// settle ends the exchange and wakes its session. The connection is in the pool before
// that, so that the next request of the session can take it.
func (e *loopExchange) settle(end bench.End, err error) {
	e.over, e.result.end, e.result.err = true, end, err
	pc := e.pc
	pc.handle(pc, nil)
	if e.stamps.Wrote != 0 && pc.path.Watched() {
		e.conn.Path = pc.path.ResponseEnded(e.owner.clock.Now(), pc.conn.Info)
	}
	if e.stamps.Wrote == 0 || pc.conn.Closed() || !pc.park(e.owner.clock.Now()) {
		pc.shut()
	}
	e.wake()
}

// wake tells who waits for the exchange that it is over.
func (e *loopExchange) wake() {
	if e.ended != nil {
		e.owner.workers.run(e.ended)
		return
	}
	e.done <- struct{}{}
}

// cut ends an exchange for which nobody waits, unless it is over. Call with the lock of the
// connection held.
func (e *loopExchange) cut() {
	if e.abort() {
		e.wake()
	}
}

// abort closes the connection of an exchange; false = it is over already. Call with the lock
// of the connection held.
func (e *loopExchange) abort() bool {
	if e.over || !e.flushBacklog() {
		return false
	}
	e.over, e.result.end = true, bench.EndAborted
	e.pc.handle(e.pc, nil)
	e.pc.shut()
	return true
}

// await returns when the exchange is over (true) or an address did not answer
// (false). If ctx ends first, it closes the connection and the exchange is over.
func (e *loopExchange) await(ctx context.Context) bool {
	select {
	case <-e.done:
		return e.over
	case <-ctx.Done():
	}
	e.pc.conn.Lock()
	defer e.pc.conn.Unlock()
	e.abort()
	select {
	case <-e.done: // it ended, or an address failed, while ctx did
	default:
	}
	return true
}

// stale reports whether the exchange failed on a reused connection and received no
// byte: the server may have dropped the connection before it saw the request.
func (e *loopExchange) stale() bool {
	return e.conn.Reused && e.stamps.FirstByte == 0 && e.result.cause == nil && isReset(e.result.err)
}

// conclude returns the response of an exchange that is over and fills in x.
func (e *loopExchange) conclude(ctx context.Context, x *Exchange) *bench.Response {
	e.stamps.Start = cmp.Or(x.Stamps.Start, e.began)
	e.conn.Sent, e.conn.Retries = x.Conn.Sent, x.Conn.Retries
	e.conn.Received += x.Conn.Received
	e.conn.Reads = e.reads
	x.Stamps, x.Conn, x.Lag = e.stamps, e.conn, e.lag
	failure, end, endAt := e.failure(ctx), e.result.end, e.last
	if failure != nil {
		end = endOf(failure)
	}
	if end != bench.EndEOF || endAt == 0 {
		endAt = e.owner.clock.Now()
	}
	resp := &bench.Response{Failure: failure, End: end, EndAt: endAt}
	if e.framer != nil {
		x.framer, x.framers = e.framer, e.owner.framers
		resp = conclude(e.framer, e.header, end, endAt, failure)
	}
	resp.Panic = cmp.Or(resp.Panic, e.result.fault)
	return resp
}

// failure returns why the exchange ended early; nil = it did not, or the framer has the
// reason.
func (e *loopExchange) failure(ctx context.Context) *bench.Failure {
	switch {
	case e.result.fault != nil:
		return bench.Panicked("read", e.result.fault.Value)
	case e.step == bench.StepBuild:
		return &bench.Failure{Class: bench.ClientError, Step: e.step, Message: e.result.cause.Error()}
	case e.result.cause != nil:
		return byCause(e.result.cause, e.step)
	case e.result.end == bench.EndEOF, e.framer != nil && e.framer.Err() != nil:
		return nil
	}
	return classify(ctx, e.result.err, e.step)
}
