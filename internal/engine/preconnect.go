package engine

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

const (
	// assumedLatency is how long requests are expected to take while none has been
	// answered.
	assumedLatency = 2 * time.Second
	// maxAhead is the most connections that are opened ahead of an open loop, whose
	// need is an estimate.
	maxAhead = 1000
)

// preconnect opens the connections that the requests of a phase will need at the same
// time, as far as the pool lacks them, and returns what each has cost. It takes the
// connect timeout at most, and stops when the run is cancelled. Nothing of it is
// inside a timed window.
func (x *execution) preconnect(ctx context.Context, p *plan.Phase) []bench.Setup {
	if !x.plan.Preconnect || x.cancel.cancelled() {
		return nil
	}
	limit := cmp.Or(x.plan.Transport.ConnectTimeout, transport.DefaultConnectTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	x.cancel.onCancel(cancel)
	defer x.cancel.onCancel(nil)
	urls := make([]*url.URL, atOnce(p, usualLatency(x.finished)))
	for i := range urls {
		urls[i] = x.plan.Targets[x.work.Target(int64(i))].URL
	}
	return x.client.Preconnect(ctx, urls)
}

// atOnce returns how many requests of a phase are expected to be under way at the same
// time: what a closed loop keeps under way, or the rate of an open loop times the
// time that 90 % of the requests of the phase before took at most.
func atOnce(p *plan.Phase, latency time.Duration) int {
	n := p.Concurrency
	if p.Arrivals != nil {
		need := maxAhead
		if want := math.Ceil(p.Rate * latency.Seconds()); want < maxAhead {
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

// usualLatency is the 90th percentile of the latency in the last phase with an answer.
func usualLatency(finished []finishedPhase) time.Duration {
	for i := len(finished) - 1; i >= 0; i-- {
		if h, ok := finished[i].Set.Histogram("request_latency"); ok && h.Count() > 0 {
			return time.Duration(h.Quantile(0.9) * float64(time.Second))
		}
	}
	return assumedLatency
}
