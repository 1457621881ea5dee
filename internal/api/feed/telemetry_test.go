package feed

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// subscriber returns a client that follows the current run and wants types of messages, and what it gets of a type.
func subscriber(h *Hub, kinds ...string) (s *subscription, got func(kind string) []string) {
	s = newSubscription(h)
	s.subscribe(demand{known: kinds, follow: currentRun})
	return s, func(kind string) (bodies []string) {
		batch, _ := s.take()
		for _, m := range batch {
			if m.kind == kind {
				bodies = append(bodies, string(m.data))
			}
		}
		return bodies
	}
}

// Telemetry is computed only for clients that want it, once per second, and ends with the run.
func TestSendTelemetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var servers, devices atomic.Int64
		count := func(n *atomic.Int64) Telemetry {
			return func(context.Context, string) any { return map[string]int64{"n": n.Add(1)} }
		}
		go h.SendTelemetry(ctx, count(&servers), count(&devices))
		h.Publish(ofRun("a", run.EventStateChanged, bench.StateRunning))
		_, others := subscriber(h, kindMetrics)
		time.Sleep(5 * time.Second)
		if servers.Load()+devices.Load() != 0 || len(others(kindServers)) != 0 {
			t.Errorf("computed %d and %d times for nobody", servers.Load(), devices.Load())
		}
		client, got := subscriber(h, kindServers)
		for range 3 {
			time.Sleep(time.Second)
			synctest.Wait()
			messages := got(kindServers)
			if len(messages) != 1 || !strings.HasPrefix(messages[0], `{"message_type":"realtime_server_metrics","service_id":"records_manager","run_id":"a","seq":`) {
				t.Errorf("messages %v", messages)
			}
		}
		if devices.Load() != 0 {
			t.Error("GPUs were examined for nobody")
		}
		// A client that comes later gets the newest message at once.
		late := newSubscription(h)
		late.subscribe(demand{known: []string{kindServers}, follow: currentRun, id: "a", snapshot: true})
		if batch, _ := late.take(); len(batch) != 2 || batch[1].kind != kindServers {
			t.Errorf("snapshot %v", batch)
		}
		h.remove(late)
		before := servers.Load()
		h.Publish(ofRun("a", run.EventComplete, bench.StateCompleted))
		time.Sleep(5 * time.Second)
		if servers.Load() != before || len(got(kindServers)) != 0 {
			t.Errorf("%d messages after the end of the run", servers.Load()-before)
		}
		h.remove(client)
	})
}

// Large messages come less often, and enormous ones not at all.
func TestTelemetryBounds(t *testing.T) {
	for _, test := range []struct {
		name  string
		bytes int
		want  int // messages in a minute
		text  string
	}{{"small", 1000, 60, `"x":"x`}, {"large", 320 << 10, 6, `"x":"x`}, {"enormous", 2 << 20, 60, `"message":"the message is larger than a megabyte`}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := NewHub(0)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				text := strings.Repeat("x", test.bytes)
				go h.SendTelemetry(ctx, func(context.Context, string) any { return nil }, func(context.Context, string) any { return map[string]string{"x": text} })
				h.Publish(ofRun("a", run.EventStateChanged, bench.StateRunning))
				_, got := subscriber(h, kindServers, kindDevices)
				n := 0
				for range 60 {
					time.Sleep(time.Second)
					synctest.Wait()
					for _, m := range got(kindDevices) {
						n++
						if !strings.Contains(m, test.text) || !json.Valid([]byte(m)) {
							t.Errorf("message %.300s", m)
						}
					}
				}
				if n < test.want || n > test.want+1 {
					t.Errorf("%d messages in a minute, want %d", n, test.want)
				}
			})
		})
	}
}
