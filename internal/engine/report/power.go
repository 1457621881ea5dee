package report

import (
	"math"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/telemetry/gpu"
)

// addPower adds what the accelerators used to a report: to its phases, and to the profiling phases together.
func addPower(rep *export.Report, r *gpu.Report, phases []Measured) {
	if rep.GPU = r; r == nil {
		return
	}
	users := math.NaN()
	for i := range phases {
		one := math.NaN()
		if n := slots(phases[i].Plan); n > 0 {
			one = float64(n)
		}
		if phases[i].Plan.Kind == bench.Profiling && !phases[i].Plan.Excluded && math.IsNaN(users) {
			users = one // AIPerf's: those of the first profiling phase
		}
		for j := range r.Phases {
			if r.Phases[j].Name == rep.Phases[i].Stats.Name {
				rep.Phases[i].Results = withPower(rep.Phases[i].Results, &r.Phases[j], one)
			}
		}
	}
	if r.Profiling != nil {
		rep.Results = withPower(rep.Results, r.Profiling, users)
	}
}

// withPower returns results with the metrics of accelerators.
func withPower(rs metric.Results, p *gpu.Phase, users float64) metric.Results {
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	if len(rs) == 0 {
		return rs
	}
	out := slices.Clone(rs)
	for _, s := range p.Vendors {
		of := &catalogue.Power{
			Energy: known(s.Energy), Net: known(s.Net), Average: known(s.Power), Mean: known(s.Mean),
			Peak: known(s.Peak), Limit: known(s.Limit),
			Cards: float64(s.Cards), Users: users,
			Value: func(tag string) float64 {
				v, ok := rs.Value(tag, metric.Avg)
				if !ok {
					return math.NaN()
				}
				return v
			},
		}
		for _, row := range catalogue.PowerOf(s.Vendor) {
			one := metric.Result{Def: &row.Def}
			if one.Set(metric.Avg, row.Power(of)); !one.Empty() {
				out = append(out, one)
			}
		}
	}
	return out
}
