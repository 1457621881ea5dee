package load

import "sync/atomic"

// Work is what the phases of one run share: the requests and their targets.
type Work struct {
	requests requests
	stock    stock
	failed   atomic.Pointer[error] // of the dataset; nil = none
}

// NewWork returns the work of a run.
func NewWork(o Options) *Work {
	w := &Work{requests: requests{Options: o, ids: newIdentities()}}
	w.stock.requests = &w.requests
	if o.Spread.Least {
		w.requests.flights.count = make([]int64, o.Targets)
	}
	return w
}

// Err returns the error of the dataset that ended a phase.
func (w *Work) Err() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Target returns the index of the target of the nth session or request that will be
// started, from 0. It is called between phases only.
func (w *Work) Target(n int64) int {
	switch q := &w.requests; {
	case q.Spread.Request:
		return q.Spread.Pick(q.chosen.Load() + n)
	case q.Spread.Least:
		return q.Spread.Pick(n)
	}
	return w.stock.targetOf(n)
}

// AfterStarted returns the number after that of the last session that was started, of those that owns has. It is
// called between phases only.
func (w *Work) AfterStarted(owns func(session int64) bool) int64 { return w.stock.afterStarted(owns) }
