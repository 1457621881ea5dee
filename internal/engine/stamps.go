package engine

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// stamps are the wall-clock times of one run: one reading of the system clock, and the
// monotonic time since then. A step of the system clock changes neither their order nor
// their differences.
type stamps struct {
	wall time.Time // at the reading
	read time.Time // the reading; its monotonic part counts
}

// newStamps reads the clock; nil = the system's. Times are not before earliest.
func newStamps(clock func() time.Time, earliest time.Time) stamps {
	read := time.Now()
	wall := read
	if clock != nil {
		wall = clock()
	}
	wall = wall.Round(0).UTC()
	if wall.Before(earliest) {
		wall = earliest
	}
	return stamps{wall, read}
}

// now returns the current time.
func (s stamps) now() time.Time { return s.wall.Add(time.Since(s.read)) }

// latestOf returns the last time of a run of an earlier process.
func latestOf(r *run.Run) time.Time {
	if r.StartedAt != nil && r.StartedAt.After(r.CreatedAt) {
		return *r.StartedAt
	}
	return r.CreatedAt
}

// finish makes a run terminal.
func (j *job) finish(r *run.Run, s bench.State, reason string) {
	now := j.time.now()
	r.State, r.StateReason, r.EndedAt = s, reason, &now
}

// fail makes a run terminal with an error.
func (j *job) fail(r *run.Run, cause *run.Error) {
	r.Error = cause
	j.finish(r, bench.StateFailed, cause.Message)
}

// sequence makes ids of runs, each greater than the one before it, whatever the system
// clock does. Safe for concurrent use.
type sequence struct {
	mu   sync.Mutex
	last string // guarded by mu
}

// timeDigits is the number of hex digits of the time in milliseconds with which an id of
// version 7 begins.
const timeDigits = 12

// follow makes all further ids greater than one.
func (q *sequence) follow(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = max(q.last, id)
}

// next returns a new id.
func (q *sequence) next() (string, error) {
	u, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make run id: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	id := strings.ReplaceAll(u.String(), "-", "")
	if id <= q.last {
		last, err := strconv.ParseUint(q.last[:timeDigits], 16, 64)
		if err != nil {
			return "", fmt.Errorf("make run id after %s: %w", q.last, err)
		}
		id = fmt.Sprintf("%0*x", timeDigits, last+1) + id[timeDigits:]
	}
	q.last = id
	return id, nil
}
