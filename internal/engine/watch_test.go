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

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/verdict"
)

// sections are the judgements in a summary file.
type sections struct {
	Client *struct {
		Verdict string
		Reasons []struct{ Code, Level, Phase string }
		Bias    []struct {
			Metric string
			P50    float64 `json:"p50_ms"`
			P99    float64 `json:"p99_ms"`
		}
		TickLag *struct {
			Count int64
			P99   float64 `json:"p99_ms"`
		} `json:"tick_lag"`
		Phases []struct{ Phase, Verdict string }
	}
	Stream *struct {
		Class    string
		Withheld map[string]map[string]json.RawMessage
	}
	Consistency struct {
		Checked  []string
		Warnings []verdict.Discrepancy
	}
	Notes []bench.Warning
}

func (b *bed) sections(id string) sections {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.store.Dir(id), export.NamesFor("").JSON))
	if err != nil {
		b.t.Fatal(err)
	}
	var s sections
	if err := json.Unmarshal(data, &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func codes(warnings []bench.Warning) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.Code)
	}
	return out
}

// In virtual time nothing is late, and every relation between the numbers holds.
func TestVerdictOfACalmClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil)
		r := b.run(document("type: concurrency, concurrency: 2, requests: 10", fileData))
		s := b.sections(r.ID)
		if s.Client.Verdict != "ok" || len(s.Client.Reasons) != 0 || s.Client.TickLag.P99 != 0 || s.Client.TickLag.Count/2 != 120 {
			t.Errorf("client = %+v, ticks %+v", s.Client, s.Client.TickLag)
		}
		for _, bias := range s.Client.Bias {
			if bias.P50 != 0 || bias.P99 != 0 {
				t.Errorf("bias of %s: %v, %v; want none", bias.Metric, bias.P50, bias.P99)
			}
		}
		want := []string{
			"requests-conserved", "records-conserved", "request-rate", "token-rate", "window", "littles-law", "concurrency-curve",
			"latency-sum", "events-within-tokens", "events-in-order", "percentiles-in-order",
		}
		if diff := cmp.Diff(want, s.Consistency.Checked); diff != "" || len(s.Consistency.Warnings) != 0 {
			t.Errorf("checked (-want +got):\n%swarnings %+v", diff, s.Consistency.Warnings)
		}
		if s.Stream.Class != "per_token" || len(s.Stream.Withheld) != 0 {
			t.Errorf("stream = %+v", s.Stream)
		}
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if err != nil || snap.Client.Verdict != verdict.OK || r.Client.Verdict != verdict.OK || snap.Stream.Streams != 10 {
			t.Errorf("snapshot %+v, run %+v, error %v", snap.Client, r.Client, err)
		}
		b.stop()
	})
}

// late is a ticker that is late by a fixed time.
type late struct {
	monitor.Ticker
	by time.Duration
}

func (l late) Wait(until time.Time) bool { return l.Ticker.Wait(until.Add(l.by)) }

// burning is a host on which this process uses every processor.
type burning struct{}

func (burning) Read() monitor.Totals {
	now := time.Duration(time.Now().UnixNano())
	return monitor.Totals{At: now, Cores: 1, CPU: &now}
}

// A client that could not keep up does not fail the run, but affects the verdict. In
// memory there are no kernel stamps, so late wake-ups are late stamps.
func TestVerdictOfAClientThatCouldNotKeepUp(t *testing.T) {
	tests := map[string]struct {
		options monitor.Options
		level   verdict.Level
		reason  string
	}{
		"woken late":     {monitor.Options{Host: still{}, Ticker: func() monitor.Ticker { return late{monitor.NewTimer(), 40 * time.Millisecond} }}, verdict.Suspect, "tick-lag"},
		"woken too late": {monitor.Options{Host: burning{}, Ticker: func() monitor.Ticker { return late{monitor.NewTimer(), 200 * time.Millisecond} }}, verdict.Invalid, "tick-lag"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newMonitoredBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil, tt.options)
				r := b.run(document("type: concurrency, concurrency: 2, requests: 10", fileData))
				if r.State != bench.StateCompleted || r.Client.Verdict != tt.level || r.Client.Reasons[0].Code != tt.reason {
					t.Errorf("run %s, client %+v", r.State, r.Client)
				}
				if got := codes(r.Warnings); !slices.Contains(got, "client-"+string(tt.level)) || !slices.Contains(got, "client-evidence") {
					t.Errorf("warnings: %v", got)
				}
				s := b.sections(r.ID)
				if s.Client.Verdict != string(tt.level) || s.Client.Reasons[0].Phase != "profiling" || len(s.Notes) == 0 {
					t.Errorf("file: %+v, notes %v", s.Client, s.Notes)
				}
				console, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), export.NamesFor("").Console))
				if want := "Client:    verdict " + string(tt.level) + ": time_to_first_token "; err != nil || !strings.Contains(string(console), want) {
					t.Errorf("no %q in %s, error %v", want, console, err)
				}
				b.stop()
			})
		})
	}
}

// A number that the console does not show and no objective uses decides nothing: it has a
// reason, but the verdict of the run stands, and there is no warning.
func TestUnreportedNumbersDecideNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := func() monitor.Ticker { return late{monitor.NewTimer(), 4 * time.Millisecond} }
		b := newMonitoredBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil, monitor.Options{Host: still{}, Ticker: woken})
		r := b.run(document("type: concurrency, concurrency: 2, requests: 10", fileData))
		if r.Client.Verdict != verdict.OK || len(r.Client.Reasons) != 1 || r.Client.Reasons[0].Concerns[0] != "inter_chunk_latency" || !r.Client.Reasons[0].Unreported {
			t.Errorf("client %+v", r.Client)
		}
		for _, code := range codes(r.Warnings) {
			if strings.HasPrefix(code, "client-") {
				t.Errorf("warnings: %v", codes(r.Warnings))
			}
		}
		asked := b.run(document("type: concurrency, concurrency: 2, requests: 10", fileData, `  runSlos: ["p99(inter_chunk_latency) < 25"]`))
		if asked.Client.Verdict == verdict.OK || !slices.Contains(codes(asked.Warnings), "client-"+string(asked.Client.Verdict)) {
			t.Errorf("with an objective of the number: client %+v, warnings %v", asked.Client, codes(asked.Warnings))
		}
		b.stop()
	})
}

// Fully used processors alone do not affect a number.
func TestBusyIsEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMonitoredBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil, monitor.Options{Host: burning{}, Ticker: monitor.NewTimer})
		r := b.run(document("type: concurrency, concurrency: 2, requests: 10", fileData))
		if r.Client.Verdict != verdict.OK || len(r.Client.Evidence) != 1 || r.Client.Evidence[0].Code != "cpu-share" {
			t.Errorf("client %+v", r.Client)
		}
		for _, code := range codes(r.Warnings) {
			if strings.HasPrefix(code, "client-") {
				t.Errorf("warnings: %v", codes(r.Warnings))
			}
		}
		b.stop()
	})
}

// On a quiet machine the verdict is ok, however short the run and however quick the
// server.
func TestVerdictOfAQuietMachine(t *testing.T) {
	quiet := monitor.Options{Host: still{}, Ticker: func() monitor.Ticker { return late{monitor.NewTimer(), 200 * time.Microsecond} }}
	loads := []string{
		"type: concurrency, concurrency: 1", "type: concurrency, concurrency: 16",
		"type: constant, rate: 200", "type: poisson, rate: 20", "type: gamma, rate: 50, smoothness: 0.2", "type: poisson, rate: 50, concurrency: 4",
	}
	for _, service := range []time.Duration{time.Microsecond, 20 * time.Millisecond, 2 * time.Second} {
		for _, load := range loads {
			t.Run(fmt.Sprintf("%v, %s", service, load), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newMonitoredBed(t, timing(t, service/2, service/4), nil, quiet)
					counts := []int{1, 2, 3, 4, 10, 100}
					if raceEnabled {
						counts = []int{1, 10} // the others run the same code
					} else if service == 20*time.Millisecond {
						counts = append(counts, 1000)
					}
					for _, n := range counts {
						r := b.run(document(fmt.Sprintf("%s, requests: %d", load, n), fileData))
						if r.State != bench.StateCompleted || r.Client.Verdict != verdict.OK || len(r.Client.Reasons) > 0 {
							t.Errorf("%d requests: %s, client %+v", n, r.State, r.Client)
						}
						if got := codes(r.Warnings); !strings.Contains(load, "rate: 50, concurrency") && slices.Contains(got, "saturated") {
							t.Errorf("%d requests: %+v", n, r.Warnings)
						}
					}
					b.stop()
				})
			})
		}
	}
}

// A run without a success has no numbers, and so no verdict on them.
func TestNoVerdictWithoutSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 0), func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(50 * time.Millisecond)
				http.Error(w, "no", http.StatusInternalServerError)
			})
		})
		r := b.run(document("type: concurrency, concurrency: 2, requests: 10", fileData))
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if r.State != bench.StateFailed || r.Client != nil || err != nil || snap.Client != nil {
			t.Errorf("run %s, client %+v, snapshot %+v, error %v", r.State, r.Client, snap.Client, err)
		}
		if s := b.sections(r.ID); s.Client != nil {
			t.Errorf("file: %+v", s.Client)
		}
		for _, code := range codes(r.Warnings) {
			if strings.HasPrefix(code, "client-") || code == "same-host" {
				t.Errorf("warnings: %v", codes(r.Warnings))
			}
		}
		b.stop()
	})
}

// Each profiling phase has its own window; a warm-up has none.
func TestVerdictByPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 0), nil)
		r := b.run(strings.Replace(document("type: concurrency, concurrency: 1, requests: 10", fileData), "    - {name: profiling",
			"    - {name: warmup, kind: warmup, type: concurrency, requests: 5}\n    - {name: first, kind: profiling, type: constant, rate: 5, requests: 10}\n    - {name: profiling", 1))
		s := b.sections(r.ID)
		var phases []string
		for _, p := range s.Client.Phases {
			phases = append(phases, p.Phase+" "+p.Verdict)
		}
		if diff := cmp.Diff([]string{"first ok", "profiling ok"}, phases); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
		b.stop()
	})
}

// A server that buffers its stream is named, and per-token percentiles are withheld;
// the members of the file that AIPerf has stay.
func TestBufferedStreamsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		r := b.run(document("type: concurrency, concurrency: 1, requests: 10", strings.ReplaceAll(fileData, "length: 3", "length: 9")))
		s := b.sections(r.ID)
		if s.Stream.Class != "buffered" || !slices.Contains(codes(r.Warnings), "stream-buffered") {
			t.Errorf("stream %+v, warnings %v", s.Stream, r.Warnings)
		}
		w := s.Stream.Withheld["inter_token_latency"]
		if string(w["percentiles"]) != "null" || len(w["reason"]) < 10 {
			t.Errorf("withheld: %s", w)
		}
		if got := b.value(r.ID, "inter_token_latency", "p50"); got != 0 {
			t.Errorf("inter_token_latency p50 = %v, want AIPerf's 0", got)
		}
		console, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), export.NamesFor("").Console))
		if err != nil || !strings.Contains(string(console), "withheld") {
			t.Errorf("the console does not say so: %s, %v", console, err)
		}
		b.stop()
	})
}
