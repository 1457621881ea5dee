// Package members knows the workers of a controller: who has joined, what each is doing, who is late or lost. It has no
// goroutines and no clock; its methods are given the time, as the clock of the controller shows it, and return what has
// changed. It is not safe for concurrent use.
package members

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/cluster/wire"
)

// State is what a worker is for its controller.
type State uint8

// The states. A run leads from Idle to Reporting and back.
const (
	Idle State = iota + 1
	Preparing
	Ready // for the start of the next phase to be set
	Armed // the start is set, and confirmed
	Running
	Draining
	Reporting
	Refused // its build or its data give another load than those of the controller
	Lost    // it has sent nothing for too long, or has given up its part
	Left    // it has said goodbye
)

// String returns the name of the state.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Preparing:
		return "preparing"
	case Ready:
		return "ready"
	case Armed:
		return "armed"
	case Running:
		return "running"
	case Draining:
		return "draining"
	case Reporting:
		return "reporting"
	case Refused:
		return "refused"
	case Lost:
		return "lost"
	case Left:
		return "left"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// present reports whether a worker in the state is expected to send snapshots.
func (s State) present() bool { return s != 0 && s < Lost }

// inRun reports whether a worker in the state has a part of a run.
func (s State) inRun() bool { return s >= Preparing && s <= Reporting }

// The defaults of [Options].
const (
	DefaultLate      = 3 * time.Second
	DefaultLost      = 10 * time.Second
	DefaultHeartbeat = time.Second
	DefaultMost      = 10_000
)

// remembered is how long a worker that is lost or has left is listed.
const remembered = time.Hour

// Options are the parameters of a [Table]; zero fields have the defaults above.
type Options struct {
	Heartbeat time.Duration // between snapshots
	Late      time.Duration // after which a worker without a new snapshot is late
	Lost      time.Duration // after which it is lost; longer than Late
	Most      int           // workers at once
	Epoch     uint64        // of the process of the controller
}

// Member is a worker. A worker that was started again is another one.
type Member struct {
	wire.Join

	State    State
	Reason   string        // of Refused, Lost and Left
	Run      string        // that it has a part of, or had when it was lost; empty = none
	Late     bool          // it has sent nothing for a while
	Heard    time.Duration // when it joined, or when its newest snapshot came
	Sequence uint64        // of that snapshot; 0 = none has come
}

// Change is what has become of a worker.
type Change struct {
	Member Member // after it
	From   State  // 0 = it was unknown
	Late   bool   // its being late has changed, not its state
}

// Table is all workers of a controller. Make one with [New].
type Table struct {
	options Options
	members map[string]*Member // by instance
}

// New returns a table without workers.
func New(o Options) *Table {
	o.Heartbeat = cmp.Or(o.Heartbeat, DefaultHeartbeat)
	o.Late, o.Lost = cmp.Or(o.Late, DefaultLate), cmp.Or(o.Lost, DefaultLost)
	o.Most = cmp.Or(o.Most, DefaultMost)
	return &Table{options: o, members: map[string]*Member{}}
}

// Members returns all workers in the order of their names, those of one name in the order of their instances.
func (t *Table) Members() []Member {
	out := make([]Member, 0, len(t.members))
	for _, m := range t.members {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Instance, b.Instance))
	})
	return out
}

// Member returns a worker.
func (t *Table) Member(instance string) (m Member, ok bool) {
	if found := t.members[instance]; found != nil {
		return *found, true
	}
	return Member{}, false
}

// Eligible returns the workers that can be given a part of a run now and have all labels, in the order of their names.
func (t *Table) Eligible(labels map[string]string) []Member {
	return slices.DeleteFunc(t.Members(), func(m Member) bool {
		for key, value := range labels {
			if got, ok := m.Labels[key]; !ok || got != value {
				return true
			}
		}
		return m.State != Idle || m.Late
	})
}

// Join makes a worker a member, or says why it cannot be one. A member that asks again stays what it is; one that was
// lost or has left comes back without its part of a run.
func (t *Table) Join(now time.Duration, j wire.Join) (wire.Welcome, []Change) {
	present := 0
	for _, m := range t.members {
		if !m.State.present() || m.Instance == j.Instance {
			continue
		}
		present++
		if m.Name == j.Name {
			return wire.Welcome{
				Refusal: wire.RefusedName,
				Detail: fmt.Sprintf("another worker has the name %s and was last heard of %v ago; it is lost after %v",
					j.Name, (now - m.Heard).Round(time.Second), t.options.Lost),
			}, nil
		}
	}
	if present >= t.options.Most {
		detail := fmt.Sprintf("%d workers are connected, and no more are accepted", present)
		return wire.Welcome{Refusal: wire.RefusedFull, Detail: detail}, nil
	}
	welcome := wire.Welcome{Heartbeat: t.options.Heartbeat, LostAfter: t.options.Lost, Epoch: t.options.Epoch}
	m, from := t.members[j.Instance], State(0)
	switch {
	case m == nil:
		t.forget(now, j.Name)
	case m.State.present():
		return welcome, nil
	default:
		from = m.State
	}
	m = &Member{Join: j, State: Idle, Heard: now}
	t.members[j.Instance] = m
	return welcome, []Change{{Member: *m, From: from}}
}

// forget removes workers that are no longer present: those of a name, because another one has taken their place, and
// old ones.
func (t *Table) forget(now time.Duration, name string) {
	maps.DeleteFunc(t.members, func(_ string, m *Member) bool {
		return !m.State.present() && (m.Name == name || now-m.Heard > remembered)
	})
}

// Snapshot notes a snapshot. known = false asks its sender to join again. One that came before, or is older than one
// that came, changes nothing.
func (t *Table) Snapshot(now time.Duration, instance string, s *wire.Snapshot) (known bool, changes []Change) {
	m := t.members[instance]
	if m == nil || !m.State.present() {
		return false, nil
	}
	if s.Sequence <= m.Sequence {
		return true, nil
	}
	m.Sequence, m.Heard = s.Sequence, now
	if m.Late {
		m.Late = false
		changes = append(changes, Change{Member: *m, From: m.State, Late: true})
	}
	if s.Run != m.Run && (m.State == Running || m.State == Draining) {
		return true, append(changes, t.drop(m, Lost, "the worker no longer performs its part")...)
	}
	if s.Run == m.Run {
		changes = append(changes, t.set(m, advanced(m.State, s.Activity))...)
	}
	return true, changes
}

// advanced returns the state of a worker that does something: later ones of a run follow from it, earlier ones are
// what it was told to leave.
func advanced(s State, a wire.Activity) State {
	switch {
	case a == wire.Running && s == Armed:
		return Running
	case a == wire.Draining && (s == Armed || s == Running):
		return Draining
	case a == wire.Waiting && (s == Running || s == Draining):
		return Ready
	case a == wire.Reporting && s >= Armed && s < Reporting:
		return Reporting
	}
	return s
}

// set changes the state of a worker, unless it has that state.
func (t *Table) set(m *Member, s State) []Change {
	from := m.State
	if from == s {
		return nil
	}
	m.State = s
	return []Change{{Member: *m, From: from}}
}

// drop ends what a worker is doing. Run still says which run has lost a part.
func (t *Table) drop(m *Member, s State, reason string) []Change {
	m.Reason, m.Late = reason, false
	return t.set(m, s)
}

// Goodbye notes that a worker leaves.
func (t *Table) Goodbye(instance, reason string) []Change { return t.gone(instance, Left, reason) }

// Gone notes that a worker no longer exists, for example because its process has ended on this machine.
func (t *Table) Gone(instance, reason string) []Change { return t.gone(instance, Lost, reason) }

func (t *Table) gone(instance string, s State, reason string) []Change {
	m := t.members[instance]
	if m == nil || !m.State.present() {
		return nil
	}
	return t.drop(m, s, reason)
}

// Tick finds the workers that are late or lost by now, in the order of their names.
func (t *Table) Tick(now time.Duration) []Change {
	var changes []Change
	for _, copied := range t.Members() {
		m := t.members[copied.Instance]
		silent := now - m.Heard
		switch {
		case !m.State.present():
		case silent >= t.options.Lost:
			changes = append(changes, t.drop(m, Lost, fmt.Sprintf("the worker has sent nothing for %v", t.options.Lost))...)
		case silent >= t.options.Late && !m.Late:
			m.Late = true
			changes = append(changes, Change{Member: *m, From: m.State, Late: true})
		}
	}
	return changes
}

// Next returns when Tick will find something, unless a snapshot comes before; ok = false if there are no workers.
func (t *Table) Next() (at time.Duration, ok bool) {
	for _, m := range t.members {
		if !m.State.present() {
			continue
		}
		due := m.Heard + t.options.Late
		if m.Late {
			due = m.Heard + t.options.Lost
		}
		if !ok || due < at {
			at, ok = due, true
		}
	}
	return at, ok
}
