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

// hopelessAfter returns how many requests in a row must have failed, two for each slot and
// some, before slots wait after errors that are no lost connections: one success among
// them, and the errors are part of what is measured.
func hopelessAfter(slots int) int64 { return 100 + 2*int64(slots) }

// countLoss reports whether a request got no connection, or lost it before the answer
// began.
func (o *outage) countLoss(r *bench.Response) bool {
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

// pauseAfter returns how long one of some slots waits before its next request, because one
// has failed that took so long.
func (o *outage) pauseAfter(took time.Duration, slots int) time.Duration {
	most := min(outageMost, outageStep*time.Duration(slots))
	if o.failures > 0 {
		return min(most, outageStep<<min(o.failures-1, 10))
	}
	return most - took // what fails slowly does not flood anything
}
