package run

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// EventType is the kind of an [Event].
type EventType string

// The events of a run, in the order in which they can happen. Complete is the
// last one; when it is sent, the run is terminal and its files are durable.
const (
	EventQueued        EventType = "run_queued"
	EventStateChanged  EventType = "run_state_changed"
	EventPhaseStart    EventType = "phase_start"
	EventPhaseProgress EventType = "phase_progress" // at most 4 a second
	EventPhaseSent     EventType = "phase_sending_complete"
	EventPhaseComplete EventType = "phase_complete"
	EventMetrics       EventType = "metrics" // once a second
	EventExported      EventType = "results_exported"
	EventComplete      EventType = "benchmark_complete"
	// Of studies: what they measure next, what they measured, and what that says.
	EventExperimentStarted EventType = "experiment_started" // also when another process goes on with it
	EventChildPlanned      EventType = "child_planned"
	EventChildFinished     EventType = "child_finished"
	EventAnswerUpdate      EventType = "answer_update"
	EventAnswer            EventType = "answer"      // the final one, before EventComplete
	EventUpdated           EventType = "run_updated" // a user changed its name, its terms, …; any time
	EventDeleted           EventType = "run_deleted"
)

// Event is one thing that happened. Its pointers lead to immutable values.
type Event struct {
	Type     EventType
	RunID    string
	At       time.Time
	Run      *Run      // always, except for EventDeleted
	Phase    *Phase    // phase events
	Snapshot *Snapshot // progress and metrics events, and the terminal ones
	State    bench.State
	News     any // of the events of studies: it encodes to a JSON object
}

// Publisher receives events. Publish is called in order for each run, from the
// goroutines of the run. It must not block, and must not change what the event
// refers to.
type Publisher interface {
	Publish(Event)
}

// Publishers publish each event to all of them, in their order.
type Publishers []Publisher

// Publish implements [Publisher].
func (p Publishers) Publish(ev Event) {
	for _, to := range p {
		to.Publish(ev)
	}
}
