package api

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// Answer is a planned response, which a protocol renders. It belongs to the goroutine
// of its request.
type Answer struct {
	Model   *Model
	Options *options.Options
	HTTP    *http.Request // nil in the front
	Header  http.Header   // of the response
	Request *Request
	Choices []Choice
	Rand    *rand.Rand
	ITL     random.Delay // of this request
	FirstNs int64        // due time of the first token; a hold moves it
	Truth   Truth
	Cached  func() int // Prompt tokens of the request that were in the prefix cache
	id      string     // what RequestID returns; "" = it was not called
	Reasons bool       // reasoning is separate from the answer

	// The effects of a fault rule.
	Acted    bool   // the rule was applied
	Hidden   bool   // the answer has no choices at all
	NoItems  bool   // lists in the answer are empty
	JobFault string // fault of the job; "" = none
}

// RequestID returns the client's X-Request-ID, else an id derived from seed and number.
func (x *Answer) RequestID() string {
	if x.id == "" {
		x.id = x.Truth.RequestID
	}
	if seq := uint64(x.Truth.Seq); x.id == "" {
		x.id = fmt.Sprintf("%016x%016x", random.Mix(x.Options.Seed, seq), random.Mix(seq, x.Options.Seed+1))
	}
	return x.id
}

// Now returns the time of the server's clock.
func (x *Answer) Now() int64 { return x.Model.Now() }

// Elapsed returns the time since the request arrived.
func (x *Answer) Elapsed() time.Duration { return time.Duration(x.Now() - x.Truth.AcceptNs) }

// Items returns how many of n items an answer contains: none if a fault rule removes
// its output.
func (x *Answer) Items(n int) int {
	if x.NoItems {
		return 0
	}
	return n
}

// noteFinish records the finish reason of the first choice.
func (x *Answer) noteFinish(c *Choice) {
	if c.Index == 0 {
		x.Truth.FinishReason = c.Finish
	}
}
