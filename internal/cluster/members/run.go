package members

import (
	"fmt"

	"aiperfd/internal/cluster/wire"
)

// StateError is the error of an event that does not fit the state of a worker.
type StateError struct {
	Instance string
	State    State // 0 = unknown
	Event    string
}

// Error implements error.
func (e *StateError) Error() string {
	if e.State == 0 {
		return fmt.Sprintf("%s: the worker %s is unknown", e.Event, e.Instance)
	}
	return fmt.Sprintf("%s: the worker %s is %s", e.Event, e.Instance, e.State)
}

// Prepare gives a worker a part of a run.
func (t *Table) Prepare(instance, run string) ([]Change, error) {
	m := t.members[instance]
	if m == nil || m.State != Idle {
		return nil, t.misfit(instance, "prepare")
	}
	m.Run = run
	return t.set(m, Preparing), nil
}

func (t *Table) misfit(instance, event string) error {
	e := &StateError{Instance: instance, Event: event}
	if m := t.members[instance]; m != nil {
		e.State = m.State
	}
	return e
}

// Expected is what every worker of a run must have.
type Expected struct {
	Plan, Schedule, Dataset wire.Digest
	Build                   wire.Build // of the controller
}

// Ready notes the answer of a worker that prepares. reason says why the run cannot start with it; empty = it can. A
// worker that cannot perform its part is idle again; one that would give another load is refused until it is started
// again.
func (t *Table) Ready(instance string, r *wire.Ready, want Expected) (reason string, changes []Change, err error) {
	m := t.members[instance]
	if m == nil || m.State != Preparing || m.Run != r.Run {
		return "", nil, t.misfit(instance, "ready")
	}
	if r.Problem != "" {
		m.Run = ""
		return r.Problem, t.set(m, Idle), nil
	}
	for _, d := range []struct {
		what      string
		got, want wire.Digest
	}{
		{"document", r.Plan, want.Plan}, {"dataset", r.Dataset, want.Dataset}, {"schedule", r.Schedule, want.Schedule},
	} {
		if d.got == d.want {
			continue
		}
		reason = fmt.Sprintf("the %s of the worker %s is another than that of the controller", d.what, m.Name)
		if m.Build != want.Build {
			reason += fmt.Sprintf("; their builds differ, too: %s (%s) and %s (%s)",
				m.Build.Version, m.Build.Revision, want.Build.Version, want.Build.Revision)
		}
		m.Run = ""
		return reason, t.drop(m, Refused, reason), nil
	}
	return "", t.set(m, Ready), nil
}

// Confirm notes that a worker waits for the start of a phase.
func (t *Table) Confirm(instance, run string) ([]Change, error) {
	m := t.members[instance]
	if m == nil || m.State != Ready || m.Run != run {
		return nil, t.misfit(instance, "arm")
	}
	return t.set(m, Armed), nil
}

// Report notes that a worker has ended its part.
func (t *Table) Report(instance, run string) ([]Change, error) {
	m := t.members[instance]
	if m == nil || m.Run != run || !m.State.inRun() {
		return nil, t.misfit(instance, "report")
	}
	return t.set(m, Reporting), nil
}

// Release ends a run: those who had a part of it are idle. Those who were lost stay it.
func (t *Table) Release(run string) []Change {
	var changes []Change
	for _, copied := range t.Members() {
		if m := t.members[copied.Instance]; m.Run == run {
			m.Run = ""
			if m.State.inRun() {
				changes = append(changes, t.set(m, Idle)...)
			}
		}
	}
	return changes
}

// Of returns the workers that have a part of a run, in the order of their names.
func (t *Table) Of(run string) []Member {
	var out []Member
	for _, m := range t.Members() {
		if m.Run == run && m.State.inRun() {
			out = append(out, m)
		}
	}
	return out
}
