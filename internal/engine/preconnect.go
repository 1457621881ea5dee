package engine

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// assumedLatency is the expected latency before the first response.
const assumedLatency = 2 * time.Second

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
