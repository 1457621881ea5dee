// Package clock knows how far the clock of another machine is from the own one: not as a best guess, but as an interval
// that contains the truth, whatever the delays of the network in either direction.
package clock

import (
	"math"
	"slices"
	"time"
)

// Probe is one exchange of a machine with the reference: the machine asks, and the reference answers. Sent and
// Returned are times on the clock of the machine, Arrived and Answered on that of the reference; both are monotonic.
//
// A message cannot arrive before it was sent. So the offset, which is reference minus machine, was at most
// Arrived - Sent when the question was sent, and at least Answered - Returned when the answer was read (F. Cristian,
// Probabilistic clock synchronization, 1989).
type Probe struct {
	Sent, Arrived, Answered, Returned time.Duration
}

// RTT returns the time that the messages of the probe were under way.
func (p *Probe) RTT() time.Duration { return p.Returned - p.Sent - (p.Answered - p.Arrived) }

// What is assumed of clocks.
const (
	// maxDrift is how fast an offset changes at most, in seconds per second: the kernel slews a clock by 500 ppm at
	// most, quartz is up to 100 ppm off, and both may happen on both sides.
	maxDrift = 1200e-6
	// wander is by how much the drift may change within the window, in seconds per second: of the temperature.
	wander = 1e-6
	// longest is how far probes may be from an instant for which they are used.
	longest = 64 * time.Second
	// margin is by how much more than the window a drift must agree with the probes. What a change of the drift at the
	// edge of the window has moved is not seen there, and would be seen so much later.
	margin = 2 * time.Second
	// fewest probes say how clocks drift. With less of them in agreement the offset is unknown.
	fewest = 8
)

// Offset is what probes say of the offset of a clock at an instant: the reference shows Middle more than the machine,
// give or take Bound.
type Offset struct {
	Middle, Bound time.Duration
	// The drift is between these, in seconds per second.
	DriftFrom, DriftTo float64
}

// History is the probes of one machine, in the order in which they were sent. It is not safe for concurrent use.
type History struct {
	probes []Probe
}

// Add adds a probe, which was sent after those before. A probe whose answer came before its question is no probe, and
// is left out.
func (h *History) Add(p Probe) {
	if p.RTT() < 0 || p.Returned < p.Sent || p.Answered < p.Arrived {
		return
	}
	h.probes = append(h.probes, p)
}

// Forget removes the probes that say nothing of instants of the machine from then on.
func (h *History) Forget(then time.Duration) {
	n := 0
	for n < len(h.probes) && h.probes[n].Returned < then-longest-margin {
		n++
	}
	h.probes = h.probes[n:]
}

// At returns the offset at an instant on the clock of the machine; known = false if there are too few probes, or if the
// clock was unstable: it was stepped, slewed or suspended, so that no steady drift agrees with the probes around the
// instant. A change of the drift stays unseen until it has moved the offset by about Bound; that is the one
// assumption.
func (h *History) At(at time.Duration) (o Offset, known bool) {
	for window := longest; ; window = window * 3 / 4 {
		near := h.near(at, window)
		if len(near) < fewest {
			return o, false
		}
		if _, steady := intersect(h.near(at, window+margin), at); steady {
			return intersect(near, at)
		}
	}
}

// near returns the probes that are at most so far from an instant.
func (h *History) near(at, window time.Duration) []Probe {
	first := 0
	for first < len(h.probes) && h.probes[first].Returned < at-window {
		first++
	}
	end := first
	for end < len(h.probes) && h.probes[end].Sent <= at+window {
		end++
	}
	return h.probes[first:end]
}

// intersect returns the offsets at an instant of all lines offset + drift·t that agree with each probe; ok = false if
// there are none. Such lines are a convex polygon in the plane of offset and drift, from which each probe cuts
// two half-planes.
func intersect(probes []Probe, at time.Duration) (o Offset, ok bool) {
	// Offsets are small numbers beside the first one, so that a float64 has them to less than a nanosecond.
	base := probes[0].Arrived - probes[0].Sent
	polygon := outline(probes, at, base)
	for i := range probes {
		p := &probes[i]
		polygon = polygon.cut(bound(p.Sent-at, p.Arrived-p.Sent-base))
		polygon = polygon.cut(bound(p.Returned-at, p.Answered-p.Returned-base).negated())
		if len(polygon) == 0 {
			return o, false
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	o.DriftFrom, o.DriftTo = math.Inf(1), math.Inf(-1)
	for _, v := range polygon {
		low, high = min(low, v.offset), max(high, v.offset)
		o.DriftFrom, o.DriftTo = min(o.DriftFrom, v.drift), max(o.DriftTo, v.drift)
	}
	// The bound is rounded up, because the middle is rounded.
	o.Middle = base + time.Duration(math.Round((low+high)/2))
	o.Bound = time.Duration(math.Ceil((high-low)/2)) + 1
	return o, true
}

// outline returns a polygon that contains every line that agrees with the probe which is nearest to an instant.
func outline(probes []Probe, at, base time.Duration) polygon {
	nearest := &probes[0]
	for i := range probes {
		if (probes[i].Sent - at).Abs() < (nearest.Sent - at).Abs() {
			nearest = &probes[i]
		}
	}
	room := 1 + (maxDrift+wander)*max(math.Abs(float64(nearest.Sent-at)), math.Abs(float64(nearest.Returned-at)))
	low := float64(nearest.Answered-nearest.Returned-base) - room
	high := float64(nearest.Arrived-nearest.Sent-base) + room
	return polygon{{low, -maxDrift}, {high, -maxDrift}, {high, maxDrift}, {low, maxDrift}}
}

// line is a line through the plane: an offset at the instant, in nanoseconds, and a drift.
type line struct{ offset, drift float64 }

// halfPlane has the lines with side·(offset + drift·after) ≤ limit.
type halfPlane struct{ side, after, limit float64 }

// bound returns the lines that are at most at an offset so long after the instant. The limit is widened by what the
// drift may have changed until then.
func bound(after, offset time.Duration) halfPlane {
	return halfPlane{side: 1, after: float64(after), limit: float64(offset) + wander*math.Abs(float64(after))}
}

// negated returns the lines that are at least there. The limit is widened the other way.
func (h halfPlane) negated() halfPlane {
	offset := h.limit - wander*math.Abs(h.after)
	return halfPlane{side: -1, after: h.after, limit: -offset + wander*math.Abs(h.after)}
}

// excess returns how far a line is outside, <= 0 if it is inside.
func (h *halfPlane) excess(v line) float64 { return h.side*(v.offset+v.drift*h.after) - h.limit }

// polygon has its corners in order; it is convex.
type polygon []line

// cut returns the part of the polygon that is in a half-plane.
func (p polygon) cut(h halfPlane) polygon {
	if !slices.ContainsFunc(p, func(v line) bool { return h.excess(v) > 0 }) {
		return p
	}
	var out polygon
	for i, v := range p {
		next := p[(i+1)%len(p)]
		here, there := h.excess(v), h.excess(next)
		if here <= 0 {
			out = append(out, v)
		}
		if (here <= 0) != (there <= 0) {
			share := here / (here - there)
			out = append(out, line{v.offset + share*(next.offset-v.offset), v.drift + share*(next.drift-v.drift)})
		}
	}
	return out
}
