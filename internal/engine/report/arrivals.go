package report

import (
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/view"
)

// arrivalsDropped says how many arrivals of a phase were not sent, unless the warning about
// saturation does.
func arrivalsDropped(_ *Input, m *Measured) []bench.Warning {
	a := &m.Stats.Arrivals
	if a.Dropped == 0 || m.Saturation != nil && m.Saturation.Saturated {
		return nil
	}
	return warn("arrivals-dropped", "phase %s: %d of %d arrivals found no free slot and were dropped; the latencies are those of the lighter load that was sent",
		m.Plan.Name, a.Dropped, a.Used)
}

// arrivalsWaited says how long arrivals of a phase waited for a slot, which is in no
// latency that begins with the request.
func arrivalsWaited(_ *Input, m *Measured) []bench.Warning {
	a, left := &m.Stats.Arrivals, m.Stats.Backlog
	if m.Plan.Kind != bench.Profiling || a.Waited+left == 0 {
		return nil
	}
	text := fmt.Sprintf("phase %s: %d of %d arrivals waited for a slot, up to %d at the same time", m.Plan.Name, a.Waited+left, a.Used, m.Stats.BacklogMax)
	if a.Waited > 0 {
		text += fmt.Sprintf("; those that were sent waited %s on average, at most %s, which only the latencies from the due time include",
			seconds(a.WaitSum/time.Duration(a.Waited)), seconds(a.WaitMax))
	}
	if left > 0 {
		text += fmt.Sprintf("; %d were not sent before the phase ended", left)
	}
	return warn("arrivals-waited", "%s", text)
}

// seconds formats a time.
func seconds(d time.Duration) string {
	if d < time.Second {
		return view.Figure(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return view.Figure(d.Seconds()) + " s"
}

// usersOverlap says that the users of a phase were more than the plan has, because some
// had not finished when their successors began.
func usersOverlap(_ *Input, m *Measured) []bench.Warning {
	u, most := m.Plan.Users, m.Stats.Arrivals.LiveMax
	if u == nil || most <= int64(u.Count) {
		return nil
	}
	return warn("users-overlap", "phase %s: up to %d users at the same time instead of %d: responses took longer than the %s between the turns of a user",
		m.Plan.Name, most, u.Count, seconds(u.Gap))
}

// overLimit returns the message that more arrivals waited than the plan allows.
func overLimit(m *Measured) string {
	a := &m.Stats.Arrivals
	elapsed := a.Last - m.Stats.Start
	return fmt.Sprintf("stopped after %s: more than %d arrivals waited for a slot (saturation %s): %d were due and %d were sent, with a concurrency of %d",
		seconds(elapsed), m.Plan.Backlog.Limit, spec.Saturations()[spec.AbortArrivals], a.Used, m.Stats.Sent, m.Plan.Concurrency)
}
