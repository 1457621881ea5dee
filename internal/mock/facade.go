package mock

import (
	"time"

	"aiperfd/internal/mock/cases"
	"aiperfd/internal/mock/fault"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/truth"
)

// What callers of [New] and of the methods of [Server] need of other packages.
type (
	Options = options.Options
	Delay   = random.Delay
	Fault   = fault.Rule
	Case    = cases.Case
	Truth   = truth.Record
)

// OutcomeOK is the outcome of a request that was answered in full.
const OutcomeOK = truth.OutcomeOK

// ConstDelay returns the delay that is always v; see [random.ConstDelay].
func ConstDelay(v time.Duration) Delay { return random.ConstDelay(v) }

// ParseFault reads a fault rule; see [fault.Parse].
func ParseFault(text string) (Fault, error) { return fault.Parse(text) }
