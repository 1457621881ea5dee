package timeline

import (
	"cmp"
	"slices"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
)

// at returns the first and the last instant in the part's window at which at least level
// requests were in flight; false if there was none.
func (p *Part) at(level float64) (from, to time.Duration, ok bool) {
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

// batchRequests is the number of requests of which a binned timeline takes the mean waiting time.
const batchRequests = 5

// Wait is how long a request waited for its first content, or for its end if it was not streamed.
type Wait struct {
	At      time.Duration // start of the request
	Seconds float64
}

// Waits returns the waiting times of the successes that started between two instants, in order of
// their starts. A binned timeline knows only means, over the fewest whole bins with at least five
// successes; each is returned five times, at the beginning of its bins.
func (t *Timeline) Waits(from, to time.Duration) []Wait {
	var out []Wait
	if t.bins == nil {
		for r := range t.requests.all() {
			if r.OK && r.Start >= from && r.Start <= to {
				out = append(out, Wait{r.Start, r.wait().Seconds()})
			}
		}
		slices.SortFunc(out, func(a, b Wait) int { return cmp.Compare(a.At, b.At) })
		return out
	}
	var at time.Duration
	var sum, n float64
	t.bins.allFlows(func(begin, end time.Duration, f *catalogue.Flow) {
		if f.Waits == 0 || begin < from || end > to {
			return
		}
		if n == 0 {
			at = begin
		}
		if sum, n = sum+f.Wait, n+f.Waits; n >= batchRequests {
			for range batchRequests {
				out = append(out, Wait{at, sum / n})
			}
			sum, n = 0, 0
		}
	})
	return out
}
