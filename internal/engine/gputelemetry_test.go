package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/mock"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// devicesOf returns what a run says of its accelerators.
func (b *bed) devicesOf(r *run.Run) *gpu.Report {
	b.t.Helper()
	d, err := results.Open(b.store.Dir(r.ID), "").Devices()
	if err != nil || d == nil {
		b.t.Fatalf("devices: %v, %v", d, err)
	}
	return d
}

// watched is the true energy of all cards of a server over time.
type watched struct {
	at     []time.Time
	joules [][]float64
}

// watch reads the truth until stop is closed.
func (w *watched) watch(s *mock.Server, stop <-chan struct{}) {
	for {
		var joules []float64
		for _, g := range s.State().GPUs {
			joules = append(joules, g.Energy)
		}
		w.at, w.joules = append(w.at, time.Now()), append(w.joules, joules)
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// between returns the energy of a card between two instants, interpolated.
func (w *watched) between(card int, from, to time.Time) float64 {
	value := func(at time.Time) float64 {
		i, _ := slices.BinarySearchFunc(w.at, at, func(a, b time.Time) int { return a.Compare(b) })
		i = min(max(i, 1), len(w.at)-1)
		share := float64(at.Sub(w.at[i-1])) / float64(w.at[i].Sub(w.at[i-1]))
		return w.joules[i-1][card] + share*(w.joules[i][card]-w.joules[i-1][card])
	}
	return value(to) - value(from)
}

// TestGPUTruth compares the energy of runs with the truth of a server whose exporter refreshes more or less often.
func TestGPUTruth(t *testing.T) {
	for _, refresh := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second} {
		for _, seconds := range []float64{6, 60} {
			t.Run(fmt.Sprintf("%v, %v s", refresh, seconds), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := batching(nil)
					o.GPUs, o.GPURefresh, o.GPULag = 2, refresh, min(refresh/2, 200*time.Millisecond)
					b := newBed(t, o, nil)
					var truth watched
					stop, stopped := make(chan struct{}), make(chan struct{})
					go func() {
						defer close(stopped)
						truth.watch(b.server, stop)
					}()
					time.Sleep(3700 * time.Millisecond)
					r := b.run(fmt.Sprintf(`{benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, %s, gpuTelemetry: "http://mem/dcgm",
						phases: [{name: warmup, requests: 16, concurrency: 16}, {name: profiling, duration: %v, gracePeriod: 0, concurrency: 24}]}}`, streamedLoad, seconds))
					close(stop)
					<-stopped
					if r.State != bench.StateCompleted {
						t.Fatalf("%v %+v", r.State, r.Error)
					}
					d := b.devicesOf(r)
					p := d.Profiling
					if p == nil || len(p.Devices) != 2 || math.Abs(p.Seconds-seconds) > 0.2 {
						t.Fatalf("profiling %+v", p)
					}
					total, all := 0.0, 0.0
					for i := range p.Devices {
						e := p.Devices[i].Energy
						want := truth.between(p.Devices[i].Index, p.Start, p.End)
						if e == nil {
							t.Fatalf("no energy of %+v", p.Devices[i].Identity)
						}
						if math.Abs(e.Joules-want) > e.Bound {
							t.Errorf("card %d: %.1f J ± %.1f by %s, but it is %.1f", i, e.Joules, e.Bound, e.Source, want)
						}
						t.Logf("card %d: %.1f J ± %.1f by %s, it is %.1f", i, e.Joules, e.Bound, e.Source, want)
						total, all = total+e.Joules, all+want
					}
					if v := b.value(r.ID, "nvidia_total_gpu_energy", "avg"); math.Abs(v-total) > 1e-6*total {
						t.Errorf("nvidia_total_gpu_energy %v, want %v", v, total)
					}
					tokens := b.value(r.ID, "total_osl", "avg")
					if v := b.value(r.ID, "nvidia_energy_per_output_token", "avg"); math.Abs(v-1000*total/tokens) > 1e-6*v {
						t.Errorf("nvidia_energy_per_output_token %v, want %v", v, 1000*total/tokens)
					}
					coarse := slices.ContainsFunc(p.Findings, func(f diagnose.Finding) bool { return f.Code == "energy-coarse" })
					if want := refresh == 30*time.Second || refresh == time.Second && seconds < 60; coarse != want && refresh > 100*time.Millisecond {
						t.Errorf("findings %+v", p.Findings)
					}
					checkDeviceFiles(t, b.store.Dir(r.ID), seconds)
				})
			})
		}
	}
}

// checkDeviceFiles checks AIPerf's files.
func checkDeviceFiles(t *testing.T, dir string, seconds float64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "profile_export_aiperf.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Telemetry struct {
			Summary   map[string]any
			Endpoints map[string]struct {
				GPUs map[string]struct {
					UUID    string `json:"gpu_uuid"`
					Metrics map[string]map[string]any
				}
			}
			Errors []any `json:"error_summary"`
		} `json:"telemetry_data"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	cards := file.Telemetry.Endpoints["mem/dcgm"].GPUs
	if len(cards) != 2 || cards["gpu_1"].Metrics["nvidia_power_usage"]["p99"] == nil || cards["gpu_0"].Metrics["nvidia_energy_consumption"]["unit"] != "MJ" ||
		file.Telemetry.Errors == nil || len(file.Telemetry.Errors) > 0 {
		t.Errorf("telemetry_data %+v", file.Telemetry)
	}
	text, err := os.ReadFile(filepath.Join(dir, "profile_export_aiperf.csv"))
	if err != nil || !bytes.Contains(text, []byte("mem/dcgm,1,NVIDIA H100 80GB HBM3,GPU-")) {
		t.Errorf("CSV: %v\n%s", err, text)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "gpu_telemetry_export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(lines)) {
		var one struct {
			Index int                `json:"gpu_index"`
			Data  map[string]float64 `json:"telemetry_data"`
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil || one.Data["nvidia_power_usage"] < 60 {
			t.Fatalf("%v: %s", err, line)
		}
		count++
	}
	if count < 2 || float64(count) > 20*seconds {
		t.Errorf("%d lines", count)
	}
}

// TestGPUTroubles: whatever an exporter answers, the run completes, and does not last longer than settling takes. What
// nobody asked for is silent.
func TestGPUTroubles(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"missing": http.NotFound,
		"failing": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		"foreign": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "some_metric 1\n") },
		"garbled": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "\x00{{{ DCGM_FI_DEV_POWER_USAGE{gpu=")
		},
		"enormous": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Repeat("DCGM_FI_DEV_POWER_USAGE 1\n", 20<<20/26))
		},
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		for _, given := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, given: %t", name, given), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), pageInstead(serve))
					section := "true"
					if given {
						section = `"exporter:9400"`
					}
					before := time.Now()
					r := b.run(`{benchmark: {model: m, endpoint: {url: "http://mem"}, gpuTelemetry: ` + section + `, ` + streamedLoad + `, phases: {requests: 20, concurrency: 2}}}`)
					if took := time.Since(before); took > 7*time.Second { // of which the load takes 3
						t.Errorf("it took %v", took)
					}
					if r.State != bench.StateCompleted || r.Summary.Errors != 0 {
						t.Errorf("%v, %+v", r.State, r.Error)
					}
					warned := slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool {
						return w.Code == "gpu-telemetry" && strings.HasPrefix(w.Detail, "no GPU metrics of http://exporter:9400/metrics (")
					})
					if warned != given {
						t.Errorf("warnings %+v", r.Warnings)
					}
					d, err := results.Open(b.store.Dir(r.ID), "").Devices()
					if err != nil || (d != nil) != given || given && len(d.Phases) != 0 {
						t.Errorf("devices %+v, %v", d, err)
					}
					if _, err := os.Stat(filepath.Join(b.store.Dir(r.ID), "gpu_telemetry_export.jsonl")); err == nil {
						t.Error("there is a file of lines")
					}
				})
			})
		}
	}
}

// Idle cards are measured before the first request, and what they use is subtracted.
func TestIdleBaseline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, batching(nil), nil)
		r := b.run(`{benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, ` + streamedLoad + `, serverMetrics: {enabled: false},
			gpuTelemetry: {urls: ["http://mem/dcgm/metrics"], idleBaseline: 10}, phases: [{name: profiling, requests: 200, concurrency: 8}]}}`)
		if r.State != bench.StateCompleted {
			t.Fatalf("%v %+v", r.State, r.Error)
		}
		d := b.devicesOf(r)
		if d.Idle == nil || d.Idle.Seconds != 10 || len(d.Phases) != 1 {
			t.Fatalf("idle %+v, %d phases", d.Idle, len(d.Phases))
		}
		p := &d.Phases[0]
		if wait := p.Start.Sub(d.Idle.End); wait < 0 || wait > 3*time.Second {
			t.Errorf("the phase began %v after the idle time", wait)
		}
		idle, busy := &d.Idle.Vendors[0], &p.Vendors[0]
		if *idle.Power >= *busy.Power {
			t.Errorf("%v W idle, %v W busy", *idle.Power, *busy.Power)
		}
		want := *busy.Energy - *idle.Power*p.Seconds
		if busy.Net == nil || math.Abs(*busy.Net-want) > 1e-6*want || *busy.Net <= 0 || *busy.NetBound < *busy.Bound {
			t.Errorf("net %v ± %v J of %v, want %v", busy.Net, busy.NetBound, *busy.Energy, want)
		}
		if perToken, tokens := b.value(r.ID, "nvidia_net_energy_per_output_token", "avg"), b.value(r.ID, "total_osl", "avg"); math.Abs(perToken*tokens/1000-want) > 0.01*want {
			t.Errorf("%v mJ per token of %v tokens, want %v J", perToken, tokens, want)
		}
	})
}

// A run that is cancelled while the idle cards are measured ends at once.
func TestIdleBaselineCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, batching(nil), nil)
		id := b.submit(`{benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, ` + streamedLoad + `,
			gpuTelemetry: {urls: ["http://mem/dcgm/metrics"], idleBaseline: 600}, phases: [{name: profiling, requests: 200, concurrency: 8}]}}`)
		time.Sleep(20 * time.Second)
		b.cancel(id, run.CancelRequest{})
		if r := b.wait(id); r.State != bench.StateCancelled || r.EndedAt.Sub(*r.StartedAt) > 25*time.Second {
			t.Errorf("%v after %v", r.State, r.EndedAt.Sub(*r.StartedAt))
		}
	})
}
