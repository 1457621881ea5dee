package load

import "sync"

// undecided is the target of a session that has not chosen one.
const undecided = -1

// flights counts the requests in flight by target, to choose the one with the fewest.
// Without targets it counts nothing. It is safe for concurrent use.
type flights struct {
	mu    sync.Mutex
	count []int64 // guarded by mu; by target
	next  int     // guarded by mu; the target after the one that was chosen last
}

// least begins a request to the target with the fewest in flight, and returns that; among
// equals, targets take turns.
func (f *flights) least() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	best := f.next
	for i := range f.count {
		if t := (f.next + i) % len(f.count); f.count[t] < f.count[best] {
			best = t
		}
	}
	f.count[best]++
	f.next = (best + 1) % len(f.count)
	return best
}

// begin begins a request to a target.
func (f *flights) begin(target int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count != nil {
		f.count[target]++
	}
}

// end ends a request.
func (f *flights) end(target int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count != nil {
		f.count[target]--
	}
}

// depart returns the target of a session's request that is sent now, in the order in
// which requests are sent. A session that keeps its target chooses it with its first
// request.
func (f *flights) depart(s *session) int {
	w := s.phase.work
	switch spread := &w.Plan.Spread; {
	case spread.Least && (spread.Request || s.target == undecided):
		s.target = f.least()
		return s.target
	case spread.Request:
		return spread.Pick(w.sent.Add(1) - 1)
	}
	f.begin(s.target)
	return s.target
}
