package plan

import (
	"testing"
	"time"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

func TestOvercommitted(t *testing.T) {
	const tail = ": further requests fail; raise the limit (ulimit -n), or set a concurrency or a shorter request timeout"
	rate := spec.Phase{Name: "p", Arrivals: arrival.Constant(100), Rate: 100, Grace: -1}
	with := func(change func(*spec.Phase)) spec.Phase {
		p := rate
		change(&p)
		return p
	}
	for name, tt := range map[string]struct {
		phase spec.Phase
		http  transport.Version
		want  string
	}{
		"rate and timeout":  {rate, transport.HTTP1, "phase p: if the server stalls, 2000 requests are in flight (100/s for 20s), and this process may only have 1024 files open" + tail},
		"duration":          {with(func(p *spec.Phase) { p.Duration, p.Grace = 10*time.Second, time.Second }), transport.HTTP1, "phase p: if the server stalls, 1100 requests are in flight (100/s for 11s), and this process may only have 1024 files open" + tail},
		"short":             {with(func(p *spec.Phase) { p.Duration, p.Grace = 8*time.Second, time.Second }), transport.HTTP1, ""},
		"few requests":      {with(func(p *spec.Phase) { p.Requests = 900 }), transport.HTTP1, ""},
		"a limit":           {with(func(p *spec.Phase) { p.Concurrency = 900 }), transport.HTTP1, ""},
		"a high limit":      {with(func(p *spec.Phase) { p.Concurrency = 1000 }), transport.HTTP1, "phase p: if the server stalls, 1000 requests are in flight (the concurrency), and this process may only have 1024 files open" + tail},
		"shared":            {rate, transport.HTTP2, ""},
		"closed":            {spec.Phase{Name: "p", Concurrency: 1000}, transport.HTTP1, "phase p: if the server stalls, 1000 requests are in flight (the concurrency), and this process may only have 1024 files open" + tail},
		"users":             {spec.Phase{Name: "p", Starts: spec.Starts{Users: &spec.Users{Count: 1000}}, Rate: 1}, transport.HTTP1, "phase p: if the server stalls, 1000 requests are in flight (one for each user), and this process may only have 1024 files open" + tail},
		"a dataset decides": {spec.Phase{Name: "p", Starts: spec.Starts{Replay: &spec.Replay{}}}, transport.HTTP1, ""},
	} {
		p := Plan{Measure: Measure{Phases: []spec.Phase{tt.phase}}}
		p.Transport.TotalTimeout, p.Transport.Version = 20*time.Second, tt.http
		if got := Overcommitted(&p, 1024); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, tt.want)
		}
	}
}
