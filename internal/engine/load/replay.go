package load

import (
	"fmt"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
)

// schedule holds the due times of a phase whose dataset says when conversations start.
type schedule struct {
	plan     *plan.Replay
	sessions *plan.Sessions

	zero   time.Duration // time of the dataset at the start of the phase; guarded by lookahead.drawing
	placed bool          // a session has a place in the schedule; guarded by lookahead.drawing
	last   time.Duration // offset of the last session; guarded by lookahead.drawing
	early  atomic.Int64  // sessions that are earlier than the one before
}

func newSchedule(p *plan.Phase, sessions *plan.Sessions) *schedule {
	if p.Replay == nil {
		return nil
	}
	return &schedule{plan: p.Replay, sessions: sessions, zero: p.Replay.Start}
}

// place gives a session its place in the schedule; false = it is outside the window of
// the phase. A session that is earlier than the one before is due with it.
func (r *schedule) place(s *session) (in bool, err error) {
	turns := s.conversation.Turns
	if len(turns) == 0 || !turns[0].Timed {
		return false, fmt.Errorf("conversation %q has no timestamp: a phase of type fixed_schedule needs one for the first turn of every conversation",
			s.conversation.ID)
	}
	at := turns[0].At
	if r.plan.End >= 0 && at > r.plan.End || !r.plan.Auto && at < r.plan.Start {
		return false, nil
	}
	if r.plan.Auto && !r.placed {
		r.zero = at
	}
	s.zero, s.correlation = r.zero, replayID(s.correlation, s.conversation)
	s.offset = r.sessions.Scaled(at - r.zero)
	if r.placed && s.offset < r.last || s.offset < 0 {
		r.early.Add(1)
		s.offset = max(r.last, 0)
	}
	r.placed, r.last = true, s.offset
	return true, nil
}

// replayID returns the id of a session of a replay: that of AIPerf, or the other one if
// a header cannot carry the id of the conversation.
func replayID(other string, c *bench.Conversation) string {
	for i := range len(c.ID) {
		if c.ID[i] <= ' ' || c.ID[i] > '~' {
			return other
		}
	}
	return "fixed-schedule-" + c.ID
}

// scheduled returns when the dataset says that a turn is sent; false = it does not, or
// the phase is no replay.
func (s *session) scheduled(turn int) (time.Duration, bool) {
	p, t := s.phase, &s.conversation.Turns[turn]
	if p.replay == nil || !t.Timed {
		return 0, false
	}
	return p.start + p.replay.sessions.Scaled(t.At-s.zero), true
}
