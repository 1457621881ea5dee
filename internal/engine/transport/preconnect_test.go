package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/transport/testcert"
)

// together sends n requests at the same time and returns their exchanges.
func together(t *testing.T, c *Client, r *Request, n int) []Exchange {
	t.Helper()
	out := make([]Exchange, n)
	var group sync.WaitGroup
	for i := range out {
		group.Go(func() { out[i] = c.Do(t.Context(), r) })
	}
	group.Wait()
	for i := range out {
		if f := out[i].Response.Failure; f != nil {
			t.Errorf("request %d: %v", i, f)
		}
	}
	return out
}

// countReused returns how many exchanges had an open connection.
func countReused(exchanges []Exchange) (n int) {
	for i := range exchanges {
		if c := &exchanges[i].Conn; c.Reused && c.DNS+c.Connect+c.TLS == 0 {
			n++
		}
	}
	return n
}

// Connections that were opened ahead are used by the first requests; a second call
// opens only what is missing.
func TestPreconnect(t *testing.T) {
	const n = 40 // more than one burst
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			var here sync.WaitGroup // requests wait for each other, so that each needs a connection
			here.Add(n)
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				for {
					if req, _ := take(r); req == nil {
						return
					}
					here.Done()
					here.Wait()
					io.WriteString(c, small)
				}
			}, Options{Dial: way.dial, TLS: way.tls, MaxIdle: n + 5})
			urls := slices.Repeat([]*url.URL{st.url}, n)
			if opened := st.client.Preconnect(t.Context(), urls); len(opened) != n || opened[0].Connect <= 0 {
				t.Fatalf("opened %d connections, want %d with a cost", len(opened), n)
			}
			if got := countReused(together(t, st.client, st.request(), n)); got != n || st.dialed() != n {
				t.Errorf("%d of %d requests had an open connection, of %d in all", got, n, st.dialed())
			}
			// net/http keeps no connection whose request took 50 ms longer to write than its
			// response to arrive (maxWriteWaitBeforeConnReuse), as on a busy machine.
			lost := 0
			if way.dial != nil {
				lost = n
			}
			if opened := st.client.Preconnect(t.Context(), append(urls, urls[:5]...)); len(opened) < 5 || len(opened) > 5+lost {
				t.Errorf("the second call opened %d connections, want 5", len(opened))
			}
		})
	}
}

// Where connections are not shared by requests, nothing is opened ahead.
func TestPreconnectOnlyPools(t *testing.T) {
	for _, reuse := range []Reuse{Never, Sticky} {
		for _, way := range ways() {
			st := perform(t, answers(false, small), Options{Dial: way.dial, TLS: way.tls, Reuse: reuse})
			if opened := st.client.Preconnect(t.Context(), []*url.URL{st.url}); len(opened) != 0 || st.dialed() != 0 {
				t.Errorf("%s, reuse %d: opened %d connections, want none", way.name, reuse, len(opened))
			}
		}
	}
}

// A connection that the server closed before its first request is no failure.
func TestPreconnectedConnectionIsClosed(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			closed := make(chan struct{}, 9)
			st := perform(t, func(n int, c peer, r *bufio.Reader) {
				if n < 3 {
					if p, ok := c.(securePeer); ok {
						p.Handshake() // a handshake that fails would end the opening
					}
					c.Close()
					closed <- struct{}{}
					return
				}
				answers(false, small)(n, c, r)
			}, Options{Dial: way.dial, TLS: way.tls, MaxIdle: 3})
			st.client.Preconnect(t.Context(), slices.Repeat([]*url.URL{st.url}, 3))
			for range 3 {
				<-closed
			}
			together(t, st.client, st.request(), 3)
		})
	}
}

// Several servers get the connections that their requests need, and one that does not
// answer keeps nobody else from theirs.
func TestPreconnectSeveralServers(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			b := perform(t, answers(false, small), Options{Dial: way.dial, TLS: way.tls, SkipTLSVerify: true})
			a := perform(t, answers(false, small), Options{Dial: way.dial, TLS: way.tls, SkipTLSVerify: true, MaxIdle: 9}) // its client goes first
			gone, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			nobody := &url.URL{Scheme: "http", Host: gone.Addr().String()}
			gone.Close()
			opened := a.client.Preconnect(t.Context(), []*url.URL{a.url, nobody, b.url, a.url, nobody, a.url})
			a.client.Do(t.Context(), &Request{URL: b.url, Header: http.Header{}}) // accepting is known to be over
			a.client.Do(t.Context(), a.request())
			if len(opened) != 4 || a.dialed() != 3 || b.dialed() != 1 {
				t.Errorf("opened %d connections: %d and %d; want 4: 3 and 1", len(opened), a.dialed(), b.dialed())
			}
		})
	}
}

// A burst is followed by a pause, and the end of ctx ends everything.
func TestPreconnectPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := memnet.Listen()
		defer ln.Close()
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
			}
		}()
		began := time.Now()
		var latest, hung atomic.Int64
		c := New(Options{Clock: bench.NewClock(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			latest.Store(int64(time.Since(began)))
			if addr == "hangs:80" {
				hung.Add(1)
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			return ln.DialContext(ctx, network, addr)
		}})
		defer c.Close()
		urls := slices.Repeat([]*url.URL{{Scheme: "http", Host: "mem"}}, 10*openBurst)
		if n := len(c.Preconnect(t.Context(), urls)); n != len(urls) || time.Duration(latest.Load()) != 9*openEvery {
			t.Errorf("opened %d connections, the last after %v; want %d after %v", n, time.Duration(latest.Load()), len(urls), 9*openEvery)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began = time.Now()
		c.Preconnect(ctx, slices.Repeat([]*url.URL{{Scheme: "http", Host: "hangs"}}, 500))
		if took := time.Since(began); took != 3*time.Second || hung.Load() != openers {
			t.Errorf("took %v with %d connections on their way, want 3s with %d", took, hung.Load(), openers)
		}
	})
}

// TLS handshakes are done ahead, and with HTTP/2 as many connections are opened as the
// requests need.
func TestPreconnectTLS(t *testing.T) {
	const n = 6
	made := testcert.New(t, "127.0.0.1")
	var here atomic.Pointer[sync.WaitGroup] // requests of one case wait for each other
	start := func(two bool) *url.URL {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			all := here.Load()
			all.Done()
			all.Wait()
			fmt.Fprint(w, "{}")
		}))
		s.EnableHTTP2 = two
		s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 4}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{made.Pair}}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	old, modern := start(false), start(true)
	for _, tt := range []struct {
		name    string
		version Version
		server  *url.URL
		opened  int
	}{
		{"1.1", HTTP1, old, n}, {"2", HTTP2, modern, 2}, {"auto", HTTPAuto, modern, 2}, {"auto with an old server", HTTPAuto, old, n},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Options{Clock: bench.NewClock(), Version: tt.version, TLS: &tls.Config{RootCAs: made.Pool}, MaxIdle: n})
			defer c.Close()
			opened := c.Preconnect(t.Context(), slices.Repeat([]*url.URL{tt.server}, n))
			if len(opened) != tt.opened || opened[0].TLS <= 0 || opened[0].Connect <= 0 {
				t.Errorf("opened %d connections (%+v), want %d with the cost of TCP and TLS", len(opened), opened, tt.opened)
			}
			all := new(sync.WaitGroup)
			all.Add(n)
			here.Store(all)
			r := &Request{URL: tt.server, Header: http.Header{}, Body: []byte("{}")}
			if got := countReused(together(t, c, r, n)); got != n {
				t.Errorf("%d of %d requests had an open connection", got, n)
			}
			if again := c.Preconnect(t.Context(), slices.Repeat([]*url.URL{tt.server}, n)); len(again) != 0 {
				t.Errorf("the second call opened %d connections, want none", len(again))
			}
		})
	}
}
