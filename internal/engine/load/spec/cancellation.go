package spec

import (
	"hash/fnv"
	"time"

	"aiperfd/internal/engine/bench"
)

// Cancellation chooses the requests of a phase that are cancelled on purpose. The choice
// depends only on the seed and the request, not on when it is sent, so that a run can be
// repeated.
type Cancellation struct {
	Seed  bench.Seed
	Share float64       // of the requests, 0 to 1
	After time.Duration // from the time when a request is fully written
}

// Of returns whether and when a request is cancelled; attempt counts the repetitions of a
// turn, from 0. A nil c cancels none.
func (c *Cancellation) Of(r *bench.Record, attempt int) bench.Cancellation {
	if c == nil {
		return bench.Cancellation{}
	}
	id := fnv.New64a()
	_, _ = id.Write([]byte(r.ConversationID)) // never fails
	x := mixed(uint64(c.Seed) + uint64(r.SessionNum)*gamma)
	x = mixed(x ^ id.Sum64())
	x = mixed(x + (uint64(r.Turn)<<8+uint64(attempt))*gamma)
	if float64(x>>11)/(1<<53) >= c.Share {
		return bench.Cancellation{}
	}
	return bench.Cancellation{On: true, After: c.After}
}
