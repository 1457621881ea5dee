package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"time"

	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

const (
	// maxPreconnect is the most connections that are opened before an open loop, whose
	// need is an estimate.
	maxPreconnect = 1000
	// replayConnections is the same before a replay, whose need is unknown.
	replayConnections = 64
)

// atOnce returns how many requests of a phase are expected to be in flight at the same
// time: the concurrency of a closed loop, or the rate of an open loop times the 90th
// percentile of the latency in the phase before.
func atOnce(p *spec.Phase, latency time.Duration) int {
	n := p.Concurrency
	if p.Open() {
		need := maxPreconnect
		if p.Replay != nil {
			need = replayConnections
		}
		if want := math.Ceil(p.Rate * latency.Seconds()); p.Replay == nil && !p.PerSession && want < maxPreconnect {
			need = int(want)
		}
		n = min(need, cmp.Or(n, need))
	}
	for _, bound := range []int64{p.Requests, p.Sessions} {
		if bound > 0 {
			n = int(min(int64(n), bound))
		}
	}
	return n
}

// checkConnections returns an error if the process cannot open the connections that the
// closed loops of a plan need at a time. Before that it raises the limit of its open
// files.
func checkConnections(ctx context.Context, p *plan.Plan, o *transport.Options) error {
	if o.Version != transport.HTTP1 || o.Dial != nil {
		return nil // requests share connections, or they are none of the system
	}
	need := 0
	for i := range p.Phases {
		if ph := &p.Phases[i]; !ph.Open() {
			need = max(need, atOnce(ph, 0))
		}
	}
	if possible, ok := monitor.RaiseConnections(need); ok && possible < need {
		return fmt.Errorf("%d connections are needed at a time, this process can open %d because of its limit of open files, "+
			"and may not raise it: raise the hard limit (ulimit -Hn) or lower the concurrency", need, possible)
	}
	urls := make([]*url.URL, len(p.Targets))
	for i := range p.Targets {
		urls[i] = p.Targets[i].URL
	}
	if ports, ok := o.LocalPorts(ctx, urls, need); ok && ports < need {
		return fmt.Errorf("%d connections are needed at a time, this machine has %d local ports for them: "+
			"add source addresses (--source-address) or addresses of servers, extend net.ipv4.ip_local_port_range, "+
			"divide the load among load generators (docs/more-load.md), or lower the concurrency", need, ports)
	}
	return nil
}
