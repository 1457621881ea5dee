package prom

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/run"
)

// gpus emits what is known of the accelerators. What their exporters have beyond it is not exposed again: Prometheus
// scrapes those itself.
func (e *emitter) gpus(r *run.Run, snap *run.Snapshot, report *gpu.Report) {
	labels := []string{"run_id", "gpu", "host", "index", "vendor"}
	power := family("aiperf_gpu_power_watts", "Power of the GPU, as its exporter said last.", labels...)
	energy := family("aiperf_gpu_energy_joules_total", "Energy that the GPU has used since it was first read in the run.", labels...)
	for i := range report.Latest {
		card := &report.Latest[i]
		index := ""
		if card.Index >= 0 {
			index = strconv.Itoa(card.Index)
		}
		of := []string{r.ID, card.UUID, card.Host, index, card.Vendor}
		if card.Power != nil {
			e.gauge(power, *card.Power, of...)
		}
		if card.Energy != nil {
			e.out <- prometheus.MustNewConstMetric(energy, prometheus.CounterValue, *card.Energy, of...)
		}
	}
	if snap == nil {
		return
	}
	perToken := family("aiperf_energy_per_output_token_joules",
		"Energy of all GPUs in a profiling phase, per output token of its successful requests.", "run_id", "phase")
	for i := range report.Phases {
		p := &report.Phases[i]
		joules, known := 0.0, false
		for _, s := range p.Vendors {
			if s.Energy != nil {
				joules, known = joules+*s.Energy, true
			}
		}
		if p.Kind != string(bench.Profiling) || !known {
			continue
		}
		for j := range snap.Phases {
			if of := &snap.Phases[j]; of.Stats.Name == p.Name && of.Counters.OutputTokens > 0 {
				e.gauge(perToken, joules/float64(of.Counters.OutputTokens), r.ID, p.Name)
			}
		}
	}
}
