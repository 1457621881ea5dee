// Package timeline computes levels over time from requests: how many are in flight,
// how many are prefilled and decoded, and how many tokens per second that makes.
// Levels are exact, from the steps that each request makes, while these fit a
// budget. Beyond it they are means over bins of equal width. What it is computed from, requests and
// columns of values, is stored in packed blocks without loss, which can go to disk.
package timeline

import (
	"iter"
	"math"
	"time"
)

// Request is the input of curves. Times are offsets from one epoch.
type Request struct {
	Start, End time.Duration
	First      time.Duration // first content event; 0 = none, or the request failed
	ISL, OSL   float64       // tokens; NaN = unknown
	OK         bool          // the request succeeded
	Gaps       int           // between content events; 0 = none, or they are not stored
	gapsAt     int           // index of its first gap in the column
}

// The memory that a timeline takes, in bytes.
const (
	requestBytes = 64
	stepBytes    = 40 // of a step and the weight that it makes
)

// Timeline accumulates the requests of a phase. Make one with [New]. It is not safe
// for concurrent use.
type Timeline struct {
	budget   int64
	disk     *Disk
	gaps     *Column  // nil = gaps are not stored
	requests requests // until there are bins
	steps    int64    // that the requests make, at most
	bins     *bins    // nil = curves are exact
	facts    facts
	scratch  []Step
}

// New returns an empty timeline. Requests are kept, in memory or on the disk, while
// the steps that they make fit a budget in bytes. gaps is the column in which the
// caller stores the gaps between content events of all requests; nil if it does
// not.
func New(budget int64, disk *Disk, gaps *Column) *Timeline {
	return &Timeline{budget: budget, disk: disk, gaps: gaps, requests: requests{disk: disk}}
}

// Binned reports whether curves have the resolution of bins.
func (t *Timeline) Binned() bool { return t.bins != nil }

// Size returns the size of the timeline in memory and on disk, in bytes.
func (t *Timeline) Size() int64 {
	n := requestBytes * int64(t.requests.len())
	if t.bins != nil {
		n += t.bins.size()
	}
	return n
}

// Add adds a copy of a request. While the timeline is not binned, the gaps of the
// request must be the last values of the column; otherwise they are gaps, which is
// empty if there are none.
func (t *Timeline) Add(r *Request, gaps []float64) {
	t.facts.add(r)
	if t.bins != nil {
		t.bin(r, gaps)
		return
	}
	if t.gaps != nil {
		r.gapsAt = t.gaps.Len() - r.Gaps
	}
	t.steps += r.maxSteps()
	t.requests.add(r)
	t.enforce()
}

// enforce moves the requests to bins if they make too many steps.
func (t *Timeline) enforce() {
	if t.steps*stepBytes > t.budget {
		t.UseBins()
	}
}

// UseBins moves the requests to bins, after which the gaps in the column are not
// needed any more. It does nothing when called again.
func (t *Timeline) UseBins() {
	if t.bins != nil {
		return
	}
	t.bins = newBins(t.budget)
	for r, gaps := range t.Requests() {
		t.bin(r, gaps)
	}
	t.requests, t.steps = requests{}, 0
}

// bin adds the changes that a request makes to the bins. Gaps between content
// events, of which there are many, take a shorter way.
func (t *Timeline) bin(r *Request, gaps []float64) {
	short := len(gaps) > 0 && r.First != 0 && r.OSL >= 1
	t.bins.flow(r, short)
	if short {
		t.bins.gaps(r, gaps)
	}
	t.scratch = r.outline(t.scratch[:0])
	if !short {
		t.scratch = r.inside(t.scratch, nil)
	}
	for i := range t.scratch {
		t.bins.step(&t.scratch[i])
	}
}

// Merge adds the requests of o, which stays as it is. If o is binned, t must be. The
// gaps of o were appended to the column of t, from index gapsFrom on.
func (t *Timeline) Merge(o *Timeline, gapsFrom int) {
	switch {
	case t.bins == nil:
		for r := range o.requests.all() {
			moved := *r
			moved.gapsAt += gapsFrom
			t.requests.add(&moved)
		}
		t.steps += o.steps
		t.enforce()
	case o.bins != nil:
		t.bins.merge(o.bins)
	default:
		for r, gaps := range o.Requests() {
			t.bin(r, gaps)
		}
	}
	t.facts = t.facts.or(o.facts)
}

// Requests yields the stored requests with the gaps between their content events,
// both valid until the next one. A request whose gaps the disk has lost has none.
func (t *Timeline) Requests() iter.Seq2[*Request, []float64] {
	return func(yield func(*Request, []float64) bool) {
		var gaps gapReader
		if t.gaps != nil {
			var stop func()
			gaps.next, stop = iter.Pull(t.gaps.Runs())
			defer stop()
		}
		for r := range t.requests.all() {
			if !yield(r, gaps.of(r)) {
				return
			}
		}
	}
}

// gapReader returns the gaps of requests, in the order in which they were added.
type gapReader struct {
	next func() ([]float64, bool)
	run  []float64 // values that were read and not returned yet
	at   int       // place of its first value in the series
	own  []float64
}

// of returns the gaps of a request.
func (g *gapReader) of(r *Request) []float64 {
	g.own = g.own[:0]
	for len(g.own) < r.Gaps {
		if len(g.run) == 0 {
			var more bool
			if g.run, more = g.next(); !more {
				return nil
			}
		}
		if other := min(len(g.run), r.gapsAt-g.at); other > 0 { // of no request
			g.run, g.at = g.run[other:], g.at+other
			continue
		}
		n := min(len(g.run), r.Gaps-len(g.own))
		g.own = append(g.own, g.run[:n]...)
		g.run, g.at = g.run[n:], g.at+n
	}
	return g.own
}

// facts are the known properties of a request.
type facts struct{ first, isl, osl bool }

func (f *facts) add(r *Request) {
	f.first = f.first || r.First != 0
	f.isl = f.isl || r.First != 0 && !math.IsNaN(r.ISL)
	f.osl = f.osl || r.First != 0 && !math.IsNaN(r.OSL)
}

// or returns the known one of two values.
func (f facts) or(g facts) facts { return facts{f.first || g.first, f.isl || g.isl, f.osl || g.osl} }
