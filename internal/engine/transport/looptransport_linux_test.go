//go:build amd64 || arm64

package transport

import (
	"bufio"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/frame"
)

// parked returns the only idle connection of a stage, and makes it look as if it
// had been idle for longer.
func parked(t *testing.T, st *stage, older time.Duration) *pooledConn {
	t.Helper()
	p := &st.client.loops().pool
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[st.url.Host]
	if len(list) != 1 {
		t.Fatalf("%d idle connections, want 1", len(list))
	}
	list[0].since -= older
	return list[0]
}

// The times of a request that was sent again are those of the second attempt.
func TestRetryStartsAnew(t *testing.T) {
	var gone atomic.Int64 // when the first connection was given up by the server
	st := perform(t, func(_ int, c peer, r *bufio.Reader) {
		take(r)
		io.WriteString(c, small)
		take(r)
		gone.CompareAndSwap(0, time.Now().UnixNano())
	}, Options{})
	st.do(t.Context())
	x := st.do(t.Context())
	if start, before := st.client.opts.Clock.Wall(x.Stamps.Start), time.Unix(0, gone.Load()); start.Before(before) || x.Conn.Retries != 1 {
		t.Errorf("starts at %v after %d retries, the first connection was given up at %v", start, x.Conn.Retries, before)
	}
}

// The first byte of the body has a stamp of its own.
func TestFirstBodyStampOnTheLoop(t *testing.T) {
	ready := make(chan *stage, 1)
	st := perform(t, func(_ int, c peer, r *bufio.Reader) {
		st := <-ready
		take(r)
		writeAndAwait(st, c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
		io.WriteString(c, "{}")
		lingers(c)
	}, Options{})
	ready <- st
	if s := st.do(t.Context()).Stamps; s.FirstBody <= s.FirstByte || s.FirstBody != s.End {
		t.Errorf("head at %v, body at %v, end at %v; want the body after the head, and its end", s.FirstByte, s.FirstBody, s.End)
	}
}

// Reads in the middle of a stream wait to be looked at, whatever ends the stream:
// none is lost, and each has the stamp of its arrival.
func TestBacklog(t *testing.T) {
	const events = 40 // more than one backlog
	chunk := "400\r\ndata: " + strings.Repeat("x", 0x400-8) + "\n\n\r\n"
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, tt := range map[string]struct {
		last  string // bytes at the end
		then  func(peer)
		total time.Duration
		end   bench.End
		more  int // events after last
	}{
		"terminated":           {last: "0\r\n\r\n", then: lingers, end: bench.EndEOF},
		"terminated in pieces": {last: "0\r\n", then: func(c peer) { io.WriteString(c, "\r\n"); lingers(c) }, end: bench.EndEOF},
		"marked as done":       {last: "e\r\ndata: [DONE]\n\n\r\n", then: lingers, end: bench.EndEOF},
		"more than it said":    {last: "e\r\ndata: [DONE]\n\n\r\n", then: lingers, end: bench.EndEOF, more: 3},
		"closed":               {then: func(peer) {}, end: bench.EndReset},
		"silent":               {then: lingers, total: 2 * time.Second, end: bench.EndTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			ready := make(chan *stage, 1)
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				st := <-ready
				take(r)
				io.WriteString(c, head)
				for range events {
					writeAndAwait(st, c, chunk)
				}
				io.WriteString(c, tt.last)
				for range tt.more {
					writeAndAwait(st, c, "9\r\ndata: x\n\n\r\n")
				}
				tt.then(c)
			}, Options{TotalTimeout: tt.total})
			ready <- st
			x := st.do(t.Context())
			got, last := 0, x.Stamps.FirstByte
			for e := range x.Response.Events.All() {
				if e.At < last {
					t.Errorf("event %d at %v, before the one before it at %v", got, e.At, last)
				}
				if got, last = got+1, e.At; len(e.Data) != 0x400-8 {
					t.Errorf("event %d has %d bytes, want %d", got, len(e.Data), 0x400-8)
				}
			}
			if got != events || x.Response.End != tt.end || last > x.Stamps.End {
				t.Errorf("%d events, end %v; want %d, %v", got, x.Response.End, events, tt.end)
			}
			if after := x.Response.Warnings[frame.WarnDataAfterDone]; after != tt.more {
				t.Errorf("%d events after the end, want %d", after, tt.more)
			}
		})
	}
}

// writeAndAwait writes something and waits until the client has read it, or has gone.
func writeAndAwait(st *stage, c net.Conn, text string) {
	reads := func() uint64 { n := st.client.Lag(); return n.Kernel + n.Read }
	before := reads()
	if _, err := io.WriteString(c, text); err != nil {
		return
	}
	for deadline := time.Now().Add(10 * time.Second); reads() == before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
}

// A connection that the server closes while it is idle is noticed at once, and the
// next request goes to a new one.
func TestClosedIdleConnectionIsForgotten(t *testing.T) {
	leave := make(chan struct{})
	st := perform(t, func(n int, c peer, r *bufio.Reader) {
		take(r)
		io.WriteString(c, small)
		if n == 0 {
			<-leave
			return
		}
		lingers(c)
	}, Options{})
	st.do(t.Context())
	k := parked(t, st, 0)
	close(leave)
	awaitClosed(t, k)
	x := st.do(t.Context())
	if x.Response.Failure != nil || x.Conn.Reused || x.Conn.Retries != 0 {
		t.Errorf("%v, reused %v, retries %d; want an answer on a new connection", x.Response.Failure, x.Conn.Reused, x.Conn.Retries)
	}
}

func TestIdleConnectionsAreReaped(t *testing.T) {
	st := perform(t, answers(false, small), Options{})
	st.do(t.Context())
	k := parked(t, st, idleConnTimeout)
	k.conn.Lock()
	k.conn.Arm(1) // long ago: the loop looks at it now
	k.conn.Unlock()
	awaitClosed(t, k)
	p := &st.client.loops().pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle[st.url.Host]); n != 0 {
		t.Errorf("%d idle connections, want none", n)
	}
}

func awaitClosed(t *testing.T, k *pooledConn) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		k.conn.Lock()
		closed := k.conn.Closed()
		k.conn.Unlock()
		if closed {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the connection is still open")
		}
	}
}

func TestPool(t *testing.T) {
	p := pool{limit: 2, idle: map[string][]*pooledConn{}}
	a, b, c := &pooledConn{key: "s", host: "x"}, &pooledConn{key: "s", host: "y"}, &pooledConn{key: "s", host: "x"}
	if !p.put(a) || !p.put(b) || p.put(c) {
		t.Fatal("the limit of 2 was not kept")
	}
	if got := p.take("s", &url.URL{Host: "x"}); got != a {
		t.Errorf("took %p, want the one to x", got)
	}
	if got := p.take("s", &url.URL{Host: "x"}); got != nil {
		t.Errorf("took %p, want none", got)
	}
	p.remove(a) // is not here any more
	if !p.put(c) || p.take("s", &url.URL{Host: "y"}) != b || p.take("other", &url.URL{Host: "x"}) != nil {
		t.Error("b is not where it was put")
	}
	if got := p.drop("s"); len(got) != 1 || got[0] != c || p.take("s", &url.URL{Host: "x"}) != nil {
		t.Errorf("dropped %v, want c alone", got)
	}
	p.shut()
	if p.put(a) {
		t.Error("a pool that was shut took a connection")
	}
}
