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

// The forms of output of the worker for vLLM. The first is the default.
const (
	OutputEvents = "sse-fragments" // current workers: pieces of a stream's text, or OpenAI's documents
	OutputTokens = "tokens"        // older ones: lists of tokens and counts
)

// JobOptions configure the queues of jobs that clients poll. The zero value of every
// field means the documented default.
type JobOptions struct {
	Workers   int           // concurrent jobs of each kind; DefaultJobWorkers
	ColdStart random.Delay  // of each worker, before its first job; 0
	Time      random.Delay  // duration of the generation of a video; const DefaultJobTime
	Expiry    time.Duration // a result is removed this long after the end of its job; 1 min of /runsync, else 30 min
	Output    string        // of Runpod's workers; OutputEvents
}

// fill replaces zero values by defaults.
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
