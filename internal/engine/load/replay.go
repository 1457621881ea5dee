package load

import (
	"fmt"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// replayTimes holds the due times of a phase whose dataset says when conversations start.
type replayTimes struct {
	replay   *spec.Replay
	sessions *spec.Sessions

	zero   time.Duration // time of the dataset at the start of the phase
	placed bool          // a session has a place in the schedule
	last   time.Duration // offset of the last session
	early  atomic.Int64  // sessions that are earlier than the one before
}

var _ timetable = (*replayTimes)(nil)

func newReplayTimes(r *spec.Replay, sessions *spec.Sessions) *replayTimes {
	return &replayTimes{replay: r, sessions: sessions, zero: r.Start}
}

// place gives a session its place in the schedule, if it is inside the window of the phase.
// A session that is earlier than the one before is due with it.
func (r *replayTimes) place(c *bench.Conversation) (p placement, in bool, err error) {
	if len(c.Turns) == 0 || !c.Turns[0].Timed {
		return p, false, fmt.Errorf("conversation %q has no timestamp: "+
			"a phase of type fixed_schedule needs one for the first turn of every conversation", c.ID)
	}
	at := c.Turns[0].At
	if r.replay.End >= 0 && at > r.replay.End || !r.replay.Auto && at < r.replay.Start {
		return p, false, nil
	}
	if r.replay.Auto && !r.placed {
		r.zero = at
	}
	p = placement{offset: r.sessions.Scaled(at - r.zero), zero: r.zero, id: replayID(c)}
	if r.placed && p.offset < r.last || p.offset < 0 {
		r.early.Add(1)
		p.offset = max(r.last, 0)
	}
	r.placed, r.last = true, p.offset
	return p, true, nil
}

// replayID returns the id of a session of a replay, which is that of AIPerf; empty = a
// header cannot carry the id of the conversation.
func replayID(c *bench.Conversation) string {
	for i := range len(c.ID) {
		if c.ID[i] <= ' ' || c.ID[i] > '~' {
			return ""
		}
	}
	return "fixed-schedule-" + c.ID
}

// turnOffset returns when the dataset says that a turn is sent, since the start of the
// phase; false = it does not, or the phase is no replay.
func (r *replayTimes) turnOffset(t *bench.Turn, zero time.Duration) (time.Duration, bool) {
	if r == nil || !t.Timed {
		return 0, false
	}
	return r.sessions.Scaled(t.At - zero), true
}
