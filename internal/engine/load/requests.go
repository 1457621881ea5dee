package load

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport"
)

// requests is what the requests of a run have in common: their ids, their targets and how
// they are made and sent. It is safe for concurrent use.
type requests struct {
	Options
	ids     identities
	chosen  atomic.Int64 // requests, if each chooses its target
	flights flights      // by target; empty unless the one with the fewest is chosen
}

// encodeTurn encodes the turn that a record describes. A panic is an error: the history of
// a request is what servers have answered.
func (q *requests) encodeTurn(d *Dialogue, rec *bench.Record, r *transport.Request) (items int, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &encodePanic{bench.Panic{Value: value, Stack: debug.Stack()}}
		}
	}()
	return q.Encoder.Encode(d, rec, r)
}

// encodePanic is the error of a request that could not be encoded because that panicked.
type encodePanic struct{ bench.Panic }

func (p *encodePanic) Error() string {
	return fmt.Sprintf("aiperfd crashed when it tried to encode the request, which is an error of aiperfd: %v", p.Value)
}

// startExchange sends a request, as [Starter] describes it.
func (q *requests) startExchange(
	ctx context.Context, r *transport.Request, later func(transport.Exchange),
) (x transport.Exchange, done bool) {
	if s, ok := q.Sender.(Starter); ok {
		return s.Start(ctx, r, later)
	}
	return q.Sender.Do(ctx, r), true
}

// startIdle sends a request if that does not wait, as [Starter] describes it.
func (q *requests) startIdle(ctx context.Context, r *transport.Request, later func(transport.Exchange)) (started bool) {
	s, ok := q.Sender.(Starter)
	return ok && s.StartIdle(ctx, r, later)
}

// addressTo directs a request to a target.
func (q *requests) addressTo(target int, rec *bench.Record, r *transport.Request) {
	rec.Target = target
	q.Encoder.Address(r, target)
}

// chooseTarget returns the target of a request that is sent now, in the order in which
// requests are sent, and begins its flight. A session that keeps its target, which is own,
// chooses it with its first request.
func (q *requests) chooseTarget(own *int) int {
	switch {
	case q.Spread.Least && (q.Spread.Request || *own == undecided):
		*own = q.flights.leastLoaded()
		return *own
	case q.Spread.Request:
		return q.Spread.Pick(q.chosen.Add(1) - 1)
	}
	q.flights.beginFlight(*own)
	return *own
}
