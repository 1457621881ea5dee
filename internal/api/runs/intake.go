package runs

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/api/respond"
)

// The limits of a gate, with which no number of clients can take the memory or all processors
// of the daemon.
const (
	// bodies is the memory for bodies of all requests together in bytes, at least.
	bodies = 32 << 20
	// perBody is the memory that the receipt of one body takes, in bodies.
	perBody = 8
	// Small documents have places of their own, so that large ones, which take up to a
	// second each, do not delay them.
	small       = 32 << 10 // bytes
	smallPlaces = 4
	largePlaces = 1
	// waitLimit is how long a document waits for a place.
	waitLimit = 5 * time.Second
	// workLimit is how long a document may be worked on.
	workLimit = 20 * time.Second
	piece     = 32 << 10 // bytes of a body that are reserved at a time
)

// gate admits documents. Make it with [newGate]; it is safe for concurrent use.
type gate struct {
	bodies, small, large *semaphore.Weighted
}

// newGate returns a gate for bodies of at most the given bytes.
func newGate(largest int64) *gate {
	return &gate{
		bodies: semaphore.NewWeighted(max(bodies, perBody*largest)),
		small:  semaphore.NewWeighted(smallPlaces), large: semaphore.NewWeighted(largePlaces),
	}
}

// body is what was received of a request. release returns its memory.
type body struct {
	Data []byte
	gate *gate
	held int64
}

// release returns the memory of the body, which must not be used any more. A second call
// does nothing.
func (b *body) release() {
	b.gate.bodies.Release(b.held)
	b.Data, b.held = nil, 0
}

// read receives a body to its end. Memory is reserved as the bytes arrive, so that a
// client that sends nothing takes nothing. The error is [respond.ErrBusy] if there is no memory for
// it, otherwise that of r. The caller releases the body.
func (g *gate) read(r io.Reader) (*body, error) {
	b := &body{gate: g}
	for {
		if cap(b.Data)-len(b.Data) < piece/2 {
			// Twice as much, while the old half still exists.
			more := int64(max(piece, 2*cap(b.Data)))
			if !g.bodies.TryAcquire(more) {
				b.release()
				return nil, respond.ErrBusy
			}
			data := make([]byte, len(b.Data), more)
			copy(data, b.Data)
			b.Data = data
			g.bodies.Release(b.held)
			b.held = more
		}
		n, err := r.Read(b.Data[len(b.Data):cap(b.Data)])
		b.Data = b.Data[:len(b.Data)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			b.release()
			return nil, err
		}
	}
}

// enter waits for a place to read a document of a size. It returns the context of the work,
// which ends with ctx and after [workLimit], and the function that ends it and gives the
// place back. The error is [respond.ErrBusy] if no place becomes free in time, or that of ctx.
func (g *gate) enter(ctx context.Context, size int) (context.Context, func(), error) {
	places := g.large
	if size <= small {
		places = g.small
	}
	waiting, stop := context.WithTimeout(ctx, waitLimit)
	defer stop()
	if places.Acquire(waiting, 1) != nil {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		return nil, nil, respond.ErrBusy
	}
	work, cancel := context.WithTimeout(ctx, workLimit)
	return work, func() {
		cancel()
		places.Release(1)
	}, nil
}

// submitRate limits how often each caller submits: evenly, after as many at once as it
// may submit per minute (GCRA). The zero value limits nothing. It is safe for concurrent
// use.
type submitRate struct {
	perMinute int
	anonymous bool // callers without a name are limited, too: all of them together

	mu   sync.Mutex
	next map[string]time.Time // by caller, of which there are as many as tokens: when it has used up nothing
}

// take counts a submission of a caller. The error says when the next one is allowed.
func (s *submitRate) take(caller string, now time.Time) error {
	if s.perMinute == 0 || caller == "" && !s.anonymous {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(map[string]time.Time)
	}
	interval := time.Minute / time.Duration(s.perMinute)
	next := s.next[caller]
	if next.Before(now) {
		next = now
	}
	if wait := next.Sub(now) - interval*time.Duration(s.perMinute-1); wait > 0 {
		limited := respond.Fail(respond.ErrRateLimited, "More than %d submissions per minute (--submit-rate)", s.perMinute)
		limited.Header = map[string]string{"Retry-After": strconv.Itoa(int(math.Ceil(wait.Seconds())))}
		return limited
	}
	s.next[caller] = next.Add(interval)
	return nil
}
