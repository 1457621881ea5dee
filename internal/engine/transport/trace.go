package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
	"aiperfd/internal/engine/transport/frame"
)

// trace collects the timestamps of one attempt. net/http calls its hooks from several
// goroutines, in no defined order and possibly after RoundTrip has returned; after
// finish they have no effect.
type trace struct {
	clock     bench.Clock
	wrote     func() (headers, done func()) // see [timeouts.requestWritten]
	addresses bool                          // are noted
	// spare reports whether a connection was opened ahead and is used for the first time;
	// nil = none are.
	spare func(*sockstamp.Conn) bool
	ended func(*sockstamp.Conn, time.Duration) bench.PathCount // notes the end of a response

	mu            sync.Mutex
	ex            *Exchange // guarded by mu; nil after finish
	conn          *sockstamp.Conn
	below         *shared // the connection, if several requests share it; nil = they do not
	stream        *stream // the attempt's stream; nil until it is opened
	reads, writes int32   // of conn before this request
	began         time.Duration
	dns, dialed   time.Duration
	shook         time.Duration
	reused        bool
	got           bool
	sent          bool
	headersSeen   func() // nil = the request is not written
	done          func() // nil = the request is not written
}

func (t *trace) attach(ctx context.Context) context.Context {
	t.began = t.clock.Now()
	t.ex.Stamps = bench.Stamps{Start: cmp.Or(t.ex.Stamps.Start, t.began)}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:           t.gotConn,
		DNSStart:          func(httptrace.DNSStartInfo) { t.note(func() { t.dns = t.clock.Now() }) },
		DNSDone:           func(httptrace.DNSDoneInfo) { t.note(func() { t.ex.Conn.DNS = t.clock.Now() - t.dns }) },
		ConnectStart:      func(string, string) { t.note(func() { t.dialed = t.clock.Now() }) },
		ConnectDone:       func(string, string, error) { t.note(func() { t.ex.Conn.Connect = t.clock.Now() - t.dialed }) },
		TLSHandshakeStart: func() { t.note(func() { t.shook = t.clock.Now() }) },
		TLSHandshakeDone: func(tls.ConnectionState, error) {
			// net/http reports the completed handshake again, with no duration.
			t.note(func() { t.ex.Conn.TLS += t.clock.Now() - t.shook })
		},
		WroteRequest:         t.wroteRequest,
		GotFirstResponseByte: func() { t.note(func() { t.ex.Stamps.FirstByte = t.readStamp() }) },
	})
}

// note runs f under the lock unless the attempt is over.
func (t *trace) note(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ex != nil {
		f()
	}
}

func (t *trace) gotConn(info httptrace.GotConnInfo) {
	t.note(func() {
		t.conn = stamped(info.Conn)
		if t.conn != nil {
			t.reads, t.writes = t.conn.Reads(), t.conn.Writes()
			t.conn.TakeLag()
		}
		if t.got { // net/http has abandoned a stale connection, as it does for requests without a body
			t.ex.Conn.Retries++
		}
		t.got, t.reused = true, info.Reused || t.conn != nil && t.spare != nil && t.spare(t.conn)
		now := t.clock.Now()
		t.ex.Conn.Reused = t.reused
		t.ex.Conn.Kernel = t.conn != nil && t.conn.Kernel()
		t.ex.Stamps.Connected = now
		t.noteAddresses(info.Conn)
		c := &t.ex.Conn
		if t.reused {
			c.DNS, c.Connect, c.TLS = 0, 0, 0
		}
		c.Blocked = max(0, now-t.began-c.DNS-c.Connect-c.TLS)
	})
}

// noteAddresses notes the addresses of a connection if they are wanted. Call with mu
// held.
func (t *trace) noteAddresses(c net.Conn) {
	if !t.addresses || c == nil {
		return
	}
	port := func(a net.Addr) netip.AddrPort {
		tcp, _ := a.(*net.TCPAddr) // AddrPort of nil is the zero value
		at := tcp.AddrPort()
		return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	t.ex.Conn.Trace = &bench.Trace{Local: port(c.LocalAddr()), Remote: port(c.RemoteAddr())}
}

// gotShared is gotConn for a connection that is shared with other requests.
func (t *trace) gotShared(below *shared, reused bool) {
	t.gotConn(httptrace.GotConnInfo{Reused: reused}) // the connection's last read may belong to another request
	t.note(func() {
		t.below = below
		t.ex.Conn.Kernel = below.stamps != nil && below.stamps.Kernel()
		t.noteAddresses(below.Conn)
	})
}

// share ties the attempt to its stream; nil = none was opened.
func (t *trace) share(below *shared, st *stream) {
	t.note(func() {
		t.stream = st
		if st == nil {
			return
		}
		if times := below.times(st); !times.first.IsZero() {
			t.ex.Stamps.FirstByte = t.clock.Offset(times.first)
		}
	})
}

func (t *trace) wroteRequest(info httptrace.WroteRequestInfo) {
	t.note(func() {
		t.ex.Stamps.Wrote = t.clock.Now()
		switch t.sent = info.Err == nil; {
		case !t.sent:
		case t.conn != nil && t.conn.Writes() == t.writes: // net/http calls this before it flushes a small request
			t.conn.AfterWrite(func() { t.note(t.startTimeouts) })
		default:
			t.startTimeouts()
		}
	})
}

// startTimeouts starts the timeouts that follow the written request. Call with mu held.
func (t *trace) startTimeouts() {
	if t.headersSeen, t.done = t.wrote(); t.ex.Stamps.Headers != 0 {
		t.headersSeen()
	}
}

// countWrites counts the writes of the request. Call with mu held.
func (t *trace) countWrites() {
	if t.conn != nil && t.ex.Conn.Writes == 0 {
		t.ex.Conn.Writes = t.conn.Writes() - t.writes
	}
}

// headers is called when the response head was parsed: its stamp is that of the
// read that completed it.
func (t *trace) headers() {
	t.note(func() {
		t.ex.Stamps.Headers = t.readStamp()
		t.countWrites()
		if t.stream != nil {
			if head := t.below.times(t.stream).head; !head.IsZero() {
				t.ex.Stamps.Headers = t.clock.Offset(head)
			}
		}
		if t.headersSeen != nil {
			t.headersSeen()
		}
	})
}

// complete is called when the response is complete, though its body may not have ended:
// the request is not cancelled any more.
func (t *trace) complete() {
	t.note(func() {
		if t.done != nil {
			t.done()
		}
	})
}

// own makes the exchange the owner of the memory of the response.
func (t *trace) own(f *frame.Framer, pool *sync.Pool) { t.ex.framer, t.ex.framers = f, pool }

// received counts bytes of the body.
func (t *trace) received(n int) { t.ex.Conn.Received += bench.Bytes(n) }

// readStamp returns the timestamp of the last read for this attempt, or now if there is
// none. Call with mu held.
func (t *trace) readStamp() time.Duration {
	if t.stream != nil {
		if at := t.below.times(t.stream).last; !at.IsZero() {
			return t.clock.Offset(at)
		}
	}
	if t.conn != nil {
		if at := t.conn.Last(); !at.IsZero() {
			return t.clock.Offset(at)
		}
	}
	return t.clock.Now()
}

// lastRead is readStamp for the goroutine that reads the body.
func (t *trace) lastRead() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.readStamp()
}

// held is called when the server has not ended a complete response in time.
func (t *trace) held() {
	t.note(func() { t.ex.Conn.Held = max(0, t.clock.Now()-t.readStamp()) })
}

// feed passes bytes of the body to a framer, each with the timestamp of its read.
func (t *trace) feed(f *frame.Framer, b []byte) {
	t.mu.Lock()
	below, st := t.below, t.stream
	t.mu.Unlock()
	feed := func(at time.Duration, b []byte) {
		if s := &t.ex.Stamps; s.FirstBody == 0 {
			s.FirstBody = at
		}
		f.Feed(at, b)
	}
	if st == nil {
		feed(t.lastRead(), b)
		return
	}
	below.take(st, b, func(at time.Time, b []byte) { feed(t.clock.Offset(at), b) })
}

// cutOff reports whether a body that has ended had no end but that of its connection, which
// came without the close_notify of TLS: after that nothing is read.
func (t *trace) cutOff(hr *http.Response) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	delimited := hr.ProtoMajor > 1 || hr.ContentLength >= 0 || len(hr.TransferEncoding) > 0
	return hr.TLS != nil && !delimited && t.conn != nil && t.conn.Ended()
}

// step returns the step that the attempt has reached.
func (t *trace) step() bench.Step {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.got:
		return bench.StepConnect
	case !t.sent:
		return bench.StepSend
	}
	return bench.StepHeaders
}

// stale reports whether the attempt used a reused connection and received no byte:
// the server may have dropped the connection before it saw the request.
func (t *trace) stale() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.got && t.reused && t.ex != nil && t.ex.Stamps.FirstByte == 0
}

// finish ends the attempt: later hooks have no effect.
func (t *trace) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil && t.ex != nil {
		t.countWrites()
		t.ex.Conn.Reads = t.conn.Reads() - t.reads
		t.ex.Lag = t.conn.TakeLag()
		if t.sent {
			t.ex.Conn.Path = t.ended(t.conn, t.clock.Now())
		}
	}
	if t.stream != nil && t.ex != nil {
		times := t.below.times(t.stream)
		t.ex.Conn.Reads, t.ex.Lag = times.reads, times.lag
	}
	if t.done != nil {
		t.headersSeen()
		t.done()
	}
	t.ex = nil
}

// timeSetup returns a context for opening one connection, and a function that returns
// the durations of its steps when it is open.
func timeSetup(ctx context.Context, clock bench.Clock) (context.Context, func() bench.Setup) {
	var dnsFrom, dns, tlsFrom, shook atomic.Int64
	began := clock.Now()
	start := func(at *atomic.Int64) { at.Store(int64(clock.Now())) }
	stop := func(sum, from *atomic.Int64) { sum.Add(int64(clock.Now()) - from.Load()) }
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { start(&dnsFrom) },
		DNSDone:           func(httptrace.DNSDoneInfo) { stop(&dns, &dnsFrom) },
		TLSHandshakeStart: func() { start(&tlsFrom) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { stop(&shook, &tlsFrom) },
	})
	return traced, func() bench.Setup {
		cost := bench.Setup{DNS: time.Duration(dns.Load()), TLS: time.Duration(shook.Load())}
		cost.Connect = clock.Now() - began - cost.DNS - cost.TLS
		return cost
	}
}
