package engine

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

const (
	// assumedLatency is the expected latency before the first response.
	assumedLatency = 2 * time.Second
	// maxPreconnect is the most connections that are opened before an open loop, whose
	// need is an estimate.
	maxPreconnect = 1000
	// replayConnections is the same before a replay, whose need is unknown.
	replayConnections = 64
)

// preconnect opens the connections that the requests of a phase will need at the same
// time and the pool does not have, and returns how long each took. It takes the
// connect timeout at most, and stops when the run is cancelled. It runs outside the
// timed windows.
func (x *execution) preconnect(ctx context.Context, p *spec.Phase) []bench.Setup {
	with := x.prepared
	if !with.plan.Preconnect || x.env.cancel.cancelled() {
		return nil
	}
	limit := cmp.Or(with.plan.Transport.ConnectTimeout, transport.DefaultConnectTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	x.env.cancel.onCancel(cancel)
	defer x.env.cancel.onCancel(nil)
	urls := make([]*url.URL, atOnce(p, usualLatency(x.finished())))
	for i := range urls {
		urls[i] = with.plan.Targets[with.work.Target(int64(i))].URL
	}
	return with.client.Preconnect(ctx, urls)
}

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

// usualLatency returns the 90th percentile of the latency in the last phase with a
// response.
func usualLatency(finished []finishedPhase) time.Duration {
	for _, f := range slices.Backward(finished) {
		if h, ok := f.Set.Histogram("request_latency"); ok && h.Count() > 0 {
			return time.Duration(h.Quantile(0.9) * float64(time.Second))
		}
	}
	return assumedLatency
}
