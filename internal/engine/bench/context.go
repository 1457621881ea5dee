package bench

import (
	"errors"
	"slices"
	"strings"
)

// ContextMode says what the turns of a conversation hold, and so what a request
// contains of the conversation before it.
type ContextMode uint8

const (
	// DeltasWithoutResponses is the default: a turn holds only what is new. A request
	// contains all earlier turns with the answers that the server gave to them.
	DeltasWithoutResponses ContextMode = iota
	// DeltasWithResponses means that a turn holds what is new, with the recorded answers
	// to earlier turns. A request contains all earlier turns, and no answer of the server.
	DeltasWithResponses
	// MessageArrayWithResponses means that a turn holds everything that is sent. A
	// request contains nothing of earlier turns.
	MessageArrayWithResponses
)

// contextModes are the names of the modes, in the order of their values.
var contextModes = [...]string{"deltas_without_responses", "deltas_with_responses", "message_array_with_responses"}

// String returns the name of the mode in datasets.
func (m ContextMode) String() string { return contextModes[m] }

// ParseContextMode returns the mode with a name.
func ParseContextMode(name string) (ContextMode, error) {
	if i := slices.Index(contextModes[:], name); i >= 0 {
		return ContextMode(i), nil
	}
	return 0, errors.New("must be one of " + strings.Join(contextModes[:], ", "))
}
