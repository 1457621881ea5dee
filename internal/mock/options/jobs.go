package options

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"aiperfd/internal/mock/random"
)

// Defaults of [JobOptions].
const (
	DefaultJobWorkers = 3
	DefaultJobTime    = 2 * time.Second
)

// What the worker for vLLM puts out. The first is the default.
const (
	OutputEvents = "sse-fragments" // current workers: pieces of a stream's text, or OpenAI's documents
	OutputTokens = "tokens"        // older ones: lists of tokens and counts
)

// JobOptions configure the queues of work that is polled for. The zero value of
// every field means the documented default.
type JobOptions struct {
	Workers   int           // jobs at a time, of each kind; DefaultJobWorkers
	ColdStart random.Delay  // of each worker, before its first job; 0
	Time      random.Delay  // that a video takes; const DefaultJobTime
	Expiry    time.Duration // a result is forgotten this long after its job has ended; 1 min of /runsync, else 30 min
	Output    string        // of Runpod's workers; OutputEvents
}

// fill puts defaults in place of zero values.
func (o *JobOptions) fill(fast bool) error {
	if !o.ColdStart.IsSet() {
		o.ColdStart = random.ConstDelay(0)
	}
	if !o.Time.IsSet() {
		o.Time = random.ConstDelay(DefaultJobTime)
	}
	if fast {
		o.ColdStart, o.Time = random.ConstDelay(0), random.ConstDelay(0)
	}
	var errs []error
	if o.Workers < 0 {
		errs = append(errs, fmt.Errorf("job-workers is %d, want ≥ 0 (0 = default)", o.Workers))
	}
	if o.Workers == 0 {
		o.Workers = DefaultJobWorkers
	}
	if o.Expiry < 0 {
		errs = append(errs, fmt.Errorf("job-expiry is %v, want ≥ 0 (0 = default)", o.Expiry))
	}
	if o.Output == "" {
		o.Output = OutputEvents
	}
	if list := closedLists()["runpod-output"]; !slices.Contains(list, o.Output) {
		errs = append(errs, fmt.Errorf("runpod-output is %q, want %s or %s", o.Output, list[0], list[1]))
	}
	return errors.Join(errs...)
}
