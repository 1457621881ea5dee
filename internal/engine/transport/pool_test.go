package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
)

const small = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

func TestReuseOnBothWays(t *testing.T) {
	tests := []struct {
		name  string
		reuse Reuse
		serve script
		want  string // reused, for three requests of session a and one of b
		dials int
	}{
		{"pooled", Pooled, answers(false, small), "[false true true true]", 1},
		{"never", Never, answers(false, small), "[false false false false]", 4},
		{"sticky", Sticky, answers(false, small), "[false true true false]", 2},
		{"server says close", Pooled, answers(false, strings.Replace(small, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)), "[false false false false]", 4},
		{"HTTP/1.0", Pooled, answers(true, strings.Replace(small, "1.1", "1.0", 1)), "[false false false false]", 4},
		{"until close", Pooled, answers(true, "HTTP/1.1 200 OK\r\n\r\n{}"), "[false false false false]", 4},
		{"last chunk", Pooled, answers(false, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), "[false true true true]", 1},
	}
	for _, tt := range tests {
		for _, way := range ways() {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				st := perform(t, tt.serve, Options{Reuse: tt.reuse, Dial: way.dial, TLS: way.tls})
				var got []bool
				for _, session := range []string{"a", "a", "a", "b"} {
					r := st.request()
					r.Streaming, r.Session = false, session
					x := st.client.Do(t.Context(), r)
					if x.Response.Failure != nil || string(x.Response.Body) != "{}" {
						t.Fatalf("%v, body %q", x.Response.Failure, x.Response.Body)
					}
					got = append(got, x.Conn.Reused)
					x.Release()
				}
				if fmt.Sprint(got) != tt.want || st.dialed() != tt.dials {
					t.Errorf("reused %v on %d connections, want %s on %d", got, st.dialed(), tt.want, tt.dials)
				}
			})
		}
	}
}

// Bytes after the response belong to nothing: the connection is given up.
func TestLeftoverBytesEndTheConnection(t *testing.T) {
	st := perform(t, answers(false, small+"HTTP/1.1 200 OK\r\n"), Options{})
	for range 2 {
		if x := st.do(t.Context()); x.Response.Failure != nil || x.Conn.Reused {
			t.Fatalf("%v, reused %v; want an answer on a new connection", x.Response.Failure, x.Conn.Reused)
		}
	}
}

func TestEndSessionClosesItsConnection(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			closed := make(chan struct{}, 1)
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				answers(false, small)(0, c, r)
				closed <- struct{}{}
			}, Options{Reuse: Sticky, Dial: way.dial, TLS: way.tls})
			r := st.request()
			r.Session = "s"
			st.client.Do(t.Context(), r)
			st.client.EndSession("other")
			st.client.EndSession("s")
			select {
			case <-closed:
			case <-time.After(10 * time.Second):
				t.Error("the connection of the session is still open")
			}
		})
	}
}

func TestCancelOnBothWays(t *testing.T) {
	for _, way := range ways() {
		for _, started := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/started=%v", way.name, started), func(t *testing.T) {
				arrived, closed := make(chan struct{}), make(chan struct{})
				st := perform(t, func(_ int, c peer, r *bufio.Reader) {
					take(r)
					if started {
						io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n")
					}
					close(arrived)
					lingers(c)
					close(closed)
				}, Options{Dial: way.dial, TLS: way.tls})
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					<-arrived
					cancel(CancelWith(&bench.Failure{Class: bench.Cancelled, Code: "grace_timeout"}))
				}()
				x := st.do(ctx)
				f := x.Response.Failure
				if f == nil || f.Class != bench.Cancelled || f.Code != "grace_timeout" || x.Response.End != bench.EndAborted {
					t.Errorf("%+v, end %v; want cancelled/grace_timeout, aborted", f, x.Response.End)
				}
				select {
				case <-closed:
				case <-time.After(10 * time.Second):
					t.Error("the connection is still open")
				}
				if x = st.do(ctx); x.Response.Failure == nil || x.Response.Failure.Class != bench.Cancelled || st.dialed() != 1 {
					t.Errorf("after the end: %+v on %d connections, want cancelled without one", x.Response.Failure, st.dialed())
				}
			})
		}
	}
}

// A body that does not fit into the socket's buffer is written by the loop.
func TestLargeBody(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			got := make(chan int, 1)
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				_, body := take(r)
				got <- len(body)
				io.WriteString(c, small)
			}, Options{Dial: way.dial, TLS: way.tls})
			r := st.request()
			r.Body = make([]byte, 16<<20)
			x := st.client.Do(t.Context(), r)
			if x.Response.Failure != nil {
				t.Fatal(x.Response.Failure)
			}
			if n := <-got; n != 16<<20 || x.Stamps.Wrote < x.Stamps.Connected || x.Stamps.Wrote > x.Stamps.End {
				t.Errorf("server got %d bytes; connected %v, wrote %v, end %v", n, x.Stamps.Connected, x.Stamps.Wrote, x.Stamps.End)
			}
		})
	}
}

// A server that answers before it has read the whole request and then closes is
// heard, and not called broken.
func TestEarlyAnswer(t *testing.T) {
	st := perform(t, func(_ int, c peer, r *bufio.Reader) {
		r.ReadString('\n')
		io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
		lingers(c)
	}, Options{})
	r := st.request()
	r.Body = make([]byte, 64<<20)
	x := st.client.Do(t.Context(), r)
	if x.Response.Status != 413 || string(x.Response.Body) != "no" {
		t.Errorf("%d %q, %v; want 413 no", x.Response.Status, x.Response.Body, x.Response.Failure)
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	st := perform(t, answers(false, small), Options{})
	r := st.request()
	r.Header = http.Header{"X-A": {"b\r\nX-Evil: 1"}}
	f := st.client.Do(t.Context(), r).Response.Failure
	if f == nil || f.Class != bench.ClientError || f.Step != bench.StepBuild || st.dialed() != 0 {
		t.Errorf("%+v on %d connections, want client_error at build on none", f, st.dialed())
	}
}

// Close ends what is under way, and afterwards no socket is left.
func TestCloseEndsExchanges(t *testing.T) {
	before := sockets(t)
	arrived := make(chan struct{})
	st := perform(t, func(n int, c peer, r *bufio.Reader) {
		take(r)
		if n == 0 {
			io.WriteString(c, small)
			take(r)
		}
		arrived <- struct{}{}
		lingers(c)
	}, Options{})
	st.do(t.Context())
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			x := st.do(context.Background())
			if f := x.Response.Failure; f == nil || f.Class != bench.Cancelled {
				t.Errorf("failure %+v, want cancelled", f)
			}
		})
	}
	for range 3 {
		<-arrived
	}
	st.client.Close()
	group.Wait()
	x := st.do(t.Context())
	if f := x.Response.Failure; f == nil || f.Class != bench.Cancelled || f.Step != bench.StepConnect || st.dialed() != 3 {
		t.Errorf("after Close: %+v on %d connections, want cancelled at connect on 3", f, st.dialed())
	}
	deadline := time.Now().Add(10 * time.Second)
	for sockets(t) > before+1 { // the listener; the server's ends close a moment later
		if time.Now().After(deadline) {
			t.Fatalf("%d sockets are open, %d were", sockets(t), before)
		}
	}
}

// sockets counts open sockets and event descriptors of this process.
func sockets(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	n := 0
	for _, e := range entries {
		name, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if strings.HasPrefix(name, "socket:") || strings.HasPrefix(name, "anon_inode:[event") {
			n++
		}
	}
	return n
}

func TestRedirectsOnBothWays(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			var first atomic.Int64 // when the first address had the request
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				for {
					req, body := take(r)
					switch {
					case req == nil:
						return
					case req.URL.Path == "/v1":
						first.Store(time.Now().UnixNano())
						io.WriteString(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /moved\r\nContent-Length: 0\r\n\r\n")
					default:
						text := req.Method + body
						fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
					}
				}
			}, Options{Dial: way.dial, TLS: way.tls})
			x := st.do(t.Context())
			if got := string(x.Response.Body); got != `POST{"a":1}` || st.dialed() != 1 {
				t.Errorf("body %q on %d connections", got, st.dialed())
			}
			if start, had := st.client.opts.Clock.Wall(x.Stamps.Start), time.Unix(0, first.Load()); start.After(had) {
				t.Errorf("starts at %v, the first address had the request at %v", start, had)
			}
		})
	}
}

func TestWhichWay(t *testing.T) {
	for text, want := range map[string]bool{
		"http://127.0.0.1:8000/v1": true, "http://[::1]:8000": true, "http://localhost": true,
		"https://localhost": true, "http://bücher.example": false, "http://[fe80::1%25eth0]:80": false, "http://": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := loopReaches(u); got != want {
			t.Errorf("loopReaches(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestStampsSayTheirSource(t *testing.T) {
	st := perform(t, answers(false, small), Options{})
	x := st.do(t.Context())
	counts := st.client.Lag()
	if got := counts.Kernel + counts.Read; got != uint64(x.Conn.Reads) {
		t.Errorf("%d reads counted, the exchange had %d", got, x.Conn.Reads)
	}
	if counts.Kernel > 0 && x.Lag <= 0 || counts.Kernel == 0 && x.Lag != 0 {
		t.Errorf("lag %v with %d reads stamped by the kernel", x.Lag, counts.Kernel)
	}
}

// BenchmarkExchange compares the ways where nothing waits.
func BenchmarkExchange(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	u := &url.URL{Scheme: "http", Host: ln.Addr().String(), Path: "/"}
	for _, way := range ways() {
		b.Run(way.name, func(b *testing.B) {
			c := New(Options{Clock: bench.NewClock(), Dial: way.dial, TLS: way.tls, MaxIdle: 64})
			defer c.Close()
			r := &Request{URL: u, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte("{}")}
			b.ReportAllocs()
			for b.Loop() {
				x := c.Do(b.Context(), r)
				if x.Response.Failure != nil {
					b.Fatal(x.Response.Failure)
				}
				x.Release()
			}
		})
	}
}
