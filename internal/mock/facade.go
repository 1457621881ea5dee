package mock

import (
	"time"

	"aiperfd/internal/mock/cases"
	"aiperfd/internal/mock/fault"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/truth"
)

// Options configures a Server.
type Options = options.Options

// Delay is a distribution of durations.
type Delay = random.Delay

// Fault is a fault rule.
type Fault = fault.Rule

// Case is a recorded response.
type Case = cases.Case

// Truth is the record of one request.
type Truth = truth.Record

// OutcomeOK is the outcome of a request that was answered completely.
const OutcomeOK = truth.OutcomeOK

// ConstDelay returns the delay that is always v; see [random.ConstDelay].
func ConstDelay(v time.Duration) Delay { return random.ConstDelay(v) }

// ParseFault parses a fault rule; see [fault.Parse].
func ParseFault(text string) (Fault, error) { return fault.Parse(text) }
