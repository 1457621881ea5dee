// Package intake admits the documents of requests: it bounds the memory of the bodies that
// are being received, and the number of documents that are read at the same time, so that
// no number of clients can take the memory or all processors of the daemon.
package intake

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/semaphore"
)

// The limits of a gate.
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
	// WorkLimit is how long a document may be worked on.
	WorkLimit = 20 * time.Second
	piece     = 32 << 10 // bytes of a body that are reserved at a time
)

// ErrBusy means that too many documents are being received or read.
var ErrBusy = errors.New("too many documents at the same time")

// Gate admits documents. Make it with [New]; it is safe for concurrent use.
type Gate struct {
	bodies, small, large *semaphore.Weighted
}

// New returns a gate for bodies of at most the given bytes.
func New(largest int64) *Gate {
	return &Gate{
		bodies: semaphore.NewWeighted(max(bodies, perBody*largest)), small: semaphore.NewWeighted(smallPlaces), large: semaphore.NewWeighted(largePlaces),
	}
}

// Body is what was received of a request. Release returns its memory.
type Body struct {
	Data []byte
	gate *Gate
	held int64
}

// Release returns the memory of the body, which must not be used any more. A second call
// does nothing.
func (b *Body) Release() {
	b.gate.bodies.Release(b.held)
	b.Data, b.held = nil, 0
}

// Read receives a body to its end. Memory is reserved as the bytes arrive, so that a
// client that sends nothing takes nothing. The error is [ErrBusy] if there is no memory for
// it, otherwise that of r. The caller releases the body.
func (g *Gate) Read(r io.Reader) (*Body, error) {
	b := &Body{gate: g}
	for {
		if cap(b.Data)-len(b.Data) < piece/2 {
			// Twice as much, while the old half still exists.
			more := int64(max(piece, 2*cap(b.Data)))
			if !g.bodies.TryAcquire(more) {
				b.Release()
				return nil, ErrBusy
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
			b.Release()
			return nil, err
		}
	}
}

// Enter waits for a place to read a document of a size. It returns the context of the work,
// which ends with ctx and after [WorkLimit], and the function that ends it and gives the
// place back. The error is [ErrBusy] if no place becomes free in time, or that of ctx.
func (g *Gate) Enter(ctx context.Context, size int) (context.Context, func(), error) {
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
		return nil, nil, ErrBusy
	}
	work, cancel := context.WithTimeout(ctx, WorkLimit)
	return work, func() {
		cancel()
		places.Release(1)
	}, nil
}
