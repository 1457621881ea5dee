package timeline

import (
	"math"
	"slices"
	"testing"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
)

// TestBinsByHand checks areas of a single request in bins that are doubled.
func TestBinsByHand(t *testing.T) {
	b := newBins(0)
	width := b.width()
	b.step(&Step{At: 3*width + width/4, What: RequestBegins})
	b.step(&Step{At: 5*width + width/2, What: RequestEnds})
	for _, want := range [][]float64{{0, 0, 0, 0.75, 1, 0.5, 0, 0}, {0, 0.375, 0.75, 0}, {0.1875, 0.375}} {
		var got []float64
		b.spans(catalogue.Concurrency, 0, 8*width, func(v, _ float64, _, _ time.Duration) { got = append(got, v) })
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("bins of %v hold %v, want %v", b.width(), got, want)
		}
		b.coarsen()
	}
}

// TestBinsMerge checks that bins which became wide at another time merge to the
// same levels.
func TestBinsMerge(t *testing.T) {
	request := func(i int) *Request {
		start := time.Duration(i) * 7 * time.Millisecond
		return &Request{
			Start: start, First: start + 11*time.Millisecond, End: start + time.Duration(40+i%9)*time.Millisecond,
			ISL: float64(100 + i%7), OSL: float64(1 + i%30),
		}
	}
	const n = 3000
	whole, a, b := New(0, nil, nil), New(0, nil, nil), New(0, nil, nil)
	for i := range n {
		whole.Add(request(i), nil)
		if i < n/2 {
			a.Add(request(i), nil)
		} else {
			b.Add(request(i), nil)
		}
	}
	for range 4 {
		a.bins.coarsen()
	}
	b.Merge(a, 0)
	for c := catalogue.Concurrency; c <= catalogue.TokensInFlight; c++ {
		mean := func(t *Timeline) float64 {
			var sum, seconds float64
			t.bins.spans(c, 0, time.Minute, func(v, share float64, from, to time.Duration) {
				sum += v * share * (to - from).Seconds()
				seconds += share * (to - from).Seconds()
			})
			return sum / seconds
		}
		additive := c != catalogue.DecodeRatePerUser && c != catalogue.PrefillRatePerUser
		if got, want := mean(b), mean(whole); additive && math.Abs(got-want) > 1e-9*want {
			t.Errorf("curve %d: mean %v after a merge, want %v", c, got, want)
		}
	}
	if got, want := b.bins.width(), a.bins.width(); got < want {
		t.Errorf("merged bins of %v are finer than those of one part, %v", got, want)
	}
}
