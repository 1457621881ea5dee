package certify

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
)

// memory is a network in memory.
func memory() (net.Listener, Dial, error) {
	ln := memnet.Listen()
	return ln, ln.DialContext, nil
}

// TestVirtualTime: where nothing takes time there is no error, to the nanosecond,
// and the server keeps what it was asked for.
func TestVirtualTime(t *testing.T) {
	tests := []struct {
		name     string
		opts     Options
		requests int
	}{
		{"one stream", Options{Concurrency: 1, Time: 4 * time.Second}, 800},
		{"64 streams", Options{Concurrency: 64, Time: 4 * time.Second}, 800},
		{"connections are not reused", Options{Concurrency: 8, Time: 2 * time.Second, Transport: transport.Options{Reuse: transport.Never}}, 800},
		{"sticky sessions", Options{Concurrency: 8, Time: 2 * time.Second, Transport: transport.Options{Reuse: transport.Sticky}}, 800},
		{"open loop", Options{Rate: 400, Time: 3 * time.Second}, 800},
		{"large bodies", Options{Concurrency: 4, Time: time.Second, ChunkBytes: 4000, RequestBytes: 50_000}, 700},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.opts.Network = memory
				c, err := Run(t.Context(), tt.opts)
				if err != nil {
					t.Fatal(err)
				}
				if c.TTFTAdded != 0 || c.InterChunkAdded != 0 || c.Send.Max != 0 || c.Receive.Max != 0 {
					t.Errorf("errors TTFT %v, inter-chunk %v, send %v, receive %v ms, want 0",
						c.TTFTAdded, c.InterChunkAdded, c.Send.Max, c.Receive.Max)
				}
				for name, got := range map[string][2]float64{
					"TTFT":        {c.TTFT.ReportedP99, c.ReferenceTTFT},
					"inter-chunk": {c.InterChunk.ReportedP99, c.ReferenceITL},
				} {
					if got[0] != got[1] {
						t.Errorf("%s p99 %v ms, want %v", name, got[0], got[1])
					}
				}
				if c.Requests < tt.requests || c.TTFT.Extrapolated || c.InterChunk.Extrapolated {
					t.Errorf("%d requests, bounds %+v %+v, want at least %d and no extrapolation", c.Requests, c.TTFT, c.InterChunk, tt.requests)
				}
				if c.Schedule != nil && c.Schedule.Max != 0 {
					t.Errorf("schedule lag %v ms, want 0", c.Schedule.Max)
				}
				if (c.Schedule != nil) != (tt.opts.Rate > 0) {
					t.Errorf("schedule lag %v of a load of %v/s", c.Schedule, tt.opts.Rate)
				}
			})
		})
	}
}

// lagging delivers what it reads late.
type lagging struct {
	net.Conn
	by time.Duration
}

func (l lagging) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if err == nil {
		<-time.After(l.by) // in virtual time
	}
	return n, err
}

// TestLateClient: a client that reads 3 ms late is found out to the nanosecond:
// TTFT is 3 ms too long, gaps are right.
func TestLateClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := func() (net.Listener, Dial, error) {
			ln, dial, err := memory()
			return ln, func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := dial(ctx, network, addr)
				return lagging{c, 3 * time.Millisecond}, err
			}, err
		}
		c, err := Run(t.Context(), Options{Concurrency: 32, Time: 5 * time.Second, Network: network})
		if err != nil {
			t.Fatal(err)
		}
		want := [4]float64{3, 3, 0, 3}
		got := [4]float64{c.TTFTAdded, c.TTFT.ErrorP50, c.InterChunkAdded, c.Receive.P50}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("TTFT added, median error, inter-chunk added, receive lag (-want +got):\n%s", diff)
		}
		if c.TTFT.ReportedP99 != c.TTFT.TrueP99+3 {
			t.Errorf("reported %v ms, true %v ms, want a difference of 3", c.TTFT.ReportedP99, c.TTFT.TrueP99)
		}
	})
}

// TestLoopback: a short trial over real sockets. Nothing about speed is asserted:
// the bound must hold for the trial itself, and stamps must be in order.
func TestLoopback(t *testing.T) {
	c, err := Run(t.Context(), Options{Concurrency: 4, Time: 500 * time.Millisecond, Pacer: pace.Precise})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		name  string
		c     verdict.Certified
		added float64
	}{{"TTFT", c.TTFT, c.TTFTAdded}, {"inter-chunk", c.InterChunk, c.InterChunkAdded}} {
		if d := m.c.ReportedP99 - m.c.TrueP99; max(d, -d) > m.added+1e-6 {
			t.Errorf("%s: p99 reported %v ms, true %v ms, but the bound is %v ms", m.name, m.c.ReportedP99, m.c.TrueP99, m.added)
		}
		if m.c.TrueP99 <= 0 || m.c.ErrorP50 > m.c.ErrorP99 || m.c.ErrorP99 > m.c.ErrorMax {
			t.Errorf("%s: %+v", m.name, m.c)
		}
	}
	if c.Requests == 0 || c.Events < 2*c.Requests || c.Send.P50 <= 0 || c.Receive.P50 <= 0 {
		t.Errorf("%d requests, %d events, send lag %v, receive lag %v", c.Requests, c.Events, c.Send, c.Receive)
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		why := errors.New("changed my mind")
		time.AfterFunc(time.Second, func() { cancel(why) })
		began := time.Now()
		_, err := Run(ctx, Options{Concurrency: 10, Time: 30 * time.Second, Network: memory})
		if !errors.Is(err, why) {
			t.Errorf("error %v, want %v", err, why)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("ended after %s, want 1s", took)
		}
	})
}

// TestBrokenServer: a reference that cannot be trusted gives no certificate.
func TestBrokenServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := func() (net.Listener, Dial, error) {
			ln, _, err := memory()
			return ln, func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no way") }, err
		}
		_, err := Run(t.Context(), Options{Concurrency: 2, Time: time.Second, Network: network})
		if err == nil || !strings.Contains(err.Error(), "no way") {
			t.Errorf("error %v, want the one of the network", err)
		}
	})
}

func TestOptions(t *testing.T) {
	tests := []struct {
		name string
		opts Options
		want string
	}{
		{"no load", Options{}, "concurrency 0"},
		{"negative load", Options{Concurrency: -1}, "concurrency -1"},
		{"too long", Options{Concurrency: 1, Time: 2 * MaxTime}, "time 2m0s"},
		{"too short", Options{Concurrency: 1, Time: time.Millisecond}, "time 1ms"},
		{"gap longer than the time", Options{Concurrency: 1, Time: time.Second, ITL: time.Minute}, "itl 1m0s"},
		{"chunk too large", Options{Concurrency: 1, ChunkBytes: MaxChunkBytes + 1}, "chunk of 1048577 bytes"},
		{"rate", Options{Rate: -1}, "rate -1/s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Run(t.Context(), tt.opts)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestShape: with many streams the server does what it was asked for, with few its
// responses are shorter.
func TestShape(t *testing.T) {
	tests := []struct {
		streams int
		ttft    time.Duration
		itl     time.Duration
		events  int
		size    int // of the streams that are driven
	}{
		{1, 2493765, 1246882, 4, 1},
		{1000, DefaultTTFT, DefaultITL, 50, 1000},
		{10_000, DefaultTTFT, DefaultITL, 50, MaxStreams},
	}
	for _, tt := range tests {
		o := Options{Concurrency: tt.streams}
		if err := o.complete(); err != nil {
			t.Fatal(err)
		}
		sh := newShape(&o)
		got := [4]any{sh.ttft, sh.itl, len(sh.writes), sh.streams}
		if diff := cmp.Diff([4]any{tt.ttft, tt.itl, tt.events, tt.size}, got); diff != "" {
			t.Errorf("%d streams: ttft, itl, events, streams (-want +got):\n%s", tt.streams, diff)
		}
	}
}
