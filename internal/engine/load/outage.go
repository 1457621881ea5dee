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

// pause waits before a slot of a closed loop sends its next request. Arrivals of an open
// loop do not wait.
func (o *outage) pause(p *Phase) {
	if p.open != nil || decide(p, (*scheduler).exhausted) {
		return
	}
	longest := min(outageMost, outageStep*time.Duration(p.plan.Concurrency))
	p.count.pauses.Add(1)
	p.wait(min(longest, outageStep<<min(o.failures-1, 10)))
}
