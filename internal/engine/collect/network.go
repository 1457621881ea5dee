package collect

import (
	"math"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/telemetry/roundtrip"
)

// NewRoundTrips returns the observer that probes the servers while profiling phases are performed. forced reports
// whether nobody waits for missing probes any more.
func NewRoundTrips(p *roundtrip.Prober, forced func() bool) RunObserver {
	return RunObserver{
		Phase: func(phase *spec.Phase, _ *measure.Set) Observer {
			if phase.Kind != bench.Profiling {
				return Observer{}
			}
			return Observer{
				Begin: func(Load) { p.Begin() },
				Look: func(l *Look) {
					if l.Last {
						p.End()
					}
				},
			}
		},
		End: func(warn func(code, detail string)) {
			if err := p.Close(!forced()); err != nil {
				warn("network-latency-incomplete", "the lines of the probes of the network: "+err.Error())
			}
			for _, r := range p.Results() {
				if len(r.Trips) == 0 && r.Failed > 0 {
					warn("network-latency", "no probe of "+r.Address+" succeeded: "+r.LastError)
				}
			}
		},
	}
}

// RoundTrips returns the round trips to the servers of a run at some addresses: the least that probes measured, or the
// kernel of the connections of the load. nil = none is known.
func RoundTrips(addresses []string, probes []roundtrip.Result, report *paths.Report) *measure.Network {
	least := map[string]float64{}
	add := func(address string, trip float64) {
		if old, ok := least[address]; !ok || trip < old {
			least[address] = trip
		}
	}
	out := &measure.Network{}
	for i := range probes {
		for _, trip := range probes[i].Trips {
			out.Trips = append(out.Trips, float64(trip))
			add(probes[i].Address, float64(trip))
		}
	}
	if report != nil {
		const ms = 1e6
		for i := range report.Targets {
			if t := &report.Targets[i]; t.MinRTT != nil {
				add(t.Target, *t.MinRTT*ms)
			}
		}
	}
	for _, address := range addresses {
		trip, ok := least[address]
		if !ok {
			trip = math.NaN()
		}
		out.Least = append(out.Least, trip)
	}
	if len(least) == 0 {
		return nil
	}
	return out
}
