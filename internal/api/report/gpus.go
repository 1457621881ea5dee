package report

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/view"
)

// gpus returns what the GPUs did in the profiling phases: first in words, as the console has it, then each of them
// with its energy. r may be nil.
func gpus(r *gpu.Report) []table {
	if r == nil {
		return nil
	}
	words := newTable("GPUs", []string{"Phase", "", "What their metrics say"})
	cards := newTable("Each GPU", []string{"Phase", "GPU"}, "used", "W avg", "W max", "MHz avg", "°C max", "J", "J ±")
	phases := 0
	for i := range r.Phases {
		p := &r.Phases[i]
		if p.Kind != string(bench.Profiling) || len(p.Devices) == 0 {
			continue
		}
		phases++
		for _, f := range p.Findings {
			words.Rows = append(words.Rows, []string{p.Name, "Finding", f.Message})
		}
		for j := range p.Vendors {
			if line := p.Vendors[j].Line(); line != "" {
				words.Rows = append(words.Rows, []string{p.Name, "GPU", line})
			}
		}
		for j := range p.Devices {
			cards.Rows = append(cards.Rows, append([]string{p.Name}, deviceRow(&p.Devices[j])...))
		}
	}
	out := []table{words, cards}
	if phases < 2 {
		for i := range out {
			out[i].dropFirst()
		}
	}
	return out
}

// deviceRow returns a device and its numbers.
func deviceRow(d *gpu.Device) []string {
	of := func(name string, pick func(*gpu.Metric) *float64, write func(float64) string) string {
		if m := d.Metric(name); m != nil && pick(m) != nil {
			return write(*pick(m))
		}
		return view.Absent
	}
	mean := func(m *gpu.Metric) *float64 { return m.Avg }
	most := func(m *gpu.Metric) *float64 { return m.Max }
	row := []string{
		d.Label(), of("util", mean, func(v float64) string { return view.Percent(v / 100) }), of("power", mean, view.Figure),
		of("power", most, view.Figure), of("sm_clock", mean, view.Figure), of("temp", most, view.Figure),
	}
	if d.Energy == nil {
		return append(row, view.Absent, view.Absent)
	}
	return append(row, view.Figure(d.Energy.Joules), view.Figure(d.Energy.Bound))
}
