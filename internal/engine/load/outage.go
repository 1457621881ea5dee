package load

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// outage counts the lost connections of one slot of a closed loop. Without pauses such a
// slot would fail thousands of times per second and disturb a server that is starting.
// The zero value is a slot without failures.
type outage struct{ failures int } // in a row

// The pause after a lost connection: it doubles with each failure in a row, up to
// outageStep for each slot of the phase, so that all slots together send about a
// hundred requests per second, and no slot waits for more than outageMost.
const (
	outageStep = 10 * time.Millisecond
	outageMost = time.Second
	// hopeless is how many requests in a row must have failed, and two more for each slot,
	// before slots wait after errors that are no lost connections: one success among them,
	// and the errors are part of what is measured.
	hopeless = 100
)

// met reports whether a request got no connection, or lost it before the answer began.
func (o *outage) met(r *bench.Response) bool {
	lost := false
	if f := r.Failure; f != nil && r.Status == 0 {
		switch f.Class {
		case bench.ConnectError, bench.TimeoutConnect, bench.ConnectionReset:
			lost = true
		case bench.ClientError:
			lost = f.Step != bench.StepBuild // too many open files and the like
		}
	}
	if !lost {
		o.failures = 0
		return false
	}
	o.failures++
	return true
}

// pause waits before a slot of a closed loop sends its next request, because the one that
// was sent at an offset has failed. Arrivals of an open loop do not wait.
func (o *outage) pause(p *Phase, sent time.Duration) {
	if p.open != nil || decide(p, (*scheduler).exhausted) {
		return
	}
	wait := min(outageMost, outageStep*time.Duration(p.plan.Concurrency))
	if o.failures > 0 {
		wait = min(wait, outageStep<<min(o.failures-1, 10))
	} else {
		wait -= p.work.Clock.Now() - sent // what fails slowly does not flood anything
	}
	if wait > 0 {
		p.count.pauses.Add(1)
		p.wait(wait)
	}
}

// Settled tells the phase how a request has ended.
func (p *Phase) Settled(ok bool) {
	if ok {
		p.count.failing.Store(0)
	} else {
		p.count.failing.Add(1)
	}
}

// fails reports whether nothing has succeeded for so long that errors only flood the
// server and the disk.
func (p *Phase) fails() bool {
	return p.open == nil && p.count.failing.Load() >= hopeless+2*int64(p.plan.Concurrency)
}
