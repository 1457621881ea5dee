package engine

import (
	"context"
	"slices"
	"time"

	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/telemetry/roundtrip"
	"aiperfd/internal/engine/transport"
)

// roundTrips are the probes of the way to the servers.
type roundTrips struct {
	prober    *roundtrip.Prober
	addresses []string // of the targets of the plan, in order; empty = the server has no address
}

// lookupTimeout limits the look-up of the names of servers that are probed.
const lookupTimeout = 5 * time.Second

// probeNetwork prepares the probes of the way to the servers, if the document asks for them.
func (x *prepared) probeNetwork(env *environment) collect.RunObserver {
	n := &x.plan.Document.Benchmark.NetworkLatency
	if !n.Enabled || n.MeanMS != nil {
		return collect.RunObserver{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	connections := env.connections(x.plan, x.clock)
	x.trips = &roundTrips{}
	var servers []roundtrip.Server
	for i := range x.plan.Targets {
		t := &x.plan.Targets[i]
		address := ""
		probe, err := transport.NewProbe(ctx, &connections, t.URL)
		if err != nil {
			x.warnings.add("network-latency", env.secrets.String("no round trip to "+t.Shown+" is measured: "+err.Error()))
		} else {
			address = probe.Address()
			if !slices.ContainsFunc(servers, func(s roundtrip.Server) bool { return s.Address() == address }) {
				servers = append(servers, roundtrip.Server{Probe: probe, URL: t.Shown})
			}
		}
		x.trips.addresses = append(x.trips.addresses, address)
	}
	x.trips.prober = roundtrip.New(roundtrip.Options{
		Servers: servers, Interval: n.PingInterval.Duration(), Clock: x.clock, Lines: x.files.NetworkLines(),
		Redact: env.secrets.String,
	})
	return collect.NewRoundTrips(x.trips.prober, env.cancel.forced)
}

// network returns the round trips to the targets; nil = none is known. Call it after the observers have ended.
func (r *roundTrips) network(report *paths.Report) *measure.Network {
	if r == nil {
		return nil
	}
	return collect.RoundTrips(r.addresses, r.prober.Results(), report)
}
