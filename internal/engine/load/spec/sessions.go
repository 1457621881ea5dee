package spec

import (
	"math"
	"time"
)

// Sessions describes how conversations are carried out.
type Sessions struct {
	OnTurnError TurnError
	FailFast    bool    // a child that fails ends its parent
	Speedup     float64 // divides the dataset's times and delays; 0 = 1
	// JoinAtOnce sends a turn that had to wait for children when the last of them has ended,
	// without its own delay, as AIPerf does.
	JoinAtOnce bool
}

// TurnError says what happens after a turn that failed.
type TurnError uint8

// The policies. The names in documents are those of [TurnErrors].
const (
	EndSession TurnError = iota // the session ends
	Continue                    // the next turn follows; the history has what was received of the answer
	RetryTurn                   // the turn is sent again, a few times; then the session ends
)

// TurnErrors returns the names of the policies, in the order of their values.
func TurnErrors() []string { return []string{"end_session", "continue", "retry_turn"} }

// Scaled returns a time or a delay of the dataset in the time of the run.
func (s *Sessions) Scaled(d time.Duration) time.Duration {
	if s.Speedup == 0 || s.Speedup == 1 {
		return d
	}
	const most = float64(100 * 365 * 24 * time.Hour) // neither a sum nor a conversion overflows
	return time.Duration(math.RoundToEven(max(-most, min(float64(d)/s.Speedup, most))))
}
