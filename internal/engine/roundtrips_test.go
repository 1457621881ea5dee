package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
)

// The latencies without the round trip are those of the requests minus the least that probes have measured; the
// latencies themselves stay as they are.
func TestNetworkLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedWith(t, mock.Options{TTFT: mock.ConstDelay(50 * time.Millisecond), ITL: mock.ConstDelay(5 * time.Millisecond)}, nil, func(o *engine.Options) {
			dial := o.Dial
			var connects atomic.Int64
			o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				n := connects.Add(1) // the first ones take longer
				time.Sleep(time.Duration(4+8/n) * time.Millisecond)
				return dial(ctx, network, address)
			}
		})
		r := b.run(`{benchmark: {model: m, endpoint: {url: "http://u:password@mem/", streaming: true}, tokenizer: {name: builtin}, dataset: {isl: 20, osl: 8, entries: 40},
			artifacts: {sliceDuration: 1}, networkLatency: {enabled: true},
			phases: [{name: warmup, requests: 4, concurrency: 2}, {name: profiling, duration: 6, concurrency: 2}]}}`)
		if r.State != bench.StateCompleted {
			t.Fatalf("%v %+v", r.State, r.Error)
		}
		if got := b.value(r.ID, "network_rtt", "min"); got != 4 {
			t.Errorf("round trip %v ms, want 4", got)
		}
		for _, tag := range []string{"time_to_first_token", "time_to_first_output_token", "request_latency"} {
			for _, stat := range []string{"avg", "p50", "p99", "min", "max"} {
				whole, left := b.value(r.ID, tag, stat), b.value(r.ID, "network_adjusted_"+tag, stat)
				if math.Abs(whole-left-4) > 1e-6 {
					t.Errorf("%s of %s: %v and %v without the round trip", stat, tag, whole, left)
				}
			}
		}
		dir := b.store.Dir(r.ID)
		lines, err := os.ReadFile(filepath.Join(dir, "profile_export_network_latency.jsonl"))
		if n := bytes.Count(lines, []byte("\n")); err != nil || n < 6 || n > 7 {
			t.Errorf("%d lines, %v", n, err)
		}
		if bytes.Contains(lines, []byte("password")) || !bytes.Contains(lines, []byte(`"target_host":"mem","target_port":80,"probe_type":"tcp_connect","rtt_ns":4000000,"success":true}`)) {
			t.Errorf("lines:\n%s", lines)
		}
		console, _ := os.ReadFile(filepath.Join(dir, "profile_export_console.txt"))
		for _, name := range []string{"Network-Adjusted", "Network RTT"} {
			if !bytes.Contains(console, []byte(name)) {
				t.Errorf("the console lacks %q:\n%s", name, console)
			}
		}
		var slices struct {
			Timeslices []map[string]json.RawMessage
		}
		data, err := os.ReadFile(filepath.Join(dir, "profile_export_aiperf_timeslices.json"))
		if err != nil || json.Unmarshal(data, &slices) != nil || len(slices.Timeslices) == 0 || slices.Timeslices[0]["network_adjusted_request_latency"] == nil {
			t.Errorf("slices: %v\n%.2000s", err, data)
		}
	})
}

// A round trip that is given is subtracted as it is, and nothing is probed.
func TestGivenNetworkLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, mock.Options{TTFT: mock.ConstDelay(50 * time.Millisecond)}, nil)
		const load = `{benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, tokenizer: {name: builtin}, dataset: {isl: 20, osl: 8, entries: 40},
			networkLatency: {enabled: true, meanMs: %}, phases: [{name: profiling, requests: 20, concurrency: 2}]}}`
		r := b.run(strings.Replace(load, "%", "20", 1))
		if whole, left := b.value(r.ID, "time_to_first_token", "avg"), b.value(r.ID, "network_adjusted_time_to_first_token", "avg"); math.Abs(whole-left-20) > 1e-6 {
			t.Errorf("%v ms, %v without the round trip", whole, left)
		}
		if got := b.value(r.ID, "network_rtt", "p99"); got != 20 {
			t.Errorf("round trip %v ms, want 20", got)
		}
		if _, err := os.Stat(filepath.Join(b.store.Dir(r.ID), "profile_export_network_latency.jsonl")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there are lines of probes: %v", err)
		}
		r = b.run(strings.Replace(load, "%", "0", 1))
		data, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "result.json"))
		if err != nil || bytes.Contains(data, []byte("network_rtt")) {
			t.Errorf("a round trip of 0 is subtracted: %v", err)
		}
	})
}

// Probes that fail are a warning, and there are no metrics that need them.
func TestNetworkLatencyUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Bool // the load has its only connection
		b := newBedWith(t, mock.Options{}, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					served.Store(true)
				}
				h.ServeHTTP(w, r)
			})
		}, func(o *engine.Options) {
			dial := o.Dial
			o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if served.Load() {
					return nil, errors.New("refused")
				}
				return dial(ctx, network, address)
			}
		})
		r := b.run(`{benchmark: {model: m, endpoint: {url: "http://mem"}, tokenizer: {name: builtin}, dataset: {isl: 20, osl: 8, entries: 40}, serverMetrics: {enabled: false},
			networkLatency: {enabled: true}, phases: [{name: warmup, requests: 1, concurrency: 1}, {name: profiling, requests: 20, concurrency: 1}]}}`)
		if r.State != bench.StateCompleted {
			t.Fatalf("%v %+v", r.State, r.Error)
		}
		data, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "result.json"))
		if err != nil || bytes.Contains(data, []byte("network_rtt")) || !bytes.Contains(data, []byte("no probe of mem:80 succeeded: refused")) {
			t.Errorf("%v\n%.3000s", err, data)
		}
	})
}
