package load

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// laneTimes says where the lanes of a phase enter their first sessions. A session that a lane
// plays later begins with its first turn.
type laneTimes struct {
	lanes  *spec.Lanes
	first  []*midway // of the first sessions, in the order of the lanes; nil = at its beginning
	placed int       // sessions

	mu   sync.Mutex
	left map[*session]*leftover // guarded by mu; by root; what CacheWarmup has sent of the sessions that go on
}

var _ timetable = (*laneTimes)(nil)

// enterAll decides where the first sessions are entered, one per lane.
func (l *laneTimes) enterAll(first []*session) {
	var last time.Duration // first request of a lane
	for lane, s := range first {
		m := s.resumed
		if m == nil && !l.lanes.Resumed {
			m = enterMidway(s.Entry, l.instant(s.Entry, lane))
			m.lane, m.flat = lane, l.lanes.CacheWarmup
		}
		if l.first = append(l.first, m); m != nil {
			last = max(last, m.begins())
		}
	}
	for _, m := range l.first {
		if m == nil {
			continue
		}
		switch at := m.begins(); l.lanes.Start {
		case spec.SpreadLanes:
		case spec.BurstLanes:
			m.shift = -at
		case spec.RampLanes:
			if ramp := l.lanes.Ramp; last > ramp {
				m.shift = time.Duration(float64(at)*float64(ramp)/float64(last)) - at
			}
		}
	}
}

// checkApart returns an error if lanes would have to share sessions and must not.
func (l *laneTimes) checkApart(first []*session) error {
	different := map[string]bool{}
	for _, s := range first {
		different[s.Entry.ID] = true
	}
	if !l.lanes.Apart || l.lanes.Resumed || len(different) == len(first) {
		return nil
	}
	return fmt.Errorf("%d lanes need as many sessions, and there are %d: play fewer at a time, or give prompts markers (--cache-bust first_turn_prefix), "+
		"or allow that lanes play the same one at the same time (--allow-dataset-wrap)", len(first), len(different))
}

// place implements timetable.
func (l *laneTimes) place(*bench.Conversation) (p placement, in bool, err error) {
	if l.placed < len(l.first) {
		p.midway = l.first[l.placed]
	}
	l.placed++
	return p, true, nil
}

// instant returns the time in the recording of a session at which a lane enters it.
func (l *laneTimes) instant(root *bench.Conversation, lane int) time.Duration {
	first, last := time.Duration(-1), time.Duration(0)
	for c := range streamsOf(root) {
		for i := range c.Turns {
			if at := c.Turns[i].Recorded; at != nil {
				last = max(last, at.Start)
				if first < 0 || at.Start < first {
					first = at.Start
				}
			}
		}
	}
	first = max(0, first)
	whole := float64(last - first)
	from, to := whole*l.lanes.From, whole*l.lanes.To
	return first + time.Duration(from+instantShare(l.lanes.Seed, root.ID, lane)*(to-from))
}

// streamsOf yields a conversation and all its descendants.
func streamsOf(c *bench.Conversation) iter.Seq[*bench.Conversation] {
	return func(yield func(*bench.Conversation) bool) {
		if !yield(c) {
			return
		}
		for child := range c.Children() {
			for d := range streamsOf(child) {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// midway is where a recorded session is entered: at an instant of the recording, when some of
// its streams had ended, some had begun, and others had not. It does not change while the
// session is played.
type midway struct {
	lane    int
	instant time.Duration
	shift   time.Duration // of everything, against the recording
	// next has the streams that had begun, with the first turn that is sent; that after the last
	// one = it had ended.
	next map[*bench.Conversation]int
	flat bool // everything is due at once
	// paused makes the next turns due after their own pauses: the streams have come so far in an earlier phase, each at
	// its own speed, so that there is no instant of the recording.
	paused bool
}

// enterMidway returns where a session is entered at an instant of its recording.
func enterMidway(root *bench.Conversation, instant time.Duration) *midway {
	m := &midway{instant: instant, next: map[*bench.Conversation]int{}}
	m.enter(root)
	return m
}

// enter finds the next turn of a stream that had begun, and those of the streams that its
// earlier turns had started.
func (m *midway) enter(c *bench.Conversation) {
	next := 0
	for next < len(c.Turns) && c.Turns[next].Recorded != nil && c.Turns[next].Recorded.Start < m.instant {
		next++
	}
	m.next[c] = next
	for child := range begunChildren(c, next) {
		m.enter(child)
	}
}

// begunChildren yields the children that the turns before next start.
func begunChildren(c *bench.Conversation, next int) iter.Seq[*bench.Conversation] {
	before := *c
	before.Turns = c.Turns[:next]
	return before.Children()
}

// has reports whether a stream is entered in its middle; a nil m has none.
func (m *midway) has(c *bench.Conversation) bool {
	if m == nil {
		return false
	}
	_, ok := m.next[c]
	return ok
}

// turn returns the first turn of a stream that is sent.
func (m *midway) turn(c *bench.Conversation) int {
	if m == nil {
		return 0
	}
	return m.next[c]
}

// requests returns how many requests of a stream and its descendants are left.
func (m *midway) requests(c *bench.Conversation) int64 {
	if !m.has(c) {
		return c.Requests()
	}
	n := c.Requests() - int64(m.next[c])
	for child := range begunChildren(c, m.next[c]) {
		n -= child.Requests() - m.requests(child)
	}
	return n
}

// offset returns when the next turn of a stream is due, from the start of the phase; false =
// no turn is left.
func (m *midway) offset(c *bench.Conversation) (time.Duration, bool) {
	next := m.next[c]
	if next == len(c.Turns) {
		return 0, false
	}
	at := c.Turns[next].Recorded
	switch {
	case m.paused:
		return c.Turns[next].Delay + m.shift, true
	case at == nil || m.flat:
		return 0, true
	}
	return max(0, at.Start-m.instant) + m.shift, true
}

// begins returns when the first request of the session is due, from the start of the phase.
func (m *midway) begins() time.Duration {
	first := time.Duration(-1)
	for c := range m.next {
		if at, more := m.offset(c); more && (first < 0 || at < first) {
			first = at
		}
	}
	return max(0, first)
}

// performMidway performs a session from where it is entered.
func (s *session) performMidway(ctx context.Context, losses *outage) (successor *session) {
	e, m := s.env, s.midway
	s.resumeChildren(ctx)
	offset, more := m.offset(s.Entry)
	if !more {
		return s.endSession(ctx, e.clock.Now(), false)
	}
	s.buildTurn(s.First)
	due := e.start + e.work.Sessions.Scaled(offset)
	answered := due - e.work.Sessions.Scaled(s.Conversation.Turns[s.First].Delay)
	switch {
	case e.lanes.lanes.CacheWarmup:
		answered = due
	case e.work.Sessions.JoinAtOnce && s.waitsAt(s.First):
		answered = e.start // the children decide
	}
	if !s.awaitTurn(s.First, answered) {
		return s.endSession(ctx, e.clock.Now(), false)
	}
	return s.performTurns(ctx, losses)
}

// resumeChildren performs the children that had begun when the session is entered.
func (s *session) resumeChildren(ctx context.Context) {
	for i := range s.Entry.Turns[:s.First] {
		t := &s.Entry.Turns[i]
		for _, spawn := range t.Spawns {
			s.resumeSpawn(ctx, &spawn)
		}
		for _, fork := range t.Forks {
			s.resumeChild(ctx, fork.Child, nil)
		}
	}
}

// resumeSpawn performs those of a group of children that are left.
func (s *session) resumeSpawn(ctx context.Context, spawn *bench.Spawn) {
	var left []*bench.Conversation
	for _, c := range spawn.Children {
		if s.midway.requests(c) > 0 {
			left = append(left, c)
		}
	}
	var g *group
	if spawn.JoinAt >= s.First && len(left) > 0 && spawn.JoinAt > 0 {
		g = newGroup(len(left))
		s.joins = append(s.joins, join{spawn.JoinAt, g})
	}
	for _, c := range left {
		s.resumeChild(ctx, c, g)
	}
}

func (s *session) resumeChild(ctx context.Context, c *bench.Conversation, g *group) {
	child := s.newChild(c, g, false)
	s.env.group.Go(func() { child.performSlot(ctx) })
}

// waitsAt reports whether a turn waits for children.
func (s *session) waitsAt(turn int) bool {
	for _, j := range s.joins {
		if j.turn <= turn {
			return true
		}
	}
	return false
}

// leftover is how far the streams of a session have come.
type leftover struct {
	next map[*bench.Conversation]int    // by stream, the first turn that was not sent
	ids  map[*bench.Conversation]string // by stream, its correlation id
}

// isCacheWarmup reports whether a phase plays recorded sessions without pauses, for answers of one token.
func (e *sessionEnv) isCacheWarmup() bool { return e.lanes != nil && e.lanes.lanes.CacheWarmup }

// noteStream notes how far a stream has come that sends nothing any more in this phase. A stream that has ended
// because a request failed is over.
func (l *laneTimes) noteStream(s *session, failed bool) {
	next := max(s.First, s.reached)
	if failed && !s.goesOn(failed) {
		next = len(s.Entry.Turns)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == nil {
		l.left = map[*session]*leftover{}
	}
	of := l.left[s.root]
	if of == nil {
		of = &leftover{map[*bench.Conversation]int{}, map[*bench.Conversation]string{}}
		if m := s.root.midway; m != nil { // streams that had ended before are no sessions of this phase
			maps.Copy(of.next, m.next)
		}
		maps.Copy(of.ids, s.root.streamIDs)
		l.left[s.root] = of
	}
	of.next[s.Entry] = next
	if s.parent != nil {
		of.ids[s.Entry] = s.correlation
	}
}

// remainder returns what is left of a session whose streams send nothing any more, for the next phase; nil = nothing is.
func (l *laneTimes) remainder(root *session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.left[root]
	delete(l.left, root)
	if of == nil {
		return nil
	}
	m := &midway{lane: root.lane - 1, next: of.next, paused: true}
	if root.midway != nil {
		m.instant = root.midway.instant
	}
	if m.requests(root.Entry) == 0 {
		return nil
	}
	rest := &session{
		Dialogue: root.Dialogue, model: root.model, target: root.target, correlation: root.correlation,
		streamIDs: of.ids, resumed: m,
	}
	rest.Conversation, rest.root = root.Entry, rest
	return rest
}
