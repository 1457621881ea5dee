package monitor

import (
	"time"

	"aiperfd/internal/engine/verdict"
)

// A Host reads the figures of the system about this process and its machine. Read is
// called about once per second, never concurrently.
type Host interface {
	Read() Totals
}

// Totals are running totals since some start. Nil pointers are unknown.
type Totals struct {
	At        time.Duration  // on the host's monotonic clock
	CPU       *time.Duration // used by this process, user and system
	Cores     float64        // that this process may use
	RSS       int64          // bytes; 0 = unknown
	RunQueue  *verdict.RunQueue
	Machine   *Machine
	Cgroup    *verdict.Cgroup
	Scheduler *verdict.Histogram // waits of goroutines that were ready
	Pauses    *verdict.Histogram // stops for the garbage collector
	Network   *Network
	Governor  string  // how the kernel chooses the frequency of the processors; empty = unknown
	MHz       float64 // mean frequency of the processors; 0 = unknown
}

// Machine is the running totals of the processors that this process may run on.
type Machine struct {
	Cores             int
	Busy, Idle, Steal time.Duration
}

// The limits of busy processors and of a crowded machine.
const (
	busyAbove    = 0.8 // of the cores of the process
	crowdedBelow = 0.2 // of the machine idle
	// The kernel counts the time of the machine in steps of 10 ms a processor:
	// shorter intervals are not evaluated.
	shortestView = 200 * time.Millisecond
)

// sums adds up samples.
type sums struct {
	last    Totals
	busy    time.Duration // time with more than busyAbove in use
	crowded time.Duration // time with less than crowdedBelow idle
	network netSums
}

// add adds a sample.
func (s *sums) add(t Totals) {
	span := t.At - s.last.At
	if span <= 0 {
		return
	}
	if t.CPU != nil && s.last.CPU != nil && t.Cores > 0 &&
		float64(*t.CPU-*s.last.CPU) > busyAbove*t.Cores*float64(span) {
		s.busy += span
	}
	if m, before := t.Machine, s.last.Machine; m != nil && before != nil && span >= shortestView &&
		float64(m.Idle-before.Idle) < crowdedBelow*float64(m.Cores)*float64(span) {
		s.crowded += span
	}
	s.network.add(t.Network, s.last.Network, span)
	s.last = t
}

// since returns the differences to an earlier state.
func (s *sums) since(begin *sums) verdict.Self {
	now, then := &s.last, &begin.last
	out := verdict.Self{Window: now.At - then.At, RSS: now.RSS, Governor: now.Governor, MHz: now.MHz}
	out.Network = networkSince(now.Network, then.Network, s.network, begin.network, out.Window)
	var used time.Duration
	if now.CPU != nil && then.CPU != nil {
		used = *now.CPU - *then.CPU
		out.CPU = &verdict.CPU{Used: used, Cores: now.Cores, Busy: s.busy - begin.busy}
	}
	if a, b := now.RunQueue, then.RunQueue; a != nil && b != nil {
		out.RunQueue = &verdict.RunQueue{Wait: a.Wait - b.Wait, Slices: a.Slices - b.Slices}
	}
	if a, b := now.Machine, then.Machine; a != nil && b != nil {
		out.Machine = &verdict.Machine{
			Cores: a.Cores, Idle: max(0, a.Idle-b.Idle), Others: max(0, a.Busy-b.Busy-used),
			Steal: max(0, a.Steal-b.Steal), Crowded: s.crowded - begin.crowded,
		}
	}
	if a, b := now.Cgroup, then.Cgroup; a != nil && b != nil {
		out.Cgroup = &verdict.Cgroup{Quota: a.Quota, Throttled: max(0, a.Throttled-b.Throttled)}
	}
	out.Scheduler = difference(now.Scheduler, then.Scheduler)
	out.Pauses = difference(now.Pauses, then.Pauses)
	return out
}

// difference returns the count between two totals; nil if one is unknown.
func difference(now, then *verdict.Histogram) *verdict.Histogram {
	if now == nil || then == nil {
		return nil
	}
	d := now.Since(then)
	return &d
}
