package trace

import (
	"container/heap"
	"math"
	"time"
)

// Arrivals describes the times of a trace. A Poisson process has indices of 1 and a
// burstiness of 0; larger ones are bursts.
type Arrivals struct {
	Requests int64   `json:"requests"` // with times
	Seconds  float64 `json:"duration_seconds"`
	Rate     float64 `json:"rate"` // per second, from the first to the last
	GapMean  float64 `json:"gap_mean_ms"`
	// GapDispersion is the variance of the gaps between arrivals divided by the square of
	// their mean; Burstiness is (σ - μ)/(σ + μ) of them, from -1 (constant) to 1.
	GapDispersion float64 `json:"gap_dispersion"`
	Burstiness    float64 `json:"burstiness"`
	// Counts are indices of dispersion of counts: the variance of the arrivals per window
	// divided by their mean. There are at least ten windows.
	Counts   []CountDispersion `json:"count_dispersion"`
	Disorder int64             `json:"out_of_order"` // times before those of more than 1,024 records earlier
}

// CountDispersion is the index of dispersion of counts of one length of windows.
type CountDispersion struct {
	Seconds    float64 `json:"window_seconds"`
	Windows    int64   `json:"windows"`
	Dispersion float64 `json:"dispersion"`
}

// ordered is how many times are held to bring them into order.
const ordered = 1024

// windows are the lengths of windows in which arrivals are counted.
func windows() []time.Duration { return []time.Duration{time.Second, 10 * time.Second, time.Minute} }

// arrivals adds up times in their order.
type arrivals struct {
	waiting     times
	n           int64
	first, last time.Duration
	gap, gap2   float64 // sums, in milliseconds
	disorder    int64
	counts      []windowed
}

// windowed counts arrivals in windows.
type windowed struct {
	length    time.Duration
	window    int64 // that is counted
	here      float64
	whole     int64 // windows before it
	sum, sum2 float64
}

func (a *arrivals) add(at time.Duration) {
	heap.Push(&a.waiting, at)
	if len(a.waiting) > ordered {
		a.next(heap.Pop(&a.waiting).(time.Duration))
	}
}

// next adds the next time in order.
func (a *arrivals) next(at time.Duration) {
	if a.n == 0 {
		a.first, a.last = at, at
		for _, length := range windows() {
			a.counts = append(a.counts, windowed{length: length})
		}
	}
	if at < a.last {
		a.disorder++
		at = a.last
	}
	if a.n > 0 {
		gap := float64(at-a.last) / float64(time.Millisecond)
		a.gap += gap
		a.gap2 += gap * gap
	}
	a.n++
	a.last = at
	for i := range a.counts {
		a.counts[i].add(at - a.first)
	}
}

func (w *windowed) add(at time.Duration) {
	if window := int64(at / w.length); window > w.window {
		w.sum += w.here
		w.sum2 += w.here * w.here
		w.whole, w.window, w.here = window, window, 0
	}
	w.here++
}

// finish returns what was found; nil = no request has a time.
func (a *arrivals) finish() *Arrivals {
	for len(a.waiting) > 0 {
		a.next(heap.Pop(&a.waiting).(time.Duration))
	}
	if a.n == 0 {
		return nil
	}
	out := &Arrivals{Requests: a.n, Seconds: (a.last - a.first).Seconds(), Disorder: a.disorder, Counts: []CountDispersion{}}
	if gaps := float64(a.n - 1); gaps > 0 && a.gap > 0 {
		mean := a.gap / gaps
		deviation := math.Sqrt(max(0, a.gap2/gaps-mean*mean))
		out.Rate, out.GapMean = gaps/out.Seconds, mean
		out.GapDispersion = deviation * deviation / (mean * mean)
		out.Burstiness = (deviation - mean) / (deviation + mean)
	}
	const least = 10
	for _, w := range a.counts {
		if w.whole < least || w.sum == 0 {
			continue
		}
		mean := w.sum / float64(w.whole)
		out.Counts = append(out.Counts, CountDispersion{w.length.Seconds(), w.whole, (w.sum2/float64(w.whole) - mean*mean) / mean})
	}
	return out
}

// times is a heap of times, the earliest first.
type times []time.Duration

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(time.Duration)) }
func (t *times) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}
