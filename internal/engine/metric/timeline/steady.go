package timeline

import (
	"cmp"
	"slices"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
)

// nearly is the share of a level that the mean over a bin must reach: slots are empty
// for a moment between two requests.
const nearly = 0.95

// at returns the first and the last instant in the part's window at which as many
// requests as level were in flight; false if there was none.
func (p *Part) at(level float64) (from, to time.Duration, ok bool) {
	if p.timeline.bins != nil {
		level *= nearly
	}
	p.spans(catalogue.Concurrency, func(v, _ float64, begin, end time.Duration) {
		if v < level {
			return
		}
		if !ok {
			from, ok = begin, true
		}
		to = end
	})
	return from, to, ok
}

// The batches of MSER-5.
const (
	batchRequests = 5
	leastBatches  = 10
)

// Settled returns when the waiting times of requests, to their first content or else to
// their end, stopped to depend on the beginning: the truncation point of MSER-5 (White
// 1997), which minimizes the squared standard error of the mean of what remains. It
// takes batches of five requests in order of their starts, or of more in a binned
// timeline. False if there are fewer than ten batches or the point is in the second
// half of them.
func (t *Timeline) Settled() (time.Duration, bool) {
	batches := t.batches()
	n := len(batches)
	if n < leastBatches {
		return 0, false
	}
	best, bestAt := 0.0, -1
	var sum, squares float64
	for i := n - 1; i >= 0; i-- { // keeps batches i to n-1
		x, k := batches[i].mean, float64(n-i)
		sum += x
		squares += x * x
		if k < batchRequests {
			continue
		}
		if score := max(0, squares-sum*sum/k) / (k * k); bestAt < 0 || score <= best {
			best, bestAt = score, i
		}
	}
	if bestAt > n/2 {
		return 0, false
	}
	return batches[bestAt].at, true
}

// batch is the mean waiting time of consecutive requests.
type batch struct {
	at   time.Duration // start of the first one
	mean float64       // seconds
}

// batches returns the waiting times of the successes in order of their starts.
func (t *Timeline) batches() []batch {
	var waits []batch
	if t.bins == nil {
		for r := range t.requests.all() {
			if r.OK {
				waits = append(waits, batch{r.Start, r.wait().Seconds()})
			}
		}
		slices.SortFunc(waits, func(a, b batch) int { return cmp.Compare(a.at, b.at) })
	}
	var out []batch
	var at time.Duration
	var sum, n float64
	add := func(start time.Duration, wait, count float64) {
		if n == 0 {
			at = start
		}
		if sum, n = sum+wait, n+count; n >= batchRequests {
			out = append(out, batch{at, sum / n})
			sum, n = 0, 0
		}
	}
	for _, w := range waits {
		add(w.at, w.mean, 1)
	}
	if t.bins != nil {
		t.bins.allFlows(func(from, _ time.Duration, f *catalogue.Flow) {
			if f.Waits > 0 {
				add(from, f.Wait, f.Waits)
			}
		})
	}
	return out
}
