package engine_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// The first requests do not measure connection setup, unless the user disables
// preconnecting; the setup time is in the result either way.
func TestPreconnect(t *testing.T) {
	const connecting = 30 * time.Millisecond
	for _, tt := range []struct {
		name, phase, endpoint string
		ttft                  time.Duration // of the slowest request
		opened, early         float64
	}{
		{"closed loop", "type: concurrency, concurrency: 8, requests: 24", "", 200 * time.Millisecond, 8, 8},
		{"fewer requests than slots", "type: concurrency, concurrency: 8, requests: 5", "", 200 * time.Millisecond, 5, 5},
		{"cold", "type: concurrency, concurrency: 8, requests: 24", "preconnect: false, ", 230 * time.Millisecond, 8, 0},
		{"open loop: rate times latency", "type: constant, rate: 10, requests: 40", "", 200 * time.Millisecond, 20, 20},
		{"open loop with a cap", "type: constant, rate: 10, concurrency: 6, requests: 40", "", 200 * time.Millisecond, 6, 6},
		{"a connection for each request", "type: concurrency, concurrency: 2, requests: 4", "connectionReuse: never, ", 230 * time.Millisecond, 4, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBedWith(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil, func(o *engine.Options) {
					dial := o.Dial
					o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
						time.Sleep(connecting)
						return dial(ctx, network, addr)
					}
				})
				doc := strings.Replace(document(tt.phase, fileData), "endpoint: {", "endpoint: {"+tt.endpoint, 1)
				r := b.run(doc)
				type result struct{ ttft, opened, early, setup float64 }
				got := result{
					b.value(r.ID, "time_to_first_token", "max"), b.value(r.ID, "http_connection_count", "avg"),
					b.value(r.ID, "http_preconnected_count", "avg"), b.value(r.ID, "http_connection_time", "max"),
				}
				want := result{float64(tt.ttft.Milliseconds()), tt.opened, tt.early, float64(connecting.Milliseconds())}
				if tt.early == 0 {
					want.setup = 0 // the connections of tests report no times
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				b.stop()
			})
		})
	}
}

// A later phase opens only the missing connections, whose number follows from the
// latency of the phase before.
func TestPreconnectAfterWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 200*time.Millisecond, 0), nil)
		r := b.run(strings.Replace(document("type: constant, rate: 50, requests: 100", fileData),
			"phases:", "phases:\n    - {name: warm, kind: warmup, type: concurrency, concurrency: 4, requests: 8}", 1))
		if got := b.value(r.ID, "http_preconnected_count", "avg"); got != 6 { // 50/s times 0.2 s, without the 4 of the warm-up
			t.Errorf("opened %v connections ahead, want 6", got)
		}
		b.stop()
	})
}

// A server that accepts no connections: the requests fail, and a cancel does not wait.
func TestPreconnectNobodyThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedWith(t, timing(t, 0, 0), nil, func(o *engine.Options) {
			o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
		})
		began := time.Now()
		r := b.run(document("type: concurrency, concurrency: 2, requests: 2", fileData))
		if took := time.Since(began); r.Error == nil || r.Error.Code != run.NoSuccess || took != 25*time.Second {
			t.Errorf("%+v after %v; want %s after 5s for the list of models and 10s each for connections and requests", r.Error, took, run.NoSuccess)
		}
		began = time.Now()
		id := b.submit(document("type: concurrency, concurrency: 2, requests: 2", fileData))
		time.Sleep(6 * time.Second) // while connections are being opened
		if _, _, err := b.engine.Cancel(t.Context(), id, run.CancelRequest{}); err != nil {
			t.Fatal(err)
		}
		if r := b.wait(id); r.State != bench.StateCancelled || time.Since(began) != 6*time.Second {
			t.Errorf("%s after %v, want %s after 6s", r.State, time.Since(began), bench.StateCancelled)
		}
		b.stop()
	})
}

// A retried request is not a failure, and the result has the number of retries.
func TestRetriesAreInTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedWith(t, timing(t, 10*time.Millisecond, 0), nil, func(o *engine.Options) {
			dial := o.Dial
			o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := dial(ctx, network, addr)
				return &forgetful{Conn: c}, err
			}
		})
		r := b.run(document("type: concurrency, concurrency: 1, requests: 9", fileData))
		ok, retries := b.value(r.ID, "request_count", "avg"), b.value(r.ID, "http_retry_count", "avg")
		if ok != 9 || retries != 4 || !strings.Contains(fmt.Sprint(r.Warnings), "4 requests were sent again on a new connection") {
			t.Errorf("%v requests succeeded after %v retries, warnings %v; want 9, 4 and a warning", ok, retries, r.Warnings)
		}
		b.stop()
	})
}

// forgetful is a connection whose peer closes it at the second request.
type forgetful struct {
	net.Conn
	writes int
}

func (f *forgetful) Write(b []byte) (int, error) {
	if f.writes++; f.writes > 1 {
		return 0, &net.OpError{Op: "write", Net: "memnet", Err: syscall.EPIPE}
	}
	return f.Conn.Write(b)
}
