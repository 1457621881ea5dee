package prom

import (
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/run"
)

// TestGPUs compares the families about GPUs with literal text. Two vendors may have the same index and id on one host.
func TestGPUs(t *testing.T) {
	card := func(vendor, uuid string, index int) gpu.Identity {
		return gpu.Identity{Vendor: vendor, UUID: uuid, Index: index, Host: "n1"}
	}
	report := &gpu.Report{
		Latest: []gpu.Latest{
			{Identity: card(gpu.NVIDIA, "GPU-a", 0), Power: new(512.5), Energy: new(30750.0)},
			{Identity: card(gpu.NVIDIA, "0", 0), Power: new(70.0)},
			{Identity: card(gpu.AMD, "0", 0), Energy: new(10.0)},
			{Identity: card(gpu.AMD, "x", -1), Power: new(1.0)},
		},
		Phases: []gpu.Phase{
			{Name: "warm", Kind: "warmup", Vendors: []gpu.Sum{{Energy: new(5.0)}}},
			{Name: "p", Kind: "profiling", Vendors: []gpu.Sum{{Energy: new(900.0)}, {Energy: new(100.0)}, {}}},
			{Name: "unknown", Kind: "profiling", Vendors: []gpu.Sum{{}}},
			{Name: "silent", Kind: "profiling", Vendors: []gpu.Sum{{Energy: new(900.0)}}},
		},
	}
	snap := &run.Snapshot{}
	for name, tokens := range map[string]int64{"warm": 100, "p": 4000, "unknown": 10, "silent": 0} {
		snap.Phases = append(snap.Phases, run.Phase{
			Stats: bench.PhaseStats{Name: name}, Counters: run.Counters{OutputTokens: tokens},
		})
	}
	const want = `aiperf_energy_per_output_token_joules{phase="p",run_id="1"} 0.25
aiperf_gpu_energy_joules_total{gpu="0",host="n1",index="0",run_id="1",vendor="amd"} 10
aiperf_gpu_energy_joules_total{gpu="GPU-a",host="n1",index="0",run_id="1",vendor="nvidia"} 30750
aiperf_gpu_power_watts{gpu="0",host="n1",index="0",run_id="1",vendor="nvidia"} 70
aiperf_gpu_power_watts{gpu="GPU-a",host="n1",index="0",run_id="1",vendor="nvidia"} 512.5
aiperf_gpu_power_watts{gpu="x",host="n1",index="",run_id="1",vendor="amd"} 1
`
	if got := exposed(t, Run{Run: &run.Run{ID: "1"}, Snapshot: snap, GPU: report}, "aiperf_gpu_", "aiperf_energy_"); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := exposed(t, Run{Run: &run.Run{ID: "1"}, GPU: &gpu.Report{}}, "aiperf_gpu_", "aiperf_energy_"); got != "" {
		t.Errorf("without a GPU: got\n%s", got)
	}
}
