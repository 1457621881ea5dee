package load

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
)

// family connects a session with its parent and its children. A root and its
// descendants share one slot, which is free when the last of them has ended.
type family struct {
	root   *session
	depth  int      // 0 = a root
	parent *session // nil = a root
	group  *group   // that the session belongs to; nil = nothing waits for it
	joins  []join   // what later turns wait for

	live   atomic.Int64 // of a root: sessions of the family that have not ended
	cut    atomic.Bool  // of a root: a request of the family was not sent
	broken atomic.Bool  // a child has failed, and the plan wants its parent to end
}

// group is a number of children that a turn of their parent waits for.
type group struct {
	left atomic.Int64
	last atomic.Int64  // offset; the latest end of a child
	done chan struct{} // closed when all children have ended
}

// join is a group and the turn that waits for it.
type join struct {
	turn  int
	group *group
}

func newGroup(children int) *group {
	g := &group{done: make(chan struct{})}
	if g.left.Store(int64(children)); children == 0 {
		close(g.done)
	}
	return g
}

// end counts the end of a child.
func (g *group) end(at time.Duration) {
	for {
		last := g.last.Load()
		if int64(at) <= last || g.last.CompareAndSwap(last, int64(at)) {
			break
		}
	}
	if g.left.Add(-1) == 0 {
		close(g.done)
	}
}

// ends reports whether the conversation ends with a turn because it goes on in a fork.
func (s *session) ends(turn int) bool {
	for _, fork := range s.conversation.Turns[turn].Forks {
		if !fork.Background {
			return true
		}
	}
	return false
}

// branch starts the children of a turn that has returned.
func (s *session) branch(ctx context.Context, turn int, returned time.Duration) {
	t := &s.conversation.Turns[turn]
	for _, fork := range t.Forks {
		g := s.group // who waits for the parent waits for what it becomes
		if fork.Background {
			g = nil
		} else if g != nil {
			g.left.Add(1)
		}
		s.begin(ctx, s.child(fork.Child, g, true), returned)
	}
	for _, spawn := range t.Spawns {
		if spawn.JoinAt == 0 {
			s.launch(ctx, spawn.Children, returned, nil)
			continue
		}
		g := newGroup(len(spawn.Children))
		s.joins = append(s.joins, join{spawn.JoinAt, g})
		s.launch(ctx, spawn.Children, returned, g)
	}
}

// launch starts children with a history of their own.
func (s *session) launch(ctx context.Context, children []*bench.Conversation, at time.Duration, g *group) {
	for _, c := range children {
		s.begin(ctx, s.child(c, g, false), at)
	}
}

// child makes a session for a child. One that inherits goes on with the history of its
// parent.
func (s *session) child(c *bench.Conversation, g *group, inherits bool) *session {
	p := s.phase
	one := &session{
		phase: p, num: s.num, marker: s.marker, conversation: c, target: s.target, zero: s.zero, unsent: c.Requests(),
		correlation: p.work.ids.next(), permits: make(chan time.Duration, 1),
		family: family{root: s.root, depth: s.depth + 1, parent: s, group: g},
	}
	if p.replay != nil {
		one.correlation = replayID(one.correlation, c)
	}
	one.model = s.model
	if c.Model != "" {
		one.model = c.Model
	}
	if inherits {
		one.history = slices.Clip(s.history)
		if c.System == "" && c.Context == "" {
			heir := *c
			heir.System, heir.Context = s.conversation.System, s.conversation.Context
			one.conversation = &heir
		}
	}
	one.entry = one.conversation
	s.unsent -= one.unsent
	s.root.live.Add(1)
	return one
}

// begin performs a child, and the sessions that follow in the slot if it is the last of
// its family, in a goroutine of their own.
func (s *session) begin(ctx context.Context, child *session, at time.Duration) {
	s.phase.sessions.Go(func() {
		child.due = at
		if silent(child.conversation) || child.first(at) {
			child.perform(ctx)
			return
		}
		child.leave(ctx, child.phase.work.Clock.Now(), false).perform(ctx)
	})
}

// first prepares the first turn of a child and waits until it may be sent.
func (s *session) first(at time.Duration) bool {
	s.build(0)
	return s.proceed(0, at)
}

// orchestrate performs the rounds of a conversation without turns.
func (s *session) orchestrate(ctx context.Context) (successor *session) {
	p := s.phase
	for i := range s.conversation.Rounds {
		r := &s.conversation.Rounds[i]
		s.due += p.work.Plan.Sessions.Scaled(r.Think)
		if !p.wait(s.due - p.work.Clock.Now()) {
			break
		}
		g := newGroup(len(r.Children))
		s.joins = append(s.joins, join{i, g})
		s.launch(ctx, r.Children, s.due, g)
		var ok bool
		if s.due, ok = s.join(i, s.due); !ok {
			break
		}
	}
	return s.leave(ctx, p.work.Clock.Now(), false)
}

// join waits for the groups that a turn needs, and returns when the last of their
// children ended, or answered if that is later; false = the session does not go on.
func (s *session) join(turn int, answered time.Duration) (time.Duration, bool) {
	later := s.joins[:0]
	for _, j := range s.joins {
		if j.turn > turn {
			later = append(later, j)
			continue
		}
		select {
		case <-j.group.done:
			answered = max(answered, time.Duration(j.group.last.Load()))
		case <-s.phase.stopped.done:
			return answered, false
		}
	}
	s.joins = later
	return answered, !s.broken.Load()
}

// tell reports the end of the session to its parent.
func (s *session) tell(ended time.Duration, failed bool) {
	if s.parent != nil && s.phase.work.Plan.Sessions.FailFast && (failed || s.broken.Load()) {
		s.parent.broken.Store(true)
	}
	if s.group != nil {
		s.group.end(ended)
	}
}
