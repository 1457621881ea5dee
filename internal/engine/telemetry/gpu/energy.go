package gpu

import (
	"math"
	"slices"
	"sort"
	"time"

	"aiperfd/internal/engine/telemetry/window"
)

// How the energy of a device was found.
const (
	ByCounter  = "counter"
	Integrated = "integrated"
)

// Energy is what a card used in a window.
type Energy struct {
	Joules float64 `json:"joules"`
	// Bound is the largest possible error, in joules, if the card never draws more than its limit: values are
	// as old as the exporter's refresh, and nothing is known between two of them.
	Bound  float64 `json:"error_bound_joules"`
	Source string  `json:"source" enums:"counter,integrated"`
	// Counter and Integrated are both results: of the card's counter, and of the integral of power.
	Counter    *float64 `json:"counter_joules,omitempty"`
	Integrated *float64 `json:"integrated_joules,omitempty"`
	// Refresh is the longest time between two changes of the values; nil = they never changed.
	Refresh *float64 `json:"refresh_seconds,omitempty"`
	// Net is the energy without what the card would have used idle; nil = that was not measured.
	Net *float64 `json:"net_joules,omitempty"`
	// Partial means that the counter began again, or that the card was there for a part of the window only.
	Partial bool `json:"partial,omitempty"`
}

// distinct is how many values of a counter a window must have for its increase to be the energy of the window.
const distinct = 4

// energy returns the energy of a card in a window; nil = it has neither a counter that grew nor power.
func (d *device) energy(w window.Window) *Energy {
	power, count := d.samples(field("power")), d.samples(field("energy"))
	most := d.mostPower(power, w)
	r := d.refresh(w, power, count)
	e := &Energy{Refresh: r.seconds()}
	var counterBound float64
	values := 0
	if len(count) > 0 && count[0].At < w.To && w.To > w.From {
		grown, resets := growth(count)
		total, bound := between(grown, w, most, r.longest.Seconds())
		counterBound, values = bound, distinctIn(count, w)
		e.Counter, e.Partial = &total, resets(w) || count[0].At > w.From
	}
	if len(power) > 0 && power[0].At < w.To && w.To > w.From {
		sum := integral(power, w)
		e.Integrated = &sum
		e.Partial = e.Partial || power[0].At > w.From
	}
	largest := func(joules float64) float64 { return max(joules, most*w.Seconds()-joules) }
	switch {
	case e.Counter != nil && (values >= distinct || e.Integrated == nil):
		e.Source, e.Joules = ByCounter, *e.Counter
		e.Bound = largest(e.Joules)
		if r.known {
			e.Bound = min(e.Bound, counterBound)
		}
	case e.Integrated != nil:
		e.Source, e.Joules = Integrated, *e.Integrated
		e.Bound = largest(e.Joules)
		if r.known && e.Counter == nil {
			e.Bound = min(e.Bound, most*r.longest.Seconds())
		}
		if r.known && e.Counter != nil && !e.Partial {
			e.Bound = min(e.Bound, math.Abs(*e.Integrated-*e.Counter)+counterBound)
		}
	}
	if !(e.Joules > 0) { // no value has changed
		return nil
	}
	return e
}

// mostPower returns the power that a card can draw: its limit, or what it drew at most.
func (d *device) mostPower(power []window.Step, w window.Window) float64 {
	most := 0.0
	for _, s := range power {
		most = max(most, s.Value)
	}
	over := window.Over(d.steps(field("power_limit"), w), w)
	if !over.Empty() {
		most = max(most, over.Max())
	}
	return most
}

// refreshing is how often values change.
type refreshing struct {
	longest time.Duration // between two changes
	known   bool          // two changes were seen
}

func (r refreshing) seconds() *float64 {
	if !r.known {
		return nil
	}
	return new(r.longest.Seconds())
}

// refresh returns the longest time between two changes of the values of a card about a window. If they change
// less often than the page is read, a change is seen late by the time between two readings.
func (d *device) refresh(w window.Window, power, count []window.Step) refreshing {
	if d.page.Refresh > 0 {
		return refreshing{d.page.Refresh, true}
	}
	list := count
	if len(list) == 0 {
		list = power
	}
	if len(list) == 0 {
		return refreshing{}
	}
	changes := []time.Duration{list[0].At}
	var gaps []time.Duration
	for i := 1; i < len(list); i++ {
		gaps = append(gaps, list[i].At-list[i-1].At)
		if list[i].Value != list[i-1].Value {
			changes = append(changes, list[i].At)
		}
	}
	out := refreshing{known: len(changes) > 2}
	for i := 1; i < len(changes); i++ {
		first := i == 1 && len(changes) > 2 // the first value may be of any age
		if !first && changes[i] > w.From && changes[i-1] < w.To {
			out.longest = max(out.longest, changes[i]-changes[i-1])
		}
	}
	last := changes[len(changes)-1]
	if end := list[len(list)-1].At; last < w.To && end-last > out.longest {
		out.longest = end - last
	}
	slices.Sort(gaps)
	if len(gaps) > 0 {
		step := gaps[len(gaps)/2]
		if out.longest = max(out.longest, step); out.longest > step+step/2 {
			out.longest += step
		}
	}
	return out
}

// growth returns how much a counter has grown since its first value, and whether it began again in a window.
func growth(count []window.Step) (grown []window.Step, resets func(window.Window) bool) {
	var at []time.Duration
	sum := 0.0
	for i, s := range count {
		switch {
		case i == 0:
		case s.Value < count[i-1].Value:
			sum += s.Value
			at = append(at, s.At)
		default:
			sum += s.Value - count[i-1].Value
		}
		grown = append(grown, window.Step{At: s.At, Value: sum})
	}
	return grown, func(w window.Window) bool {
		return slices.ContainsFunc(at, func(t time.Duration) bool { return t > w.From && t <= w.To })
	}
}

// between returns by how much a counter of energy grows in a window, interpolated at its bounds, and the largest
// possible error. A value may be as old as the refresh; the power is at most most.
func between(grown []window.Step, w window.Window, most, refresh float64) (total, bound float64) {
	fromLow, fromHigh := limits(grown, w.From, most, refresh)
	toLow, toHigh := limits(grown, w.To, most, refresh)
	total = increase(grown, w)
	return total, max(total-max(0, toLow-fromHigh), toHigh-fromLow-total)
}

// increase returns by how much a counter grows in a window.
func increase(grown []window.Step, w window.Window) float64 {
	return interpolate(grown, w.To) - interpolate(grown, w.From)
}

// interpolate returns a value at a time. Before the first one and after the last one it holds.
func interpolate(list []window.Step, t time.Duration) float64 {
	i := sort.Search(len(list), func(i int) bool { return list[i].At >= t })
	switch {
	case i == len(list):
		return list[i-1].Value
	case i == 0 || list[i].At == t:
		return list[i].Value
	}
	a, b := list[i-1], list[i]
	return a.Value + (b.Value-a.Value)*float64(t-a.At)/float64(b.At-a.At)
}

// limits returns the least and the largest that a counter can have been at a time.
func limits(grown []window.Step, t time.Duration, most, refresh float64) (low, high float64) {
	i := sort.Search(len(grown), func(i int) bool { return grown[i].At >= t })
	stale := most * refresh
	switch {
	case i == len(grown): // nothing was read after it
		last := grown[i-1]
		return last.Value, last.Value + stale + most*(t-last.At).Seconds()
	case i == 0 || grown[i].At == t: // nothing was read before it
		first := grown[i]
		return first.Value - most*(first.At-t).Seconds(), first.Value + stale
	}
	a, b := grown[i-1], grown[i]
	low = max(a.Value, b.Value-most*(b.At-t).Seconds())
	high = min(b.Value+stale, a.Value+stale+most*(t-a.At).Seconds())
	if low > high { // it draws more than it may
		low, high = a.Value, b.Value+stale
	}
	return low, high
}

// distinctIn returns how many values a counter has in a window.
func distinctIn(count []window.Step, w window.Window) int {
	n, last := 0, math.NaN()
	for _, s := range count {
		if s.At < w.From || s.At > w.To {
			continue
		}
		if s.Value != last {
			n++
		}
		last = s.Value
	}
	return n
}

// integral returns the integral of power over a window by trapezoids, in joules.
func integral(power []window.Step, w window.Window) float64 {
	sum, before, last := 0.0, w.From, interpolate(power, w.From)
	for _, s := range power {
		if s.At > w.From && s.At < w.To {
			sum += (last + s.Value) / 2 * (s.At - before).Seconds()
			before, last = s.At, s.Value
		}
	}
	return sum + (last+interpolate(power, w.To))/2*(w.To-before).Seconds()
}
