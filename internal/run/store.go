package run

import (
	"context"
	"errors"
	"time"

	"aiperfd/internal/engine/bench"
)

// Store stores runs. Every method is safe for concurrent use, and a change
// is durable when the method returns. Folders hold a run's artifacts.
type Store interface {
	// Put inserts or replaces a run, its configuration included.
	Put(ctx context.Context, r *Run) error
	// Get returns a run with its configuration; ErrNotFound if it does not exist.
	Get(ctx context.Context, id string) (*Run, error)
	// List returns runs without their configurations.
	List(ctx context.Context, q Query) (Page, error)
	// Delete removes a run and its folder; ErrNotFound if it does not exist.
	Delete(ctx context.Context, id string) error
	// Dir returns the folder of a run's artifacts as an absolute path. The
	// folder exists once the run was Put.
	Dir(id string) string
	// Ping reports whether the store can be written.
	Ping(ctx context.Context) error
}

// Switch stores whether the queue is paused. Its methods are safe for concurrent use.
type Switch interface {
	// Paused reports whether the queue is paused.
	Paused(ctx context.Context) (bool, error)
	// SetPaused is durable when it returns.
	SetPaused(ctx context.Context, paused bool) error
}

// Query selects runs. The zero Query selects all, newest first.
type Query struct {
	States        []bench.State
	Labels        []LabelFilter
	Model         string
	Target        string
	Text          string       // substring of name or notes
	Kind          Kind         // empty = all
	Parent        string       // id of a study: its cells
	TopLevel      bool         // without the cells of studies
	Unpinned      bool         // without pinned runs
	ExpiredBy     time.Time    // runs whose [Run.ExpiresAt] is not after this time; zero = all
	Idempotency   *Idempotency // runs that were submitted by its caller with its key; nil = all
	CreatedAfter  time.Time
	CreatedBefore time.Time
	Sort          Sort
	Descending    bool
	Limit         int    // 1 to 500; 0 = 50
	Cursor        string // from the Page before; empty = the start
}

// Sort names the order of a list. The zero value sorts by creation time,
// newest first, regardless of Descending.
type Sort string

// The orders.
const (
	SortDefault  Sort = ""
	SortCreated  Sort = "created_at"
	SortStarted  Sort = "started_at"
	SortEnded    Sort = "ended_at"
	SortName     Sort = "name"
	SortDuration Sort = "duration"
)

// SummarySorts returns the orders by a number of the summary, whose names are those of its
// members. Such a list has only the runs that have the number.
func SummarySorts() []Sort {
	return []Sort{
		"request_throughput_per_sec", "output_token_throughput_per_sec", "goodput_per_sec", "error_rate_percent",
		"time_to_first_token_p50_ms", "time_to_first_token_p99_ms", "inter_token_latency_p99_ms",
		"request_latency_p50_ms", "request_latency_p99_ms",
	}
}

// SortNumber returns the number by which an order of [SummarySorts] sorts the run; nil if
// the run does not have it.
func (r *Run) SortNumber(by Sort) *float64 {
	if r.Summary == nil {
		return nil
	}
	switch by {
	case "request_throughput_per_sec":
		return r.Summary.RequestThroughput
	case "output_token_throughput_per_sec":
		return r.Summary.OutputTokenThroughput
	case "goodput_per_sec":
		return r.Summary.Goodput
	case "error_rate_percent":
		return r.Summary.ErrorRate
	case "time_to_first_token_p50_ms":
		return r.Summary.TTFTP50
	case "time_to_first_token_p99_ms":
		return r.Summary.TTFTP99
	case "inter_token_latency_p99_ms":
		return r.Summary.ITLP99
	case "request_latency_p50_ms":
		return r.Summary.LatencyP50
	case "request_latency_p99_ms":
		return r.Summary.LatencyP99
	default:
		return nil
	}
}

// LabelFilter selects runs by a label: by its value, or by its presence when
// AnyValue is set; Not inverts.
type LabelFilter struct {
	Name, Value string
	AnyValue    bool
	Not         bool
}

// Page is one part of a list.
type Page struct {
	Runs  []Run
	Next  string // cursor of the next page; empty = this is the last
	Total int    // runs that match, on all pages
}

// Errors to be tested with errors.Is.
var (
	ErrNotFound        = errors.New("run not found")
	ErrActive          = errors.New("run is not terminal")
	ErrPinned          = errors.New("run is pinned")
	ErrNotQueued       = errors.New("run is not queued")
	ErrAlreadyFinished = errors.New("run has already finished")
	ErrQueueFull       = errors.New("queue is full")
	ErrStopping        = errors.New("engine is stopping")
	ErrBadCursor       = errors.New("cursor is not valid for this query")
	ErrStore           = errors.New("store failed")
	ErrDiskFull        = errors.New("free disk space is low")
)
