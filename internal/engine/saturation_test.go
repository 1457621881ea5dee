package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// serving limits a handler to so many requests at a time; the others wait in the
// order in which they came.
func serving(slots int) func(http.Handler) http.Handler {
	free := make(chan struct{}, slots)
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case free <- struct{}{}:
			case <-r.Context().Done():
				return
			}
			defer func() { <-free }()
			h.ServeHTTP(w, r)
		})
	}
}

// saturation runs an open loop against a server that serves so many requests at a
// time, each in 500 ms.
func saturation(t *testing.T, slots int, load string) (r *run.Run, s *verdict.Saturation) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 400*time.Millisecond, 50*time.Millisecond), serving(slots))
		r = b.run(document(load, fileData))
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		s = snap.Saturation
		if r.Summary.Saturation == nil || *r.Summary.Saturation != *s {
			t.Errorf("summary %+v, snapshot %+v", r.Summary.Saturation, s)
		}
		data, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), export.NamesFor("").JSON))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Saturation map[string]any }
		if err := json.Unmarshal(data, &file); err != nil || file.Saturation["message"] != s.Message || file.Saturation["saturated"] != s.Saturated {
			t.Errorf("file: %+v, error %v", file, err)
		}
		b.stop()
	})
	return r, s
}

// The server can serve two requests per second: the sentence names the rate requested,
// the rate served, and the limits of the percentiles.
func TestSaturationInWords(t *testing.T) {
	tests := map[string]struct {
		slots     int
		load      string
		limitedBy string
		want      string
		code      string // of the first warning
	}{
		"cut off": {1, "type: constant, rate: 20, duration: 14.97, gracePeriod: 5", "server",
			"asked 20/s, served 1.95/s, the queue grew to 270: the server is saturated; percentiles are lower bounds (87 % of the requests were cut off)", "saturated"},
		"no grace": {1, "type: constant, rate: 20, duration: 14.97, gracePeriod: 0", "server",
			"asked 20/s, served 1.94/s, the queue grew to 270: the server is saturated; percentiles are lower bounds (90 % of the requests were cut off)", "saturated"},
		"all served": {1, "type: constant, rate: 20, requests: 100", "server",
			"asked 20/s, served 2/s, the queue grew to 91: the server is saturated; percentiles are lower bounds (latencies grow for as long as the load lasts)", "saturated"},
		"a burst": {4, "type: constant, rate: 1000, requests: 100", "server",
			"asked 1,000/s, served 8/s, the queue grew to 100: the server is saturated; percentiles are lower bounds (latencies grow for as long as the load lasts)", "saturated"},
		"slightly too much": {4, "type: constant, rate: 10, requests: 600", "server",
			"asked 10/s, served 7.96/s, the queue grew to 124: the server is saturated; percentiles are lower bounds (latencies grow for as long as the load lasts)", "saturated"},
		"concurrency limit": {100, "type: constant, rate: 20, concurrency: 1, duration: 14.97, gracePeriod: 5", "concurrency",
			"asked 20/s, served 1.95/s, the queue grew to 270: the server cannot serve this rate within the concurrency limit; " +
				"corrected percentiles are lower bounds (87 % of the requests were cut off)", "saturated"},
		"dropped": {100, "type: constant, rate: 21, concurrency: 1, saturation: drop, duration: 14.97", "concurrency",
			"asked 21/s, served 1.91/s: the server cannot serve this rate within the concurrency limit; 285 requests were dropped", "saturated"},
		"random": {100, "type: poisson, rate: 20, requests: 50", "",
			"asked 20/s, sent 16.8/s: no sign that the server fell behind", "offered-rate"},
		"enough": {100, "type: constant, rate: 20, requests: 50", "", "asked 20/s, sent 20/s: no sign that the server fell behind", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, s := saturation(t, tt.slots, tt.load)
			if s.Message != tt.want || s.LimitedBy != tt.limitedBy || s.Saturated != (tt.limitedBy != "") {
				t.Errorf("got  %s (%v, %q)\nwant %s", s.Message, s.Saturated, s.LimitedBy, tt.want)
			}
			got := slices.DeleteFunc(codes(r.Warnings), func(code string) bool { return strings.HasPrefix(code, "stream-") })
			if len(got) > 0 && got[0] != tt.code || len(got) == 0 && tt.code != "" || s.Saturated && slices.Contains(got, "cut-by-grace") {
				t.Errorf("warnings %v, want %q first", got, tt.code)
			}
		})
	}
}

// If most requests are aborted, a server that is too slow looks like a run that is too
// short: the warning names both, with the rates and the queue.
func TestCutOffInWords(t *testing.T) {
	r, s := saturation(t, 200, "type: constant, rate: 100, duration: 0.995, gracePeriod: 0")
	const want = "asked 100/s, served 49.2/s, the queue grew to 51: 51 % of the requests were cut off when the grace period ended, " +
		"so the server is saturated, or the run is shorter than its latency; percentiles are lower bounds"
	if i := slices.IndexFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "cut-by-grace" }); s.Saturated || i < 0 || r.Warnings[i].Detail != want {
		t.Errorf("saturated %v, warnings %+v; want %s", s.Saturated, r.Warnings, want)
	}
}

// A queue that comes and goes does not grow: at 60 % of the server's capacity there is
// no warning, neither with bursts nor in short runs.
func TestNoSaturationBelowCapacity(t *testing.T) {
	for _, load := range []string{
		"type: constant, rate: 60", "type: poisson, rate: 60", "type: gamma, rate: 60, smoothness: 0.2", "type: poisson, rate: 60, concurrency: 50",
	} {
		counts := []int{1, 2, 5, 10, 20, 50, 100, 300, 1000}
		if raceEnabled {
			counts = []int{1, 50} // the others run the same code
		}
		for _, n := range counts {
			if _, s := saturation(t, 50, fmt.Sprintf("%s, requests: %d", load, n)); s.Saturated {
				t.Errorf("%s, %d requests: %+v", load, n, s)
			}
		}
		if _, s := saturation(t, 50, load+", duration: 5, gracePeriod: 0"); s.Saturated || s.Cut == 0 {
			t.Errorf("%s, cut: %+v", load, s)
		}
	}
}

// The description of the load includes the burstiness of its arrivals.
func TestLoadNamesSmoothness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Millisecond, 0), nil)
		for phase, want := range map[string]string{
			"type: gamma, rate: 30, smoothness: 0.2, requests: 2": "gamma 30/s, smoothness 0.2\n", "type: gamma, rate: 30, requests: 2": "gamma 30/s\n",
			"type: poisson, rate: 30, concurrency: 2, requests: 2": "poisson 30/s, at most 2 at a time\n",
		} {
			r := b.run(document(phase, fileData))
			console, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), export.NamesFor("").Console))
			if err != nil || !strings.Contains(string(console), "Load:      "+want) {
				t.Errorf("no %q in %s, error %v", want, console, err)
			}
		}
		b.stop()
	})
}

// The summary names the percentiles that too few requests support.
func TestSummaryNamesUnsupportedPercentiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Millisecond, time.Millisecond), nil)
		all := []string{
			"time_to_first_token_p50_ms", "time_to_first_token_p99_ms", "inter_token_latency_p99_ms",
			"request_latency_p50_ms", "request_latency_p99_ms",
		}
		if got := b.run(document("type: concurrency, concurrency: 1, requests: 2", fileData)).Summary.Unsupported; !slices.Equal(got, all) {
			t.Errorf("of 2 requests: %v, want %v", got, all)
		}
		if got := b.run(document("type: concurrency, concurrency: 1, requests: 600", fileData)).Summary.Unsupported; got == nil || len(got) > 0 {
			t.Errorf("of 600 requests: %#v, want none", got)
		}
		b.stop()
	})
}

// A closed loop has no rate; requests cut by the grace period cause one warning.
func TestSaturationOfAClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 400*time.Millisecond, 50*time.Millisecond), serving(1))
		r := b.run(document("type: concurrency, concurrency: 20, duration: 2.8, gracePeriod: 0", fileData))
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if err != nil || snap.Saturation != nil || r.Summary.Saturation != nil {
			t.Errorf("snapshot %+v, error %v", snap.Saturation, err)
		}
		i := slices.IndexFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "cut-by-grace" })
		want := "20 of 25 requests were still running when the grace period of phase profiling ended; the slowest are missing, so percentiles are lower bounds"
		if i < 0 || r.Warnings[i].Detail != want {
			t.Errorf("warnings %+v", r.Warnings)
		}
		b.stop()
	})
}
