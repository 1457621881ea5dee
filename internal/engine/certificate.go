package engine

import (
	"context"
	"fmt"
	"net"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/certify"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/transport"
)

// certification has the client of a run measure itself.
type certification struct{ *execution }

// run has the client measure itself at the load of the run, if the plan says
// that it is the time for that. A failure is a warning, not the end of the run; a
// cancel of the run ends it.
func (x *certification) run(ctx context.Context, when string, network func() (net.Listener, certify.Dial, error)) {
	if x.plan.Certify != when || x.cancel.cancelled() {
		return
	}
	o := x.reference()
	o.Network = network
	c, err := certify.Run(ctx, o)
	switch {
	case err == nil:
		c.When = when
		x.observed.certificate = c
		if x.plan.Transport.Version != transport.HTTP1 {
			x.warn("certified-http1", "the certificate of the client was made over HTTP/1.1, not over HTTP/2 as the run")
		}
	case !x.cancel.cancelled():
		x.warn("not-certified", fmt.Sprintf("the client could not be certified: %v", err))
	}
}

// reference says what load to certify for: that of the heaviest phase that enters
// the result.
func (x *certification) reference() certify.Options {
	o := certify.Options{Transport: x.transport(bench.Clock{}), Pacer: x.system.pacer, RequestBytes: x.requestBytes()}
	for i := range x.plan.Phases {
		p := &x.plan.Phases[i]
		if !p.Counted() {
			continue
		}
		if p.Arrivals == nil {
			o.Concurrency = max(o.Concurrency, p.Concurrency)
		} else {
			o.Rate = max(o.Rate, p.Rate)
		}
	}
	if o.Rate == 0 {
		o.Concurrency = max(o.Concurrency, 1) // a run of nothing but warm-up
	}
	if o.Transport.Dial == nil && len(x.plan.Targets) > 0 && (x.plan.Targets[0].URL.Scheme != "http" || x.plan.Indirect()) {
		o.Transport.Dial = (&net.Dialer{}).DialContext // as to such a target: over net/http
	}
	o.Transport.Sockets, o.Transport.Proxy, o.Transport.EnvProxy, o.Transport.TLS = nil, nil, false, nil // the way to the server is not the client's
	o.Transport.Version = transport.HTTP1
	var chunks, received int64
	for i := range x.finished {
		f := &x.finished[i]
		if f.Plan.Kind == bench.Profiling {
			chunks, received = chunks+f.chunks, received+f.public.Counters.BytesReceived
		}
	}
	if chunks > 0 {
		o.ChunkBytes = int(min(max(received/chunks, 1), certify.MaxChunkBytes))
	}
	return o
}

// requestBytes is the mean size of a first request, by a few of them.
func (x *certification) requestBytes() int {
	const most = 16
	total, count, tokenIDs := 0, 0, x.tokenIDs()
	if tokenIDs == nil {
		tokenIDs = func(*bench.Turn, string) []int { return nil }
	}
	for i := range min(x.data.first.Len(), most) {
		conversation := x.data.first.At(i)
		body, err := x.plan.Kind.Body(nil, &endpoint.Request{
			Model: conversation.Model, System: conversation.System, Context: conversation.Context, Turn: conversation.Turns[0],
			TokenIDs: tokenIDs(&conversation.Turns[0], conversation.Model), Settings: &x.plan.Settings,
		})
		if err == nil {
			total, count = total+len(body), count+1
		}
	}
	return total / max(count, 1)
}
