package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// ramped runs a load against the simulator, whose responses take 500 ms with the first
// token after 400 ms, and returns the simulator's own records. look, if not nil, may
// read the files of the run.
func ramped(t *testing.T, load string, look func(b *bed, r *run.Run)) (server []mock.Truth) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 400*time.Millisecond, 50*time.Millisecond), nil)
		r := b.run(document(load, fileData))
		if r.State != bench.StateCompleted {
			t.Fatalf("%s: %s", load, r.StateReason)
		}
		server = b.server.Truth()
		if look != nil {
			look(b, r)
		}
		b.stop()
	})
	return server
}

// since are the seconds of an instant since the server's first request.
func since(server []mock.Truth, ns int64) float64 {
	first := int64(math.MaxInt64)
	for i := range server {
		first = min(first, server[i].BodyReadNs)
	}
	return float64(ns-first) / 1e9
}

// The server sees as many requests at a time as each ramp allows, and as many without a
// first token.
func TestRampsAtTheServer(t *testing.T) {
	const target, seconds = 20, 8.0
	linear := func(at float64) float64 { return 1 + (target-1)*at/seconds }
	tests := []struct {
		load  string
		limit func(at float64) float64 // of requests at a time
		first func(at float64) float64 // of those without a first token
	}{
		{"concurrency: 20, concurrencyRamp: 8, duration: 10", linear, linear},
		{
			"concurrency: 20, concurrencyRamp: {duration: 8, strategy: exponential}, duration: 10",
			func(at float64) float64 { return math.Pow(target, at/seconds) }, nil,
		},
		{"rate: 200, type: constant, concurrency: 20, concurrencyRamp: 8, duration: 10", linear, nil},
		{
			"concurrency: 40, prefillConcurrency: 20, prefillRamp: 8, duration: 10",
			nil, linear,
		},
	}
	for _, tt := range tests {
		server := ramped(t, tt.load, nil)
		for at := 0.3; at < seconds; at += 0.1 {
			inflight, filling := 0, 0
			for i := range server {
				s := &server[i]
				if since(server, s.BodyReadNs) <= at && at < since(server, s.EndNs) {
					inflight++
				}
				if since(server, s.BodyReadNs) <= at && at < since(server, s.FirstWriteNs) {
					filling++
				}
			}
			if tt.limit != nil {
				if want := int(math.Floor(tt.limit(at) + 1e-6)); inflight != want && inflight != want-1 { // an answer is read in a moment
					t.Errorf("%s: %d requests at %.2f s, want %d", tt.load, inflight, at, want)
				}
			}
			if tt.first != nil {
				if want := int(math.Floor(tt.first(at) + 1e-6)); filling > want {
					t.Errorf("%s: %d requests without a first token at %.2f s, want at most %d", tt.load, filling, at, want)
				}
			}
		}
	}
}

// Arrivals at a constant pattern follow the integral of the rate.
func TestRatesAtTheServer(t *testing.T) {
	tests := []struct {
		load  string
		count func(at float64) float64 // expected arrivals since the start of the phase
	}{
		{
			"rate: 20, type: constant, rateRamp: 5, duration: 8",
			func(at float64) float64 { x := min(at, 5); return 0.4*x + 19.6*x*x/10 + 20*max(0, at-5) },
		},
		{
			"type: constant, rateSeries: [{time_s: 0, qps: 2}, {time_s: 4, qps: 22}, {time_s: 8, qps: 2}], duration: 8",
			func(at float64) float64 { x, y := min(at, 4), max(0, at-4); return 2*x + 2.5*x*x + 22*y - 2.5*y*y },
		},
	}
	for _, tt := range tests {
		server := ramped(t, tt.load, nil)
		if want := int(tt.count(8)); len(server) != want && len(server) != want-1 { // the last one is due at the end
			t.Errorf("%s: %d requests, want %d", tt.load, len(server), want)
		}
		// The first request is the first arrival, when one is expected.
		first := 0.0
		for tt.count(first) < 1 {
			first += 1e-4
		}
		for i := range server {
			at := since(server, server[i].BodyReadNs) + first
			if n := tt.count(at); math.Abs(n-math.Round(n)) > 0.02 {
				t.Errorf("%s: a request at %.4f s, when %.3f are expected", tt.load, at, n)
			}
		}
	}
}

// With --exclude-ramp the requests of the ramp are in the record file and not in the
// metrics, and the result says how many they are.
func TestExcludeRamp(t *testing.T) {
	for _, exclude := range []bool{false, true} {
		var result *run.Run
		var count, rate float64
		marked := 0
		server := ramped(t, fmt.Sprintf("concurrency: 5, concurrencyRamp: 4, duration: 9.9, excludeRamp: %t", exclude), func(b *bed, r *run.Run) {
			result, count, rate = r, b.value(r.ID, "request_count", "avg"), b.value(r.ID, "request_throughput", "avg")
			marked = strings.Count(b.file(r.ID, export.NamesFor("").Records), `"ramp":true`)
		})
		during := 0
		for i := range server {
			if since(server, server[i].BodyReadNs) < 4 {
				during++
			}
		}
		if during == 0 || marked != during {
			t.Errorf("%d records are of the ramp, want %d", marked, during)
		}
		warned := 0
		for _, w := range result.Warnings {
			switch w.Code {
			case "ramp-excluded":
				warned++
				if want := fmt.Sprintf("phase profiling: %d of %d requests were sent during the ramp of 4s and are not in the metrics", during, len(server)); w.Detail != want {
					t.Errorf("warning %q, want %q", w.Detail, want)
				}
			case "inconsistent-result":
				t.Error(w.Detail)
			}
		}
		want := float64(len(server))
		if exclude {
			want -= float64(during)
		}
		if count != want || (warned == 1) != exclude {
			t.Errorf("exclude %t: %v requests in the metrics, want %v; %d warnings", exclude, count, want, warned)
		}
		// Five slots of 500 ms serve 10 requests per second.
		if exclude && math.Abs(rate-10) > 0.2 || !exclude && rate > 9 {
			t.Errorf("exclude %t: %v requests per second", exclude, rate)
		}
	}
}
