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

// flight is one request on its way. The session that sent it fills it in, hands
// it to a link and sleeps; the loop performs the exchange and wakes the session
// once, when it is over. From begin to the end its fields belong to the lock of
// its link, whose connection it handles.
type flight struct {
	// What every event of a stream touches. With a thousand streams this memory is
	// cold each time; together it is two cache lines.
	owner   *looped
	link    *link
	framer  *frame.Framer // nil = no response head
	last    time.Duration // when the last bytes arrived
	lag     time.Duration // longest of a read
	reads   int32
	gathers bool          // reads of the middle of the body may wait in backlog
	idleBy  time.Duration // offset; 0 = none

	backlogBy time.Duration // offset; 0 = none
	backlog   backlog

	head      []byte // of the request; kept for the next flight
	body      []byte
	streaming bool
	limit     int           // of the body; 0 = the usual one
	noBody    bool          // the response has none
	ahead     bool          // nothing is sent: the connection is for others
	done      chan struct{} // capacity 1, so that the loop never waits: the flight is over, or an address did not answer

	stamps bench.Stamps
	conn   bench.Connection
	step   bench.Step
	began  time.Duration
	dialed time.Duration

	// Further deadlines, as offsets; 0 = none.
	connectBy, totalBy, headBy, drainBy time.Duration

	header  http.Header
	over    bool
	end     bench.End
	err     error // what broke; nil = nothing
	cause   error // which of our own reasons ended it; nil = none
	dialErr error // why the last address could not be reached
	unsent  error // why the request could not be written
}

var _ loop.Handler = (*flight)(nil)

// Connected implements loop.Handler: it goes on after an attempt to connect.
func (f *flight) Connected(err error) {
	f.connectBy = 0
	f.conn.Connect = f.owner.clock.Now() - f.dialed
	if err != nil {
		f.dialErr = err
		f.done <- struct{}{}
		return
	}
	if f.ahead {
		f.land()
		return
	}
	f.begin()
}

// land leaves the new connection to the pool.
func (f *flight) land() {
	k := f.link
	f.over = true
	k.conn.Handle(k, nil)
	if !k.keep(f.owner.clock.Now()) {
		k.conn.Shut()
	}
	f.done <- struct{}{}
}

// begin sends the request on the link's open connection.
func (f *flight) begin() {
	now := f.owner.clock.Now()
	if f.conn.Reused {
		f.began = now // nothing was waited for
	}
	f.step = bench.StepSend
	f.stamps.Connected = now
	f.conn.Kernel = f.link.conn.Kernel()
	f.conn.Blocked = max(0, now-f.began-f.conn.DNS-f.conn.Connect)
	f.link.parser.Reset(f.noBody)
	sent, err := f.link.conn.Send(f.head, f.body)
	if f.unsent = err; sent {
		f.Wrote()
	}
	f.arm()
}

// Wrote implements loop.Handler.
func (f *flight) Wrote() {
	f.stamps.Wrote = f.owner.clock.Now()
	if f.step == bench.StepSend {
		f.step = bench.StepHeaders
	}
	if timeout := f.owner.opts.HeadersTimeout; timeout > 0 && f.framer == nil {
		f.headBy = f.stamps.Wrote + timeout
		f.link.conn.Arm(f.headBy)
	}
}

// Received implements loop.Handler.
func (f *flight) Received(r loop.Read) {
	// The pairing of wall clock and monotonic clock is good to some 10 ns: reads of
	// one packet must not go back in time.
	f.last = max(f.last, r.At)
	if f.reads++; f.reads == 1 {
		f.stamps.FirstByte = f.last
	}
	f.lag = max(f.lag, r.Lag)
	now := r.At + r.Lag
	if waits := f.gathers && len(r.Bytes) < backlogBytes && middle(r.Bytes); !waits {
		if f.catchUp() {
			f.take(f.last, now, r.Bytes)
		}
		return
	}
	f.heard(now)
	if f.backlogBy == 0 {
		f.backlogBy = now + backlogAge
		f.link.conn.Arm(f.backlogBy)
	}
	if room := f.backlog.add(f.last, r.Bytes); !room {
		f.catchUp()
	}
}

// heard moves the deadline for silence in the body.
func (f *flight) heard(now time.Duration) {
	idle := f.owner.opts.IdleTimeout
	if idle == 0 || f.framer == nil {
		return
	}
	first := f.idleBy == 0
	if f.idleBy = max(f.idleBy, now+idle); first {
		f.link.conn.Arm(f.idleBy)
	}
}

// catchUp looks at the reads that wait for it. It returns false if the flight is
// over, and its session's again.
func (f *flight) catchUp() bool {
	b, reads := f.backlog.bytes, f.backlog.reads
	f.backlog.empty()
	f.backlogBy = 0
	begin := 0
	for _, r := range reads {
		if !f.take(r.at, r.at, b[begin:r.end]) {
			return false
		}
		begin = r.end
	}
	return true
}

// take looks at the bytes of one read. It returns false if the flight is over, and
// its session's again.
func (f *flight) take(at, now time.Duration, b []byte) bool {
	p := &f.link.parser
	body, err := p.Feed(b)
	if f.framer == nil && p.HasHead() {
		f.gotHead(at)
	}
	f.heard(now)
	if len(body) > 0 {
		if f.conn.Received += bench.Bytes(len(body)); f.stamps.FirstBody == 0 {
			f.stamps.FirstBody = at
		}
		f.framer.Feed(at, body)
	}
	switch {
	case f.framer != nil && f.framer.Err() != nil:
		f.settle(bench.EndAborted, nil)
	case p.Done():
		f.settle(bench.EndEOF, nil)
	case err != nil:
		f.settle(bench.EndReset, err)
	case f.framer != nil && f.framer.Drained():
		f.settle(bench.EndEOF, nil)
	case f.drainBy == 0 && f.framer != nil && f.framer.Done():
		f.drainBy = now + drainTime
		f.link.conn.Arm(f.drainBy)
		f.gathers = false
		return true
	default:
		f.gathers = f.drainBy == 0 && f.framer != nil && f.streaming && p.Chunked()
		return true
	}
	return false
}

// gotHead prepares for the body.
func (f *flight) gotHead(at time.Duration) {
	p := &f.link.parser
	f.stamps.Headers, f.step, f.headBy = at, bench.StepBody, 0
	f.header = p.Header()
	f.framer = f.owner.framers.Get().(*frame.Framer)
	f.framer.Reset(frame.Head{
		Status: p.Status(), ContentType: f.header.Get("Content-Type"),
		ContentEncoding: f.header.Get("Content-Encoding"), Streaming: f.streaming,
		Length: f.header.Get("Content-Length"), Limit: f.limit, Memory: f.owner.opts.Memory,
	})
}

// Ended implements loop.Handler.
func (f *flight) Ended(err error) {
	if !f.catchUp() {
		return
	}
	switch {
	case errors.Is(err, loop.ErrClosed):
		f.cause = errClientClosed
		f.settle(bench.EndAborted, nil)
		return
	case errors.Is(err, io.EOF):
		if err = f.link.parser.End(); err == nil {
			f.settle(bench.EndEOF, nil)
			return
		}
	}
	if f.step == bench.StepSend && f.unsent != nil {
		err = f.unsent
	}
	f.settle(bench.EndReset, err)
}

// Expired implements loop.Handler.
func (f *flight) Expired(now time.Duration) {
	passed := func(by time.Duration) bool { return by != 0 && now >= by }
	if passed(f.backlogBy) || passed(f.totalBy) || passed(f.idleBy) {
		if !f.catchUp() {
			return
		}
	}
	switch {
	case passed(f.totalBy):
		f.cause = errTotalTimeout
	case passed(f.connectBy):
		f.link.conn.Shut()
		f.Connected(errConnectTimeout)
		return
	case passed(f.headBy):
		f.cause = errHeadersTimeout
	case passed(f.drainBy):
		f.conn.Held = now - f.last
		f.settle(bench.EndEOF, nil)
		return
	case passed(f.idleBy):
		f.cause = errIdleTimeout
	default:
		f.arm()
		return
	}
	f.settle(bench.EndTimeout, nil)
}

// arm makes the loop look at the earliest deadline.
func (f *flight) arm() {
	earliest := time.Duration(0)
	for _, by := range [...]time.Duration{f.connectBy, f.totalBy, f.headBy, f.idleBy, f.drainBy, f.backlogBy} {
		if by != 0 && (earliest == 0 || by < earliest) {
			earliest = by
		}
	}
	if earliest != 0 {
		f.link.conn.Arm(earliest)
	}
}

// settle ends the flight and wakes its session. The connection is free before
// that, so that the session's next request finds it.
func (f *flight) settle(end bench.End, err error) {
	f.over, f.end, f.err = true, end, err
	k := f.link
	k.conn.Handle(k, nil)
	if f.stamps.Wrote == 0 || k.conn.Closed() || !k.park(f.owner.clock.Now()) {
		k.conn.Shut()
	}
	f.done <- struct{}{}
}

// await sleeps until the flight is over (true) or an address did not answer
// (false). If ctx ends first, the connection is closed and the flight is over.
func (f *flight) await(ctx context.Context) bool {
	select {
	case <-f.done:
		return f.over
	case <-ctx.Done():
	}
	f.link.conn.Lock()
	defer f.link.conn.Unlock()
	if !f.over && f.catchUp() {
		f.over, f.end = true, bench.EndAborted
		f.link.conn.Handle(f.link, nil)
		f.link.conn.Shut()
	}
	select {
	case <-f.done: // it ended, or an address failed, while ctx did
	default:
	}
	return true
}

// stale reports whether the flight failed on a reused connection and got no byte
// back: the server may have dropped the connection before it saw the request.
func (f *flight) stale() bool {
	return f.conn.Reused && f.stamps.FirstByte == 0 && f.cause == nil && isReset(f.err)
}

// conclude makes the response of a flight that is over and fills in x.
func (f *flight) conclude(ctx context.Context, x *Exchange) *bench.Response {
	f.stamps.Start = cmp.Or(x.Stamps.Start, f.began)
	f.conn.Sent, f.conn.Retries = x.Conn.Sent, x.Conn.Retries
	f.conn.Received += x.Conn.Received
	f.conn.Reads = f.reads
	x.Stamps, x.Conn, x.Lag = f.stamps, f.conn, f.lag
	failure, end, endAt := f.failure(ctx), f.end, f.last
	if failure != nil {
		end = endOf(failure)
	}
	if end != bench.EndEOF || endAt == 0 {
		endAt = f.owner.clock.Now()
	}
	if f.framer == nil {
		return &bench.Response{Failure: failure, End: end, EndAt: endAt}
	}
	x.framer, x.framers = f.framer, f.owner.framers
	return conclude(f.framer, f.header, end, endAt, failure)
}

// failure names what ended the flight; nil = nothing did, or the framer knows.
func (f *flight) failure(ctx context.Context) *bench.Failure {
	switch {
	case f.step == bench.StepBuild:
		return &bench.Failure{Class: bench.ClientError, Step: f.step, Message: f.cause.Error()}
	case f.cause != nil:
		return byCause(f.cause, f.step)
	case f.end == bench.EndEOF, f.framer != nil && f.framer.Err() != nil:
		return nil
	}
	return classify(ctx, f.err, f.step)
}
