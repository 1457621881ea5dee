package metric

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// ErrorGroup is one kind of error: failures that differ only in numbers and
// identifiers.
type ErrorGroup struct {
	Class   bench.Class   `json:"class"`  // "other" for the errors beyond the first 1,000 groups
	Status  int           `json:"status"` // HTTP status; 0 = none
	Code    string        `json:"code"`
	Type    string        `json:"type"`
	Pattern string        `json:"pattern"` // the message with numbers and identifiers replaced, see measure.ErrorPattern
	Example string        `json:"example"` // the message of the first one
	Count   int64         `json:"count"`
	First   time.Duration `json:"first_ns"` // offset from the run's epoch
	Last    time.Duration `json:"last_ns"`  // offset from the run's epoch
}
