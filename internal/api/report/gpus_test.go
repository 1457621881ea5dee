package report

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
)

// TestGPUs compares the section about GPUs with what it should be; a value that a card does not have is absent.
func TestGPUs(t *testing.T) {
	p := gpu.Phase{
		Name: "profiling", Kind: "profiling",
		Devices: []gpu.Device{
			{
				Identity: gpu.Identity{Vendor: gpu.NVIDIA, Index: 0, Host: "n1", UUID: "GPU-a"},
				Energy:   &gpu.Energy{Joules: 30750, Bound: 512},
				Metrics: []gpu.Metric{
					{Name: "util", Avg: new(97.0)}, {Name: "power", Avg: new(512.0), Max: new(690.0)},
					{Name: "sm_clock", Avg: new(1755.0)}, {Name: "temp", Max: new(71.0)}, {Name: "throttle_power", Total: new(2.0)},
				},
			},
			{Identity: gpu.Identity{Vendor: gpu.NVIDIA, Index: 1, Host: "n1"}, Metrics: []gpu.Metric{{Name: "power", Avg: new(60.0), Max: new(61.0)}}},
		},
		Vendors:  []gpu.Sum{{Vendor: gpu.NVIDIA, Cards: 2, Mean: new(572.0)}},
		Findings: []diagnose.Finding{{Code: "hot", Message: "heat held down the clocks"}},
	}
	r := &gpu.Report{Phases: []gpu.Phase{{Name: "warm", Kind: "warmup", Devices: p.Devices}, p}}
	one := (&text{Tables: gpus(r)}).markdown()
	for _, want := range []string{
		"**GPUs**", "| Finding | heat held down the clocks |", "| GPU | 2 of nvidia, 572 W on average |",
		"| GPU 0 of n1 | 97 % | 512 | 690 | 1,755 | 71.0 | 30,750 | 512 |",
		"| GPU 1 of n1 | – | 60.0 | 61.0 | – | – | – | – |",
	} {
		if !strings.Contains(one, want) {
			t.Errorf("no %s in\n%s", want, one)
		}
	}
	p.Name = "second"
	r.Phases = append(r.Phases, p)
	if two := (&text{Tables: gpus(r)}).markdown(); !strings.Contains(two, "| second | GPU 0 of n1 |") || strings.Contains(two, "warm") {
		t.Errorf("of two phases:\n%s", two)
	}
	if tables := gpus(nil); tables != nil {
		t.Errorf("without GPUs: %v", tables)
	}
}
