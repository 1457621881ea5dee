package options

import (
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
