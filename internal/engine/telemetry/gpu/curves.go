package gpu

import (
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/telemetry/window"
)

// Curves are the devices over the time of a run: one value per reading. Of a run with many readings, a point is
// several of them.
type Curves struct {
	Start   time.Time `json:"start_time"` // from which seconds count
	Time    []float64 `json:"time_sec"`   // of each reading, or of the last one of the point
	Devices []Curve   `json:"devices"`    // at most 16, in the order of the devices of a phase
}

// Curve is one device. A member that it does not have is absent; null = it said nothing at that time.
type Curve struct {
	Label string     `json:"label" example:"GPU 0 of node1"`
	UUID  string     `json:"uuid"`
	Power []*float64 `json:"power_watts,omitempty"`
	Clock []*float64 `json:"sm_clock_mhz,omitempty"`
	Util  []*float64 `json:"util_percent,omitempty"`
	// Throttled is the share of the time since the reading before in which power or heat held the clocks down.
	Throttled []*float64 `json:"throttled_share,omitempty"`
}

// The bounds of curves.
const (
	mostCurves   = 16
	leastReading = 3
)

// NewCurves returns the curves of the devices of pages in a window; nil = there are too few readings. start is the
// wall time of the beginning of the window.
func NewCurves(pages []Page, w window.Window, start time.Time, o Options) *Curves {
	var histories []*window.History
	for i := range pages {
		histories = append(histories, pages[i].History)
	}
	times := window.Times(w, histories...)
	if len(times) < leastReading {
		return nil
	}
	points := window.Divide(len(times))
	c := &Curves{Start: start, Time: points.Ends(times, w.From), Devices: []Curve{}}
	for _, d := range find(pages) {
		if !o.selected(&d.Identity) || len(c.Devices) == mostCurves {
			continue
		}
		level := func(name string) []*float64 {
			f := field(name)
			if f.Whole && d.repeated {
				return nil
			}
			steps := d.steps(f, w)
			if steps == nil {
				return nil
			}
			return points.Reduce(window.At(steps, times), window.Mean)
		}
		one := Curve{Label: d.Label(), UUID: d.UUID, Power: level("power"), Clock: level("sm_clock"), Util: level("util")}
		if held := d.held(w, times); held != nil && !d.repeated {
			one.Throttled = points.Reduce(held, window.Mean)
		}
		if one.Power != nil || one.Clock != nil || one.Util != nil {
			c.Devices = append(c.Devices, one)
		}
	}
	if len(c.Devices) == 0 {
		return nil
	}
	return c
}

// held returns the share of the time before each reading during which power or heat held the clocks of a device
// down: by its reasons at that time, or else by its counters since the reading before. nil = it has neither.
func (d *device) held(w window.Window, times []time.Duration) []float64 {
	if steps := d.steps(field("throttle_reasons"), w); steps != nil {
		out := window.At(steps, times)
		for i, v := range out {
			if !math.IsNaN(v) {
				out[i] = 0
				if v >= 0 && uint64(v)&heldDown() != 0 {
					out[i] = 1
				}
			}
		}
		return out
	}
	power, heat := d.violation(field("throttle_power"), w, times), d.violation(field("throttle_thermal"), w, times)
	if power == nil || heat == nil {
		return slices.Concat(power, heat)
	}
	for i := range power {
		power[i] = max(power[i], heat[i])
	}
	return power
}

// violation returns by which share of the time before each reading a counter of throttling grew; nil = the device
// does not have it.
func (d *device) violation(f *Field, w window.Window, times []time.Duration) []float64 {
	r, ok := d.source(f)
	if !ok {
		return nil
	}
	list := slices.DeleteFunc(d.page.History.Samples(r.groups[0]), func(s window.Step) bool { return math.IsNaN(s.Value) })
	if len(list) == 0 {
		return nil
	}
	grown, _ := growth(list)
	by := violationScale(r.family, increase(grown, w), w)
	out := make([]float64, len(times))
	before := w.From
	for i, t := range times {
		out[i] = min(1, increase(grown, window.Window{From: before, To: t})/by/(t-before).Seconds())
		before = t
	}
	return out
}

// Latest is what a card said when it was last read, and what it has used since the run began.
type Latest struct {
	Identity
	Power  *float64 `json:"power_watts"`   // null = unknown
	Energy *float64 `json:"energy_joules"` // since its first reading; null = unknown
}

// NewLatest returns the newest values of the cards of pages. Instances of a card that repeat its values are left out.
func NewLatest(pages []Page, o Options) []Latest {
	var out []Latest
	for _, d := range find(pages) {
		if d.repeated || !o.selected(&d.Identity) {
			continue
		}
		one := Latest{Identity: d.Identity}
		power := d.samples(field("power"))
		if len(power) > 0 {
			one.Power = new(power[len(power)-1].Value)
			one.Energy = new(integral(power, window.Window{From: power[0].At, To: power[len(power)-1].At}))
		}
		if count := d.samples(field("energy")); anyPositive(count) {
			grown, _ := growth(count)
			one.Energy = new(grown[len(grown)-1].Value)
		}
		if one.Power != nil || one.Energy != nil {
			out = append(out, one)
		}
	}
	return out
}
