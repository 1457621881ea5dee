package series

import (
	"errors"
	"slices"
	"time"
)

// Window is what happened in a second at one of several load generators that perform a run together.
type Window struct {
	At   time.Duration `json:"at"` // offset of its begin
	Data []byte        `json:"data"`
}

// errElsewhere is the error of a window that the run cannot have.
var errElsewhere = errors.New("time series: a window of another phase or time")

// Add adds a window that the recorder of another load generator has closed, in the second that has most of it. Counts
// and values are those of all; a level is the sum of those of the load generators, and its maximum that of their
// maxima. Of a window that comes too late the levels are left out. It cannot begin later than now.
func (r *Recorder) Add(now time.Duration, w *Window) error {
	of, known := partOf(w.Data)
	if !known || len(w.Data) > maxEntry {
		return errDamaged
	}
	wanted := make([]*Metric, len(r.metrics))
	for i := range r.metrics {
		wanted[i] = &r.metrics[i]
	}
	var one window
	if err := one.merge(w.Data, wanted); err != nil {
		return err
	}
	middle := w.At + time.Second/2
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.state
	ofRun := slices.ContainsFunc(s.phases, func(b Band) bool { return b.Index == of.phase })
	if !ofRun || middle < s.origin || w.At > now+time.Second { // clocks differ a little
		return errElsewhere
	}
	r.at(middle, of).add(&one, r.second(middle) >= s.closed)
	return nil
}

// Advance makes the time known. The windows that all load generators have added are written, and those that ended long
// enough before: latest is when the window begins that came last from the one that is furthest behind.
func (r *Recorder) Advance(now, latest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.state
	if !s.began {
		return
	}
	r.advance(now)
	before := s.now - r.opts.Settle
	if latest > s.origin {
		before = max(before, r.second(latest+time.Second/2)+1)
	}
	r.flush(before)
}

// End ends a phase that has begun.
func (r *Recorder) End(phase int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(phase, at)
}

// add adds a window of another load generator, with its levels or without.
func (w *window) add(o *window, leveled bool) {
	for i := range o.values {
		w.values[i].Merge(&o.values[i])
	}
	for i, n := range o.counts {
		if o.seen[i] {
			w.count(i, n)
		}
	}
	for class, n := range o.errors {
		w.fail(class, n)
	}
	for i := range o.levels {
		if leveled {
			w.levels[i].stack(o.levels[i])
		}
	}
}

// stack adds the level of another load generator at the same time.
func (l *level) stack(o level) {
	switch {
	case o.n == 0:
	case l.n == 0:
		*l = o
	default:
		mean := l.sum/float64(l.n) + o.sum/float64(o.n)
		l.n = max(l.n, o.n)
		l.sum, l.max = mean*float64(l.n), l.max+o.max
	}
}
