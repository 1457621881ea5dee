package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
)

// serve runs a handler on an in-memory network and returns a client for it. It
// must be called inside a synctest bubble.
func serve(t *testing.T, h http.HandlerFunc, o Options) *Client {
	t.Helper()
	ln := memnet.Listen()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // so that the server notices a client that leaves
		h(w, r)
	})}
	go srv.Serve(ln)
	o.Clock = bench.NewClock()
	if o.Dial == nil {
		o.Dial = ln.DialContext
	}
	c := New(o)
	t.Cleanup(func() {
		c.Close()
		srv.Close()
	})
	return c
}

func post(ctx context.Context, c *Client) Exchange {
	return c.Do(ctx, &Request{
		URL:    &url.URL{Scheme: "http", Host: "mem", Path: "/v1/chat/completions"},
		Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"a":1}`), Streaming: true,
	})
}

func flush(w http.ResponseWriter, text string) {
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
}

func TestStampsAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			time.Sleep(200 * time.Millisecond)
			for range 3 {
				flush(w, "data: {}\n\n")
				time.Sleep(20 * time.Millisecond)
			}
			flush(w, "data: [DONE]\n\n")
		}, Options{})
		x := post(t.Context(), c)
		if x.Response.Failure != nil {
			t.Fatal(x.Response.Failure)
		}
		var got []time.Duration
		for e := range x.Response.Events.All() {
			got = append(got, e.At-x.Stamps.Start)
		}
		if want := "[200ms 220ms 240ms]"; fmt.Sprint(got[:3]) != want {
			t.Errorf("events at %v, want %v", got, want)
		}
		if x.Stamps.Wrote != x.Stamps.Start || x.Stamps.Headers-x.Stamps.Start != 200*time.Millisecond {
			t.Errorf("wrote %v, headers %v after start; want 0s, 200ms", x.Stamps.Wrote-x.Stamps.Start, x.Stamps.Headers-x.Stamps.Start)
		}
		if got := x.Stamps.End - x.Stamps.Start; got != 260*time.Millisecond {
			t.Errorf("end %v after start, want 260ms", got)
		}
		if !x.Response.Done || x.Response.End != bench.EndEOF || x.Conn.Reused || x.Conn.Sent != 7 {
			t.Errorf("done %v, end %v, conn %+v", x.Response.Done, x.Response.End, x.Conn)
		}
	})
}

func TestFailures(t *testing.T) {
	reset := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w, "data: {}\n\n")
		time.Sleep(time.Second) // the event is read before the reset
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.(interface{ SetLinger(int) error }).SetLinger(0)
			conn.Close()
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	half := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w, "data: {}\n\n")
		<-r.Context().Done()
	}
	refuse := func(context.Context, string, string) (net.Conn, error) {
		ln := memnet.Listen()
		ln.Close()
		return ln.Dial(context.Background())
	}
	never := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	tests := []struct {
		name  string
		serve http.HandlerFunc
		opts  Options
		class bench.Class
		step  bench.Step
		after time.Duration
		end   bench.End
	}{
		{"reset mid-stream", reset, Options{}, bench.ConnectionReset, bench.StepBody, time.Second, bench.EndReset},
		{"nobody listens", silent, Options{Dial: refuse}, bench.ConnectError, bench.StepConnect, 0, bench.EndReset},
		{"dial takes too long", silent, Options{Dial: never, ConnectTimeout: 3 * time.Second}, bench.TimeoutConnect, bench.StepConnect, 3 * time.Second, bench.EndTimeout},
		{"no head in time", silent, Options{HeadersTimeout: time.Minute}, bench.TimeoutHeaders, bench.StepHeaders, time.Minute, bench.EndTimeout},
		{"no byte for too long", half, Options{IdleTimeout: time.Hour}, bench.TimeoutIdle, bench.StepBody, time.Hour, bench.EndTimeout},
		{"total budget spent", half, Options{TotalTimeout: 2 * time.Hour}, bench.TimeoutTotal, bench.StepBody, 2 * time.Hour, bench.EndTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := post(t.Context(), serve(t, tt.serve, tt.opts))
				f := x.Response.Failure
				if f == nil || f.Class != tt.class || f.Step != tt.step {
					t.Fatalf("failure = %+v, want %s at %s", f, tt.class, tt.step)
				}
				if got := x.Stamps.End - x.Stamps.Start; got != tt.after || x.Response.End != tt.end {
					t.Errorf("ended after %v as %v, want %v as %v", got, x.Response.End, tt.after, tt.end)
				}
				if strings.Contains(f.Message, "/v1/") {
					t.Errorf("message %q shows the URL", f.Message)
				}
			})
		})
	}
}

func TestCancelCarriesItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() {
			cancel(CancelWith(&bench.Failure{Class: bench.Cancelled, Code: "grace_timeout", Message: "too late"}))
		})
		f := post(ctx, c).Response.Failure
		if f == nil || f.Class != bench.Cancelled || f.Code != "grace_timeout" || f.Step != bench.StepHeaders {
			t.Errorf("failure = %+v, want cancelled/grace_timeout at headers", f)
		}
	})
}

func TestConnectionReuse(t *testing.T) {
	tests := []struct {
		name  string
		reuse Reuse
		want  string // reused, for three requests of one session and one of another
	}{
		{"pooled", Pooled, "[false true true true]"},
		{"never", Never, "[false false false false]"},
		{"sticky", Sticky, "[false true true false]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, Options{Reuse: tt.reuse})
				var got []bool
				for _, session := range []string{"a", "a", "a", "b"} {
					x := c.Do(t.Context(), &Request{
						URL: &url.URL{Scheme: "http", Host: "mem", Path: "/"}, Header: http.Header{}, Session: session,
					})
					got = append(got, x.Conn.Reused)
					synctest.Wait()
				}
				if fmt.Sprint(got) != tt.want {
					t.Errorf("reused = %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// The first byte of the body has a stamp of its own: servers send the head long before.
func TestFirstBodyStamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/moved" { // its body counts for nothing
				w.Header().Set("Location", "/moved")
				w.WriteHeader(http.StatusTemporaryRedirect)
				flush(w, "moved")
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			time.Sleep(70 * time.Millisecond)
			flush(w, "data: {}\n\ndata: [DONE]\n\n")
		}, Options{})
		x := post(t.Context(), c)
		if s := x.Stamps; s.FirstByte != s.Start || s.Headers != s.Start || s.FirstBody-s.Start != 70*time.Millisecond {
			t.Errorf("head after %v and %v, body after %v; want 0s, 0s and 70ms", s.FirstByte-s.Start, s.Headers-s.Start, s.FirstBody-s.Start)
		}
	})
}

// A server that drops idle connections must not show as failed requests, and the
// repetition must be counted.
func TestStaleConnectionIsRetriedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := 0
		ln := memnet.Listen()
		go func() { // answers one request a connection, then drops it at the next
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					buf := make([]byte, 4096)
					if _, err := conn.Read(buf); err != nil {
						return
					}
					served++
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
					conn.Read(buf)
				}()
			}
		}()
		defer ln.Close()
		c := New(Options{Clock: bench.NewClock(), Dial: ln.DialContext})
		defer c.Close()
		post(t.Context(), c)
		time.Sleep(5 * time.Second) // longer than any keep-alive doubt
		x := post(t.Context(), c)
		if x.Response.Failure != nil || x.Conn.Retries != 1 || served != 2 {
			t.Errorf("failure %v, retries %d, served %d; want none, 1, 2", x.Response.Failure, x.Conn.Retries, served)
		}
	})
}

func TestRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/chat/completions":
				w.Header().Set("Location", "/moved")
				w.WriteHeader(http.StatusTemporaryRedirect)
			case "/moved":
				fmt.Fprintf(w, `{"method":%q,"length":%d}`, r.Method, r.ContentLength)
			}
		}, Options{})
		x := post(t.Context(), c)
		if got := string(x.Response.Body); got != `{"method":"POST","length":7}` {
			t.Errorf("body = %s", got)
		}
	})
}

func TestDrainAfterTheEndMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w, "data: {}\n\ndata: [DONE]\n\n")
			<-r.Context().Done() // holds the stream open
		}, Options{})
		x := post(t.Context(), c)
		if x.Response.Failure != nil || x.Stamps.End-x.Stamps.Start > drainTime {
			t.Errorf("failure %v after %v, want none within %v", x.Response.Failure, x.Stamps.End-x.Stamps.Start, drainTime)
		}
	})
}
