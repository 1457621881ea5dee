package load

import (
	"context"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
)

// startBranches starts the children of a turn that has returned, unless it was a primer.
func (s *session) startBranches(ctx context.Context, turn int, returned time.Duration) {
	if s.primer {
		return
	}
	t := &s.Conversation.Turns[turn]
	for _, fork := range t.Forks {
		g := s.awaits // who waits for the parent waits for what it becomes
		if fork.Background {
			g = nil
		} else if g != nil {
			g.left.Add(1)
		}
		s.startChild(ctx, s.newChild(fork.Child, g, true), returned)
	}
	for _, spawn := range t.Spawns {
		if spawn.JoinAt == 0 {
			s.startChildren(ctx, spawn.Children, returned, nil)
			continue
		}
		g := newGroup(len(spawn.Children))
		s.joins = append(s.joins, join{spawn.JoinAt, g})
		s.startChildren(ctx, spawn.Children, returned, g)
	}
}

// startChildren starts children with a history of their own.
func (s *session) startChildren(ctx context.Context, children []*bench.Conversation, at time.Duration, g *group) {
	for _, c := range children {
		s.startChild(ctx, s.newChild(c, g, false), at)
	}
}

// newChild makes a session for a child. One that inherits goes on with the history of its
// parent.
func (s *session) newChild(c *bench.Conversation, g *group, inherits bool) *session {
	child := &session{
		Dialogue: Dialogue{Session: s.Session, Root: s.Root, Phase: s.Phase, Marker: s.Marker, Conversation: c},
		env:      s.env, model: s.model, target: s.target, zero: s.zero, unsent: s.midway.requests(c),
		midway: s.midway, streamIDs: s.streamIDs, lane: s.lane,
		correlation: s.env.work.ids.next(),
		root:        s.root, depth: s.depth + 1, parent: s, awaits: g,
	}
	if s.env.replay != nil {
		if id := replayID(c); id != "" {
			child.correlation = id
		}
	}
	if id := s.streamIDs[c]; id != "" {
		child.correlation = id
	}
	child.First = s.midway.turn(c)
	if c.Model != "" {
		child.model = c.Model
	}
	if inherits {
		child.History = slices.Clip(s.History)
		if c.System == "" && c.Context == "" {
			continued := *c
			continued.System, continued.Context = s.Conversation.System, s.Conversation.Context
			child.Conversation = &continued
		}
	}
	child.Entry = child.Conversation
	s.unsent -= child.unsent
	s.root.live.Add(1)
	s.env.idle.enter(s.root.tree)
	return child
}

// startChild performs a child, and the sessions that follow in the slot if it is the last of
// its family, in a goroutine of their own.
func (s *session) startChild(ctx context.Context, child *session, at time.Duration) {
	s.env.group.Go(func() {
		child.due = at
		if child.isSilent() || child.awaitFirst(at) {
			child.performSlot(ctx)
			return
		}
		child.endSession(ctx, child.env.clock.Now(), false).performSlot(ctx)
	})
}

// awaitFirst prepares the first turn of a child and waits until it may be sent.
func (s *session) awaitFirst(at time.Duration) bool {
	s.buildTurn(0)
	return s.awaitTurn(0, at)
}

// performRounds performs the rounds of a conversation without turns.
func (s *session) performRounds(ctx context.Context) (successor *session) {
	e := s.env
	for i := range s.Conversation.Rounds {
		r := &s.Conversation.Rounds[i]
		s.due += e.work.Sessions.Scaled(r.Think)
		if !e.waitFor(s.due - e.clock.Now()) {
			break
		}
		g := newGroup(len(r.Children))
		s.joins = append(s.joins, join{i, g})
		s.startChildren(ctx, r.Children, s.due, g)
		var ok bool
		if s.due, ok = s.awaitChildren(i, s.due); !ok {
			break
		}
	}
	return s.endSession(ctx, e.clock.Now(), false)
}

// awaitChildren waits for the groups that a turn needs, and returns when the last of their
// children ended, or answered if that is later; false = the session does not go on.
func (s *session) awaitChildren(turn int, answered time.Duration) (time.Duration, bool) {
	later := s.joins[:0]
	for _, j := range s.joins {
		if j.turn > turn {
			later = append(later, j)
			continue
		}
		if !s.env.idle.awaitGroup(s.root.tree, j.group, s.env.stopped.done) {
			return answered, false
		}
		answered = max(answered, time.Duration(j.group.last.Load()))
	}
	s.joins = later
	return answered, !s.broken.Load()
}
