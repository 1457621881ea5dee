package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
)

// A request on a reused connection that fails before the first byte of an answer is
// sent once more, on a new connection, however short the connection was idle.
func TestRetryOnANewConnection(t *testing.T) {
	tests := []struct {
		name    string
		second  string // what the server says to the second request of a connection before it closes it
		broken  int    // connections from this one on are closed at the first request; 0 = none
		want    string // failure, retries, reused
		connect int    // connections in the end; two before
	}{
		{"dropped", "", 0, "ok, retries 1, reused false", 3},
		{"dropped in the answer", "HTTP/1.1 20", 0, "connection_reset, retries 0, reused true", 2},
		{"the new one fails as well", "", 2, "connection_reset, retries 1, reused false", 3},
	}
	for _, tt := range tests {
		for _, way := range ways() {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				both := make(chan struct{}) // both connections have a request
				var here sync.WaitGroup
				here.Add(2)
				go func() { here.Wait(); close(both) }()
				st := perform(t, func(n int, c peer, r *bufio.Reader) {
					take(r)
					if n < 2 {
						here.Done()
						<-both
					} else if tt.broken > 0 {
						return
					}
					io.WriteString(c, small)
					if req, _ := take(r); req != nil {
						io.WriteString(c, tt.second)
					}
				}, Options{Dial: way.dial, TLS: way.tls, MaxIdle: 2})
				var first sync.WaitGroup
				for range 2 {
					first.Go(func() { st.do(t.Context()) })
				}
				first.Wait()
				x := st.do(t.Context())
				got := "ok"
				if f := x.Response.Failure; f != nil {
					got = string(f.Class)
				}
				got += fmt.Sprintf(", retries %d, reused %v", x.Conn.Retries, x.Conn.Reused)
				if wasted := x.Conn.Wasted; (wasted > 0) != (x.Conn.Retries > 0) || wasted > x.Stamps.Start {
					t.Errorf("wasted %v of %v", wasted, x.Stamps.Start)
				}
				if got != tt.want || st.dialed() != tt.connect {
					t.Errorf("%s on %d connections, want %s on %d", got, st.dialed(), tt.want, tt.connect)
				}
			})
		}
	}
}

// A new connection that fails is the server's failure.
func TestNoRetryOfANewConnection(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			st := perform(t, func(_ int, _ peer, r *bufio.Reader) { take(r) }, Options{Dial: way.dial, TLS: way.tls})
			x := st.do(t.Context())
			if f := x.Response.Failure; f == nil || f.Class != bench.ConnectionReset || x.Conn.Retries != 0 || st.dialed() != 1 {
				t.Errorf("%+v, retries %d on %d connections; want connection_reset, 0 on 1", f, x.Conn.Retries, st.dialed())
			}
		})
	}
}

// The end of an answer is its last byte, and the wait for more is told apart.
func TestHeldAnswer(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			free := make(chan struct{})
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				take(r)
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\ndata: [DONE]\n\n")
				<-free
			}, Options{Dial: way.dial, TLS: way.tls, Streaming: true})
			r := st.request()
			r.Streaming = true
			x := st.client.Do(t.Context(), r)
			close(free)
			over := st.client.opts.Clock.Now()
			if x.Response.Failure != nil || x.Conn.Held < drainTime/2 || x.Stamps.End+x.Conn.Held > over {
				t.Errorf("%v, ended at %v, held for %v, over before %v; want about %v", x.Response.Failure, x.Stamps.End, x.Conn.Held, over, drainTime)
			}
		})
	}
}

// The private connection of a session is replaced by another that its next turn uses.
func TestRetryOfASession(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			st := perform(t, func(n int, c peer, r *bufio.Reader) {
				take(r)
				io.WriteString(c, small)
				if req, _ := take(r); n > 0 && req != nil {
					io.WriteString(c, small)
				}
			}, Options{Dial: way.dial, TLS: way.tls, Reuse: Sticky})
			r := st.request()
			r.Session = "s"
			for i, want := range []string{"retries 0, reused false", "retries 1, reused false", "retries 0, reused true"} {
				x := st.client.Do(t.Context(), r)
				got := fmt.Sprintf("retries %d, reused %v", x.Conn.Retries, x.Conn.Reused)
				if got != want || x.Response.Failure != nil {
					t.Errorf("turn %d: %s, %v; want %s", i, got, x.Response.Failure, want)
				}
				x.Release()
			}
		})
	}
}

// Over HTTP/2 a connection that breaks is replaced; a stream that alone is refused on a
// connection that holds is the server's answer.
func TestRetryOverHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last net.Conn // that the client opened
		calls := 0
		dial, stop := h2cServer(t, 0, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			switch calls++; {
			case r.URL.Path == "/refused":
				panic(http.ErrAbortHandler)
			case calls == 2:
				last.(*memnet.Conn).Reset()
			}
			fmt.Fprint(w, "{}")
		})
		c := New(Options{Clock: bench.NewClock(), Version: H2C, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			last = conn
			return conn, err
		}})
		do := func(path string) Exchange {
			return c.Do(t.Context(), &Request{URL: &url.URL{Scheme: "http", Host: "mem", Path: path}, Header: http.Header{}, Body: []byte("{}")})
		}
		do("/")
		if x := do("/"); x.Response.Failure != nil || x.Conn.Retries != 1 || x.Conn.Reused || c.Shared().Connections != 2 {
			t.Errorf("%v, retries %d, reused %v on %d connections; want none, 1, false on 2", x.Response.Failure, x.Conn.Retries, x.Conn.Reused, c.Shared().Connections)
		}
		if x := do("/refused"); x.Response.Failure == nil || x.Conn.Retries != 0 || c.Shared().Connections != 2 {
			t.Errorf("refused: %v, retries %d on %d connections; want a failure, 0 on 2", x.Response.Failure, x.Conn.Retries, c.Shared().Connections)
		}
		c.Close()
		stop()
	})
}
