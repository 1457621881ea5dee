package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/cluster/lane"
	"aiperfd/internal/run"
)

// What happens to a worker, see [run.WorkerChange].
const (
	Joined = "joined"
	Left   = "left"
	Lost   = "lost"
)

// Workers returns the workers that have joined, by name.
func (c *Controller) Workers() []run.Worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []run.Worker{}
	for _, m := range c.members {
		out = append(out, c.show(m))
	}
	slices.SortFunc(out, func(a, b run.Worker) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Drain makes a worker, named by its name or id, take no further run: it finishes what it performs. The error is
// [run.ErrNoWorker] if none of that name has joined.
func (c *Controller) Drain(name string) (run.Worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		if m.ID == name || m.Name == name {
			if !m.drain {
				c.options.Log.Info().Str("worker", m.Name).Msg("a worker takes no further run")
			}
			m.drain = true
			c.notify()
			return c.show(m), nil
		}
	}
	return run.Worker{}, run.ErrNoWorker
}

// Traffic returns what went over the bus since the controller was made, by kind.
func (c *Controller) Traffic() []run.BusTraffic { return c.traffic.all() }

// tend reports workers that are lost, and forgets those that have been for long.
func (c *Controller) tend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, m := range c.members {
		silent := time.Since(m.heard)
		if silent > goneAfter && !m.gone {
			m.gone = true
			c.tell(m, Lost, "no message for "+silent.Round(time.Second).String())
		}
		if silent > forgetAfter && m.task == nil {
			delete(c.members, id)
		}
	}
}

// tell says what happened to a worker, with mu held.
func (c *Controller) tell(m *member, what, reason string) {
	if c.options.Changed != nil {
		c.options.Changed(run.WorkerChange{At: time.Now(), What: what, Reason: reason, Worker: c.show(m)})
	}
}

// show returns a worker as it is shown, with mu held.
func (c *Controller) show(m *member) run.Worker {
	w := run.Worker{
		ID: m.ID, Name: m.Name, Version: m.Version, State: m.state(), Draining: m.drain, Labels: m.Labels,
		Joined: m.joined.UTC(), Heard: m.heard.UTC(), Cores: m.Cores, RoundTrip: milliseconds(m.beat.RTT), Lanes: m.lanes,
	}
	if w.Labels == nil {
		w.Labels = map[string]string{}
	}
	if m.Memory > 0 {
		w.Memory = new(m.Memory)
	}
	if m.beat.Sequence > 0 && m.beat.ClockBound >= 0 {
		w.ClockOffset, w.ClockBound = new(milliseconds(m.beat.Offset)), new(milliseconds(m.beat.ClockBound))
	}
	if m.task == nil {
		return w
	}
	w.RunID = &m.task.run.ID
	for i := range m.beat.Phases {
		s := &m.beat.Phases[i].Stats
		w.Requests += s.Sent
		if start := m.task.starts[s.Index]; start != nil && s.Start > 0 {
			skew := milliseconds((s.Start - m.task.clock.Offset(c.base.Add(start.At))).Abs())
			if w.StartSkew == nil || skew > *w.StartSkew {
				w.StartSkew = &skew
			}
		}
	}
	return w
}

// milliseconds returns a duration in milliseconds.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// state returns the state of a worker, see [run.WorkerStates].
func (m *member) state() string {
	silent := time.Since(m.heard)
	switch {
	case m.lost != "" || silent > goneAfter:
		return "lost"
	case silent > lateAfter:
		return "late"
	case m.task == nil && m.drain:
		return "drained"
	case m.task == nil:
		return "idle"
	case m.done != nil:
		return "reporting"
	case len(m.beat.Phases) > 0:
		return "running"
	case m.ready != nil:
		return "ready"
	}
	return "preparing"
}

// states returns the workers of a run as they are shown.
func (c *Controller) states(t *task) (out []run.WorkerState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range t.members {
		w := run.WorkerState{
			Name: m.Name, State: m.state(), Reason: m.lost, Heard: m.heard.UTC(), Share: t.shares[i],
		}
		for j := range m.beat.Phases {
			s := &m.beat.Phases[j].Stats
			w.Requests, w.Failed, w.InFlight = w.Requests+s.Sent, w.Failed+s.Errors, w.InFlight+s.InFlight()
		}
		t.compare(i, &w)
		if m.beat.ClockBound >= 0 {
			w.ClockBound = new(milliseconds(m.beat.ClockBound))
		}
		out = append(out, w)
	}
	return out
}

// compare sets what a worker was asked for in the phase that began last, and what it sent.
func (t *task) compare(index int, w *run.WorkerState) {
	phases := t.members[index].beat.Phases
	if len(phases) == 0 {
		return
	}
	s := &phases[len(phases)-1].Stats
	if s.Index < 0 || s.Index >= len(t.run.Plan.Phases) {
		return
	}
	p := &t.run.Plan.Phases[s.Index]
	sending := cmp.Or(s.SentEnd, s.LastUpdate) - s.Start
	if sending <= 0 {
		return
	}
	w.Rate = new(float64(s.Sent) / sending.Seconds())
	switch {
	case p.Arrivals != nil && !p.PerSession:
		mean, _ := p.RateUntil(sending)
		w.AskedRate = new(t.shares[index] * mean)
	case !p.Open():
		w.Slots = lane.Apportion(p.Concurrency, t.weights)[index]
	}
}
