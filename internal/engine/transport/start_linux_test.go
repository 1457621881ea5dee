//go:build amd64 || arm64

package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
)

// later performs an exchange by Start, which must say whether it waits for the response.
func (s *stage) later(ctx context.Context, t *testing.T, pending bool) Exchange {
	t.Helper()
	returned := make(chan Exchange, 1)
	x, done := s.client.Start(ctx, s.request(), func(x Exchange) { returned <- x })
	if done == pending {
		t.Fatalf("Start has returned done = %v, want %v", done, !pending)
	}
	if done {
		return x
	}
	select {
	case x = <-returned:
	case <-time.After(10 * time.Second):
		t.Fatal("the exchange was not handed over")
	}
	return x
}

// TestStart: only a request on an open connection needs no goroutine. One that fails there
// before its response is repeated on a new connection, as by Do.
func TestStart(t *testing.T) {
	stage := perform(t, func(n int, c peer, r *bufio.Reader) {
		for served := 0; ; served++ {
			if req, _ := take(r); req == nil || n == 0 && served == 2 {
				c.SetLinger(0)
				c.Close()
				return
			}
			c.Write([]byte(small))
		}
	}, Options{})
	for i, want := range []struct {
		pending bool
		reused  bool
		retries int
	}{{false, false, 0}, {true, true, 0}, {true, false, 1}, {true, true, 0}} {
		x := stage.later(t.Context(), t, want.pending)
		if x.Response.Failure != nil || string(x.Response.Body) != "{}" || x.Stamps.End != x.Response.EndAt {
			t.Fatalf("request %d: %v, body %q", i, x.Response.Failure, x.Response.Body)
		}
		if x.Conn.Reused != want.reused || x.Conn.Retries != want.retries {
			t.Errorf("request %d: reused %v, %d retries; want %v, %d", i, x.Conn.Reused, x.Conn.Retries, want.reused, want.retries)
		}
		x.Release()
	}
}

// TestStartCut: the end of the context ends an exchange for which nobody waits.
func TestStartCut(t *testing.T) {
	ctx, cut := context.WithCancelCause(t.Context())
	stage := perform(t, func(_ int, c peer, r *bufio.Reader) {
		take(r)
		c.Write([]byte(small))
		take(r)
		cut(CancelWith(&bench.Failure{Class: bench.Cancelled, Code: "test"}))
		lingers(c)
	}, Options{})
	defer cut(nil)
	first := stage.later(ctx, t, false)
	first.Release()
	x := stage.later(ctx, t, true)
	if f := x.Response.Failure; f == nil || f.Code != "test" || x.Response.End != bench.EndAborted {
		t.Errorf("failure %+v, end %v; want the cause of the context", f, x.Response.End)
	}
}

// TestStartIdle: without an open connection nothing is sent, because that would wait.
func TestStartIdle(t *testing.T) {
	stage := perform(t, func(_ int, c peer, r *bufio.Reader) {
		for {
			if req, _ := take(r); req == nil {
				return
			}
			c.Write([]byte(small))
		}
	}, Options{})
	returned := make(chan Exchange, 1)
	later := func(x Exchange) { returned <- x }
	if stage.client.StartIdle(t.Context(), stage.request(), later) {
		t.Fatal("StartIdle has sent a request without an open connection")
	}
	first := stage.later(t.Context(), t, false)
	first.Release()
	if !stage.client.StartIdle(t.Context(), stage.request(), later) {
		t.Fatal("StartIdle has not used the open connection")
	}
	x := <-returned
	if x.Response.Failure != nil || string(x.Response.Body) != "{}" || !x.Conn.Reused {
		t.Errorf("failure %v, body %q, reused %v; want none, {}, true", x.Response.Failure, x.Response.Body, x.Conn.Reused)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if stage.client.StartIdle(ended, stage.request(), later) {
		t.Error("StartIdle has sent a request although its context has ended")
	}
}

// TestStartCutsAll: the end of a context cuts its exchanges on all connections, with and
// without TLS; those of another context go on.
func TestStartCutsAll(t *testing.T) {
	for name, o := range map[string]Options{"http": {MaxIdle: 6}, "https": {MaxIdle: 6, TLS: new(tls.Config)}} {
		t.Run(name, func(t *testing.T) {
			const streams = 5
			begun, goOn := make(chan struct{}, streams+1), make(chan struct{})
			release := sync.OnceFunc(func() { close(goOn) })
			stage := perform(t, func(_ int, c peer, r *bufio.Reader) {
				for {
					if req, _ := take(r); req == nil {
						return
					}
					begun <- struct{}{}
					<-goOn
					c.Write([]byte(small))
				}
			}, o)
			defer release()
			stage.client.Preconnect(t.Context(), slices.Repeat([]*url.URL{stage.url}, streams+1))
			ctx, cut := context.WithCancelCause(t.Context())
			defer cut(nil)
			cuts, others := make(chan Exchange, streams), make(chan Exchange, 1)
			for range streams {
				if !stage.client.StartIdle(ctx, stage.request(), func(x Exchange) { cuts <- x }) {
					t.Fatal("there is no open connection")
				}
			}
			if !stage.client.StartIdle(t.Context(), stage.request(), func(x Exchange) { others <- x }) {
				t.Fatal("there is no open connection")
			}
			for range streams + 1 {
				<-begun
			}
			cut(CancelWith(&bench.Failure{Class: bench.Cancelled, Code: "test"}))
			for range streams {
				if f := (<-cuts).Response.Failure; f == nil || f.Code != "test" {
					t.Errorf("failure %+v, want the cause of the context", f)
				}
			}
			release()
			if x := <-others; x.Response.Failure != nil {
				t.Errorf("the exchange of another context has failed: %v", x.Response.Failure)
			}
		})
	}
}
