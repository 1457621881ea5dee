package study

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/study/paired"
)

// startLead is how long after both runs are ready a phase begins.
const startLead = 200 * time.Millisecond

// twins are the runs of two servers that get the same requests. The methods are safe for concurrent use.
type twins struct {
	key    uint64 // of the order within pairs
	design design

	mu      sync.Mutex
	changed chan struct{} // guarded by mu; closed and replaced when met or left changes
	met     [2]int        // guarded by mu; how many phases a side is or was ready for
	left    [2]string     // guarded by mu; why a side begins no phase any more; empty = it may
	start   time.Time     // guarded by mu; of the phase that both are ready for
	begun   [2]int64      // guarded by mu; the first sessions of profiling; -1 = it has not begun
	since   time.Time     // guarded by mu; when profiling began; zero = it has not
	course  *paired.Course
	several bool   // guarded by mu; a conversation had several turns
	failed  string // guarded by mu; why the pairs say nothing; empty = they do
}

// design says which side gets which arrivals, and when.
type design interface {
	// first returns the side that gets the n-th pair first, from 0.
	first(n int64) paired.Side
	// arrivals returns the arrivals of a side, as [run.Twin].
	arrivals(
		side paired.Side, plan iter.Seq[time.Duration], canary canary, over func() <-chan struct{},
	) iter.Seq[time.Duration]
	// share is that of [run.Twin].
	share() float64
}

// canary is that of [run.Twin].
type canary = func(context.Context) (time.Duration, error)

// newTwins returns the twins of a study. The seed decides which side gets a request first, for each of the processes
// that measure it.
func newTwins(seed int64, process int, how string, rules paired.Rules) *twins {
	sum := sha256.Sum256(fmt.Appendf(nil, "answers:%d:order:%d", seed, process))
	t := &twins{key: binary.BigEndian.Uint64(sum[:8]), changed: make(chan struct{}), begun: [2]int64{-1, -1}}
	switch how {
	case sweep.Split:
		t.design = split{t}
	case sweep.Crossover:
		c := &crossover{twins: t, block: rules.Block, waits: [2]int64{-1, -1}}
		t.design, rules.Turn = c, func(session int64) int64 { return c.blockOf(session - t.begun[paired.A]) }
	default:
		t.design = mirror{t}
	}
	rules.First = func(session int64) paired.Side { return t.design.first(session - t.begun[paired.A]) }
	t.course = paired.New(rules)
	return t
}

// restore takes the blocks of earlier processes of which there are all pairs, and for how long they loaded the servers
// at least. It returns for how long they did.
func (t *twins) restore(blocks []results.PairedBlock, pairs []paired.Pair, load time.Duration) time.Duration {
	var spans []paired.Span
	if n := len(pairs); n > 0 {
		for _, b := range blocks[:pairs[n-1].Block+1] {
			spans = append(spans, paired.Span{From: seconds(b.From), To: seconds(b.To)})
		}
		load = max(load, spans[len(spans)-1].To)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.course.Restore(spans, pairs, load)
	return load
}

// hash returns a number by chance that follows from the seed and n.
func (t *twins) hash(n int64) uint64 {
	x := t.key + uint64(n)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// coin returns a side by chance.
func (t *twins) coin(n int64) paired.Side { return paired.Side(t.hash(n) >> 63) }

// notify wakes those that wait for a change. Call it with mu held.
func (t *twins) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// twin is one side of [twins].
type twin struct {
	*twins
	side paired.Side
}

var _ run.Twin = twin{}

// Pair implements [run.Twin].
func (t twin) Pair() any { return t.twins }

// Meet implements [run.Twin].
func (t twin) Meet(ctx context.Context, _ int) (time.Time, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.met[t.side]++
	round, other := t.met[t.side], t.side.Other()
	if t.met[other] >= round {
		t.start = time.Now().Add(startLead)
	}
	t.notify()
	for t.met[other] < round {
		if why := t.left[other]; why != "" {
			return time.Time{}, fmt.Errorf("%s: %s", other, why)
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if ctx.Err() != nil && t.met[other] < round {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return time.Time{}, fmt.Errorf("%s was not ready in time", other)
			}
			return time.Time{}, ctx.Err()
		}
	}
	return t.start, nil
}

// Arrivals implements [run.Twin].
func (t twin) Arrivals(
	plan iter.Seq[time.Duration], canary canary, over func() <-chan struct{},
) iter.Seq[time.Duration] {
	return t.design.arrivals(t.side, plan, canary, over)
}

// Share implements [run.Twin].
func (t twin) Share() float64 { return t.design.share() }

// Begin implements [run.Twin].
func (t twin) Begin(session int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun[t.side] = session
	if t.since.IsZero() {
		t.since = time.Now()
	}
	switch a, b := t.begun[paired.A], t.begun[paired.B]; {
	case a < 0 || b < 0:
	case a != b:
		t.failed = fmt.Sprintf("the servers got different numbers of requests before: %d and %d", a, b)
	default:
		t.course.Begin(a)
	}
}

// Take implements [run.Twin].
func (t twin) Take(s *run.TwinSample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Turn > 0 {
		t.several = true
		return
	}
	if c, ok := t.design.(*crossover); ok {
		c.taken(t.side)
	}
	sample := paired.Sample{
		Session: s.Session, Name: s.Conversation, Due: s.Due, Lag: s.Lag, Failed: s.Failed,
		Values: [3]float64{s.FirstToken, s.InterToken, s.Whole}, Input: s.Input, Output: s.Output,
	}
	t.course.Add(t.side, sample)
}

// Leave implements [run.Twin].
func (t twin) Leave(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left[t.side] == "" {
		t.left[t.side] = why
		t.notify()
	}
}

// look closes the blocks that are complete. It returns their pairs, and why no more are needed; empty = they are.
func (t *twins) look() (rows []paired.Pair, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	closed := t.course.Advance()
	rows = t.course.Rows()
	if side, silent := t.course.Silent(); silent {
		return rows, fmt.Sprintf("not one request to %s succeeded", side)
	}
	if closed && t.course.Decided() {
		why = decided
	}
	return rows, why
}

// rest returns the pairs that belong to no block.
func (t *twins) rest() []paired.Pair {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.course.Rest()
}

// blocks returns the blocks that are complete.
func (t *twins) blocks() []paired.Block {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.course.Blocks()
}

// silent reports whether not one request to a side succeeded.
func (t *twins) silent(of paired.Side) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	side, silent := t.course.Silent()
	return silent && side == of
}

// doubt returns why the pairs say nothing; empty = they do.
func (t *twins) doubt() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.several {
		return "conversations have several turns, and a later one depends on how long the earlier ones took"
	}
	return t.failed
}

// load returns for how long this process has had the servers under load.
func (t *twins) load() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		return 0
	}
	return time.Since(t.since)
}

// answer returns what the pairs say so far, and what would decide it.
func (t *twins) answer(distorted string) (a paired.Answer, decide string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a = t.course.Answer(distorted)
	if c, ok := t.design.(*crossover); ok {
		a.Doubts = append(a.Doubts, notIdle(c)...)
	}
	return a, t.course.Decide(&a)
}
