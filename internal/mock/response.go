package mock

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/seed"
	"aiperfd/internal/mock/truth"
)

// answer is a response in the making: what a protocol renders. It belongs to the
// goroutine of its request.
type answer struct {
	model   *model
	opt     *Options
	r       *http.Request // nil in the front
	header  http.Header   // of the response
	q       *textRequest
	choices []choice
	reasons bool // reasoning is told apart from the answer
	rng     *rand.Rand
	itl     random.Delay // of this request
	firstNs int64        // due time of the first token; a hold moves it
	truth   truth.Record
	cached  func() int // prompt tokens of the request that were in the prefix cache

	// What a fault rule makes of it.
	acted    bool   // the rule has acted
	hidden   bool   // the answer has no choices at all
	noItems  bool   // lists in the answer are empty
	jobFault string // what becomes of the job; "" = nothing
}

// requestID is the client's X-Request-Id, else one made from seed and number.
func (x *answer) requestID() string {
	if x.truth.RequestID != "" {
		return x.truth.RequestID
	}
	seq := uint64(x.truth.Seq)
	return fmt.Sprintf("%016x%016x", seed.Mix(x.opt.Seed, seq), seed.Mix(seq, x.opt.Seed+1))
}

// now reads the server's clock.
func (x *answer) now() int64 { return x.model.now() }

// elapsed returns how long ago the request arrived.
func (x *answer) elapsed() time.Duration { return time.Duration(x.now() - x.truth.AcceptNs) }

// items returns how many of n items an answer holds: none if a fault rule takes its
// output away.
func (x *answer) items(n int) int {
	if x.noItems {
		return 0
	}
	return n
}

// noteFinish records a finish that the client is told, or would be.
func (x *answer) noteFinish(c *choice) {
	if c.index == 0 {
		x.truth.FinishReason = c.finish
	}
}
