package engine_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/bench"
)

// readJSON reads a file of a run.
func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// A run of several phases has files with what servers and accelerators did in each of them.
func TestPhaseTelemetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := batching(nil)
		o.GPUs = 2
		b := newBed(t, o, nil)
		r := b.run(`{benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, ` + streamedLoad + `, serverMetrics: true, gpuTelemetry: "http://mem/dcgm",
			artifacts: {sliceDuration: 1}, phases: [{name: warmup, requests: 16, concurrency: 16}, {name: calm, kind: profiling, requests: 100, concurrency: 2},
				{name: busy, kind: profiling, requests: 150, concurrency: 24}]}}`)
		if r.State != bench.StateCompleted {
			t.Fatalf("%v %+v", r.State, r.Error)
		}
		dir := b.store.Dir(r.ID)
		var manifest struct {
			Phases []struct {
				Name   string  `json:"phase_name"`
				Start  int64   `json:"start_ns"`
				GPU    string  `json:"gpu_telemetry_json"`
				Server string  `json:"server_metrics_json"`
				Count  float64 `json:"total_request_count"`
			}
		}
		readJSON(t, filepath.Join(dir, "phase_manifest.json"), &manifest)
		devices, truth := b.devicesOf(r), b.server.Truth()
		for i, want := range []struct {
			name     string
			requests int
		}{{"warmup", 16}, {"calm", 100}, {"busy", 150}} {
			entry := manifest.Phases[i]
			if entry.Name != want.name || entry.GPU != "phases/"+want.name+"/gpu_telemetry.json" || entry.Server != "phases/"+want.name+"/server_metrics.json" {
				t.Fatalf("entry %+v of %s", entry, want.name)
			}
			output := 0.0
			for _, one := range truth[:want.requests] {
				output += float64(one.OutputTokens)
			}
			truth = truth[want.requests:]
			var server struct {
				Phase struct {
					Name  string `json:"phase_name"`
					Kind  string `json:"phase_kind"`
					Start int64  `json:"start_ns"`
				}
				Data struct {
					Index     int `json:"phase_index"`
					Summaries map[string]struct {
						Metrics map[string]struct{ Series []serverMetricsSeries }
					} `json:"endpoint_summaries"`
				}
			}
			readJSON(t, filepath.Join(dir, filepath.FromSlash(entry.Server)), &server)
			if server.Phase.Name != want.name || server.Phase.Start != entry.Start || server.Data.Index != i {
				t.Errorf("server metrics of %s: phase %+v, index %d", want.name, server.Phase, server.Data.Index)
			}
			settled, slices := 0.0, 0
			for _, s := range server.Data.Summaries["mem"].Metrics["vllm:generation_tokens"].Series {
				if total, ok := s.Ours["total_settled"].(float64); ok {
					settled += total
				}
				slices += len(s.Slices)
			}
			if settled != output || slices == 0 {
				t.Errorf("%s: the server counts %v tokens in %d slices, want %v", want.name, settled, slices, output)
			}
			var gpus struct {
				Data struct {
					Endpoints map[string]struct {
						GPUs map[string]struct {
							Metrics map[string]map[string]any
						}
					}
				}
			}
			readJSON(t, filepath.Join(dir, filepath.FromSlash(entry.GPU)), &gpus)
			for j, key := range []string{"gpu_0", "gpu_1"} {
				energy, _ := gpus.Data.Endpoints["mem/dcgm"].GPUs[key].Metrics["nvidia_energy_consumption"]["avg"].(float64)
				e := devices.Phases[i].Devices[j].Energy
				if m := devices.Phases[i].Devices[j].Metric("energy"); e == nil || m == nil || energy <= 0 || math.Abs(energy*1e6-*m.Total) > 1e-6*(*m.Total) {
					t.Errorf("%s, %s: %v MJ, want %+v", want.name, key, energy, m)
				}
			}
		}
	})
}
