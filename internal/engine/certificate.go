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

// certify certifies the client at the load of the run if the plan requests it for this
// moment. A failure is a warning and does not end the run; a cancel of the run ends
// the certification.
func (x *execution) certify(ctx context.Context, when string) {
	if x.prepared.plan.Certify != when || x.env.cancel.cancelled() {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x.env.cancel.onCancel(cancel)
	defer x.env.cancel.onCancel(nil)
	c, err := certify.Run(ctx, x.reference())
	switch {
	case err == nil:
		c.When = when
		x.certificate = c
		if x.prepared.plan.Transport.Version != transport.HTTP1 {
			x.prepared.warnings.add("certified-http1",
				"the certificate of the client was made over HTTP/1.1, not over HTTP/2 as the run")
		}
	case !x.env.cancel.cancelled():
		x.prepared.warnings.add("not-certified", fmt.Sprintf("the client could not be certified: %v", err))
	}
}

// reference returns the load to certify for: that of the heaviest phase that enters
// the result.
func (x *execution) reference() certify.Options {
	with := x.prepared.plan
	o := certify.Options{
		Transport: x.env.connections(with, bench.Clock{}), Pacer: x.env.opts.Pacer, Network: x.env.opts.Reference,
		RequestBytes: x.requestBytes(),
	}
	for i := range with.Phases {
		p := &with.Phases[i]
		if !p.Counted() {
			continue
		}
		if !p.Open() {
			o.Concurrency = max(o.Concurrency, p.Concurrency)
		} else {
			o.Rate = max(o.Rate, p.Rate)
		}
	}
	if o.Rate == 0 {
		o.Concurrency = max(o.Concurrency, 1) // a run with only a warm-up
	}
	if o.Transport.Dial == nil && len(with.Targets) > 0 && (with.Targets[0].URL.Scheme != "http" || with.Indirect()) {
		o.Transport.Dial = (&net.Dialer{}).DialContext // a target like this one is reached over net/http
	}
	// The reference server is our own, and the path to the server is not part of the client.
	o.Transport.Policy.Allow = nil
	o.Transport.Sockets, o.Transport.Proxy, o.Transport.EnvProxy, o.Transport.TLS = nil, nil, false, nil
	o.Transport.Version = transport.HTTP1
	var chunks, received int64
	for _, f := range x.finished() {
		if f.Plan.Kind == bench.Profiling {
			chunks, received = chunks+f.chunks, received+f.public.Counters.BytesReceived
		}
	}
	if chunks > 0 {
		o.ChunkBytes = int(min(max(received/chunks, 1), certify.MaxChunkBytes))
	}
	return o
}

// requestBytes returns the mean size of the requests of the run, or before that of the
// first requests of a few conversations.
func (x *execution) requestBytes() int {
	var sent, count int64
	for _, f := range x.finished() {
		c := &f.public.Counters
		sent, count = sent+c.BytesSent, count+c.Sent
	}
	if count > 0 {
		return int(sent / count)
	}
	const most = 16
	for _, c := range x.prepared.data.readers[0].Head(most) {
		if len(c.Turns) == 0 {
			continue
		}
		r := endpoint.Request{
			Model: c.Model, System: c.System, Context: c.Context, Turn: c.Turns[0], Settings: &x.prepared.plan.Settings,
		}
		if encode := x.prepared.tokenIDs(); encode != nil {
			r.TokenIDs = encode(&c.Turns[0], c.Model)
		}
		if body, err := x.prepared.plan.Kind.Body(nil, &r); err == nil {
			sent, count = sent+int64(len(body)), count+1
		}
	}
	return int(sent / max(count, 1))
}
