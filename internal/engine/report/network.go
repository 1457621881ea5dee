package report

import (
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/metric/measure"
)

// adjust says which round trips are subtracted from the latencies of phases: the one that the document gives, or those
// that were measured; nil = they are not known.
func adjust(phases []Measured, d *config.Document, measured *measure.Network) {
	n := &d.Benchmark.NetworkLatency
	if !n.Enabled {
		return
	}
	if n.MeanMS != nil {
		if measured = nil; *n.MeanMS > 0 {
			const nanoseconds = 1e6
			given := []float64{*n.MeanMS * nanoseconds}
			measured = &measure.Network{Trips: given, Least: given}
		}
	}
	for i := range phases {
		phases[i].Set.Adjust(measured)
	}
}
