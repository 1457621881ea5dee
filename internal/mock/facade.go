package mock

import (
	"time"

	"aiperfd/internal/mock/fault"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/token"
	"aiperfd/internal/mock/truth"
)

// The parts of [Options] and of what a [Server] returns, for callers that need no more
// of their packages.
type (
	Delay  = random.Delay
	Fault  = fault.Rule
	Truth  = truth.Record
	Length = random.Length
)

// OutcomeOK is the outcome of a request that was answered in full.
const OutcomeOK = truth.OutcomeOK

// ConstDelay returns the delay that is always v; see [random.ConstDelay].
func ConstDelay(v time.Duration) Delay { return random.ConstDelay(v) }

// ParseFault reads a fault rule; see [fault.Parse].
func ParseFault(text string) (Fault, error) { return fault.Parse(text) }

// FromCodec returns a tokenizer that counts as c does; see [token.FromCodec].
func FromCodec(c token.Codec) token.Tokenizer { return token.FromCodec(c) }
