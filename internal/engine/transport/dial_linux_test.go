//go:build amd64 || arm64

package transport

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/loop"
)

// TestTimeoutBeforeHandshake: the total timeout of a connection that is open ends its
// handshake, also while the session has not begun it. The loop must not wait for the session.
func TestTimeoutBeforeHandshake(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c := New(Options{Clock: bench.NewClock(), TotalTimeout: time.Hour})
	defer c.Close()
	l := c.loops()
	target := &url.URL{Scheme: "https", Host: ln.Addr().String(), Path: "/"}
	e := l.exchanges.Get().(*loopExchange)
	if err := e.prepare(&attempt{Request: &Request{Header: http.Header{}}, target: target, header: http.Header{}}); err != nil {
		t.Fatal(err)
	}
	pc := &pooledConn{owner: l, host: target.Host}
	pc.conn = l.loops[0].NewConn(pc)
	pc.secure = loop.NewSecure(pc.conn, l.tls.of("127.0.0.1"), pc)
	pc.handle(e, unsafe.Pointer(e))
	e.pc = pc
	if err := e.connect(netip.MustParseAddrPort(target.Host)); err != nil {
		t.Fatal(err)
	}
	for len(e.done) == 0 { // the loop calls Connected
		runtime.Gosched()
	}
	expired := make(chan struct{})
	go func() {
		pc.conn.Lock()
		defer pc.conn.Unlock()
		e.Expired(e.deadlines.total)
		close(expired)
	}()
	select {
	case <-expired:
	case <-time.After(10 * time.Second):
		t.Error("the loop waits for the session")
	}
	if e.await(t.Context()) {
		t.Error("the exchange is over before its handshake")
	}
	if err := e.handshake(t.Context()); !errors.Is(err, errTotalTimeout) || !errors.Is(e.result.cause, errTotalTimeout) {
		t.Errorf("handshake = %v because of %v, want the timeout", err, e.result.cause)
	}
	if len(e.done) != 0 {
		t.Error("the next exchange would be woken")
	}
}
