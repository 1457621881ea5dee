package mock

import (
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// Options configures a Server.
type Options = options.Options

// Delay is a distribution of durations.
type Delay = random.Delay

// Fault is a fault rule.
type Fault = options.Fault

// Case is a recorded response.
type Case = options.Case

// Truth is the record of one request.
type Truth = api.Truth

// OutcomeOK is the outcome of a request that was answered completely.
const OutcomeOK = api.OutcomeOK

// ConstDelay returns the delay that is always v; see [random.ConstDelay].
func ConstDelay(v time.Duration) Delay { return random.ConstDelay(v) }

// ParseFault parses a fault rule; see [options.ParseFault].
func ParseFault(text string) (Fault, error) { return options.ParseFault(text) }
