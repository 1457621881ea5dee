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

// leastLoaded begins a request to the target with the fewest in flight, and returns that;
// among equals, targets take turns.
func (f *flights) leastLoaded() int {
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

// beginFlight begins a request to a target.
func (f *flights) beginFlight(target int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count != nil {
		f.count[target]++
	}
}

// endFlight ends a request.
func (f *flights) endFlight(target int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count != nil {
		f.count[target]--
	}
}
