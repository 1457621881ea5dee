package queue

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// clockEvery is how often a queue that waits for a time reads the system clock again,
// which may be set meanwhile.
const clockEvery = time.Minute

// schedule is which tasks wait, and which are active. Its methods are safe for concurrent
// use and perform no I/O.
type schedule[T Task] struct {
	max    int // active tasks
	rivals func(waiting, active T) bool
	beside func(waiting, active T) bool

	mu       sync.Mutex
	tasks    map[string]T // guarded by mu; waiting and active ones, the last that was measured, and unstored ones
	waiting  []T          // guarded by mu; in the order of [run.Run.Before]
	urgent   []T          // guarded by mu; have begun in an earlier process and were cancelled while they waited
	active   []T          // guarded by mu; in the order of start
	storing  int          // guarded by mu; submissions that take a place in the queue once they are stored
	last     string       // guarded by mu; id of the run with a snapshot that ended last
	stopping bool         // guarded by mu
	paused   bool         // guarded by mu
}

func newSchedule[T Task](most int, rivals, beside func(waiting, active T) bool) schedule[T] {
	return schedule[T]{max: most, rivals: rivals, beside: beside, tasks: map[string]T{}}
}

// same returns a test for a task.
func same[T Task](t T) func(T) bool {
	return func(o T) bool { return o.Item() == t.Item() }
}

// Find returns the task of a run that waits, is active, or ended last.
func (s *schedule[T]) Find(id string) (t T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok = s.tasks[id]
	return t, ok
}

// Busy returns the task of a run that waits or is performed.
func (s *schedule[T]) Busy(id string) (t T, ok bool) {
	t, ok = s.Find(id)
	return t, ok && !t.Item().Ended()
}

// known returns all tasks in memory.
func (s *schedule[T]) known() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.tasks))
}

// Active returns the active tasks in the order of their start.
func (s *schedule[T]) Active() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.active)
}

// Last returns the id of the run with a snapshot that ended last; empty = there is none.
func (s *schedule[T]) Last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Describe returns the state of the queue; its limits are left to the caller.
func (s *schedule[T]) Describe() run.Queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := run.Queue{IDs: []string{}, Running: []string{}, Paused: s.paused}
	for _, t := range s.waiting {
		id := t.Item().id
		q.IDs = append(q.IDs, id)
		if rival, found := s.rival(t); found && len(s.active) < s.max {
			if q.Rivals == nil {
				q.Rivals = map[string]string{}
			}
			q.Rivals[id] = rival.Item().id
		}
	}
	for _, t := range s.active {
		q.Running = append(q.Running, t.Item().id)
	}
	return q
}

// reserve takes a place in a queue of at most some waiting tasks for a submission that is
// being stored; 0 = it has no limit.
func (s *schedule[T]) reserve(most int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return run.ErrStopping
	case most > 0 && len(s.waiting)+s.storing >= most:
		return run.ErrQueueFull
	}
	s.storing++
	return nil
}

// unreserve gives a place back.
func (s *schedule[T]) unreserve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storing--
}

// add makes a task wait; reserved = it takes the place of a submission.
func (s *schedule[T]) add(t T, reserved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reserved {
		s.storing--
	}
	s.tasks[t.Item().id] = t
	s.place(t)
}

// take makes tasks active that were so in an earlier process.
func (s *schedule[T]) take(list []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list {
		s.tasks[t.Item().id] = t
	}
	s.active = append(s.active, list...)
}

// place puts a task among those that wait. Call it with mu held.
func (s *schedule[T]) place(t T) {
	at, _ := slices.BinarySearchFunc(s.waiting, t, func(a, b T) int {
		if a.Item().View().Before(b.Item().View()) {
			return -1
		}
		return 1
	})
	s.waiting = slices.Insert(s.waiting, at, t)
}

// replace puts a waiting task where its priority belongs now.
func (s *schedule[T]) replace(t T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.IndexFunc(s.waiting, same(t)); at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
		s.place(t)
	}
}

// next takes the first waiting task that may start now: there is room, its time has come, no
// active one is its rival, and nothing blocks the queue. If there is none, wait is when to
// try again even if nothing changes; 0 = not. What was cancelled and only has to be ended
// waits for nothing.
func (s *schedule[T]) next(now time.Time, blocked bool) (t T, ok bool, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.urgent) > 0 {
		t, s.urgent = s.urgent[0], s.urgent[1:]
		s.active = append(s.active, t)
		return t, true, 0
	}
	if s.stopping || s.paused || blocked {
		return t, false, 0
	}
	for i, t := range s.waiting {
		if len(s.active) >= s.max && !s.joins(t) {
			continue
		}
		if left := t.Item().View().Ready(now); left > 0 {
			wait = min(cmp.Or(wait, clockEvery), left)
			continue
		}
		if _, found := s.rival(t); found {
			continue
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.active = append(s.active, t)
		return t, true, 0
	}
	return t, false, wait
}

// rival returns an active task that a waiting one must not disturb. Call it with mu held.
func (s *schedule[T]) rival(waiting T) (active T, found bool) {
	if s.rivals != nil {
		for _, active := range s.active {
			if s.rivals(waiting, active) {
				return active, true
			}
		}
	}
	return active, false
}

// joins reports whether a waiting task is performed together with an active one. Call it with mu held.
func (s *schedule[T]) joins(waiting T) bool {
	return s.beside != nil && slices.ContainsFunc(s.active, func(active T) bool { return s.beside(waiting, active) })
}

// withdraw returns a task that has not ended, to be cancelled. waited = it waited, has never
// begun, and will not: the caller ends and retires it.
func (s *schedule[T]) withdraw(id string) (t T, found, waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, found = s.tasks[id]
	if !found {
		return t, false, false
	}
	r := t.Item().View()
	if r.State.Terminal() {
		return t, false, false
	}
	at := slices.IndexFunc(s.waiting, same(t))
	if at < 0 || r.StartedAt != nil {
		return t, true, false
	}
	s.waiting = slices.Delete(s.waiting, at, at+1)
	return t, true, true
}

// hurry lets a cancelled task begin at once if it still waits: it has begun in an earlier
// process, and only has to be ended. If the queue stops, the next process does that.
func (s *schedule[T]) hurry(t T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.IndexFunc(s.waiting, same(t)); at >= 0 && !s.stopping {
		s.waiting = slices.Delete(s.waiting, at, at+1)
		s.urgent = append(s.urgent, t)
	}
}

// remove removes a task that has ended. Only the last one with a snapshot stays in memory,
// and those whose end the store has refused. idle = no task is active or waits.
func (s *schedule[T]) remove(t T) (idle bool) {
	it := t.Item()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = slices.DeleteFunc(slices.Clone(s.active), same(t))
	dropped := it.id
	if it.hooks.Snapshot != nil && it.hooks.Snapshot() != nil {
		dropped, s.last = s.last, it.id
	}
	s.drop(dropped)
	it.end()
	return len(s.active) == 0 && len(s.waiting) == 0 && !s.stopping
}

// forget drops a task whose end is stored now.
func (s *schedule[T]) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

// drop drops a task that has ended, unless it is the last one or the store does not have its
// end. Call it with mu held.
func (s *schedule[T]) drop(id string) {
	if t, ok := s.tasks[id]; ok && id != s.last && !t.Item().unstored() {
		delete(s.tasks, id)
	}
}

// forgetDeleted drops a task whose run does not exist any more.
func (s *schedule[T]) forgetDeleted(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tasks, id)
	if s.last == id {
		s.last = ""
	}
}

// hold lets no task begin, or again.
func (s *schedule[T]) hold(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = paused
}

// refuse lets no task begin or be submitted any more. Nobody waits for those that wait.
func (s *schedule[T]) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for _, t := range slices.Concat(s.waiting, s.urgent) {
		t.Item().end()
	}
}
