package load

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// timetable gives the sessions of a phase places in a schedule, in the order in which
// they are drawn. Its calls do not overlap.
type timetable interface {
	// place returns when the session of a conversation is due; in = false if it is outside
	// the schedule. An error ends the phase.
	place(c *bench.Conversation) (p placement, in bool, err error)
}

// placement is the place of a session in a schedule.
type placement struct {
	offset time.Duration // when the session is due, since the start of the phase
	zero   time.Duration // replay: time of the dataset at that start
	id     string        // replay: of the session; empty = it has one of its own
	turns  int           // most turns that are sent; 0 = all of the conversation
	midway *midway       // where a recorded session is entered; nil = at its beginning
}
