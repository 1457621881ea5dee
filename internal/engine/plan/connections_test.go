package plan

import (
	"testing"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

func TestOvercommitted(t *testing.T) {
	const tail = ", and this process may only have 1024 files open: further requests fail; " +
		"raise the limit (ulimit -n), or set a lower concurrency"
	closed := spec.Phase{Name: "p", Concurrency: 1000}
	with := func(change func(*spec.Phase)) spec.Phase {
		p := closed
		change(&p)
		return p
	}
	rate := spec.Phase{Name: "p", Arrivals: arrival.Constant(2000), Rate: 2000, Requests: 60_000, Grace: -1}
	limited := rate
	limited.Concurrency = 2000
	for name, tt := range map[string]struct {
		phase spec.Phase
		http  transport.Version
		want  string
	}{
		"closed": {closed, transport.HTTP1, "phase p: up to 1000 requests are in flight at the same time (the concurrency)" + tail},
		"many requests": {with(func(p *spec.Phase) { p.Concurrency, p.Requests = 2000, 990 }), transport.HTTP1,
			"phase p: up to 990 requests are in flight at the same time (the number of requests)" + tail},
		"many sessions": {with(func(p *spec.Phase) { p.Sessions = 950 }), transport.HTTP1,
			"phase p: up to 950 requests are in flight at the same time (the number of sessions)" + tail},
		"few requests":                {with(func(p *spec.Phase) { p.Requests = 900 }), transport.HTTP1, ""},
		"few sessions":                {with(func(p *spec.Phase) { p.Sessions = 900 }), transport.HTTP1, ""},
		"a low limit":                 {with(func(p *spec.Phase) { p.Concurrency = 900 }), transport.HTTP1, ""},
		"shared":                      {closed, transport.HTTP2, ""},
		"a long open loop":            {rate, transport.HTTP1, ""},
		"its limit is an upper bound": {limited, transport.HTTP1, ""},
		"users":                       {spec.Phase{Name: "p", Starts: spec.Starts{Users: &spec.Users{Count: 1000}}, Rate: 1}, transport.HTTP1, ""},
		"a dataset decides":           {spec.Phase{Name: "p", Starts: spec.Starts{Replay: &spec.Replay{}}}, transport.HTTP1, ""},
	} {
		p := Plan{Measure: Measure{Phases: []spec.Phase{tt.phase}}}
		p.Transport.Version = tt.http
		if got := Overcommitted(&p, 1024); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, tt.want)
		}
	}
}
