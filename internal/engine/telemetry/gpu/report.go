package gpu

import (
	"cmp"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/window"
)

// Report is what is known of the accelerators; result.json and the API have it.
type Report struct {
	Targets   []diagnose.Target `json:"targets"`
	Collector string            `json:"collector" enums:"dcgm,nvidia-smi,amd-sysfs"` // what was read
	Phases    []Phase           `json:"phases"`                                      // those that ended, in order; empty = no device was seen
	// Profiling is all profiling phases together, from the first start to the last end; nil = no device was seen.
	Profiling *Phase   `json:"profiling,omitempty"`
	Idle      *Phase   `json:"idle,omitempty"`   // before the first phase, while nothing was sent; nil = it was not measured
	Latest    []Latest `json:"latest,omitempty"` // of each card
	Curves    *Curves  `json:"curves,omitempty"` // over the time of all phases; nil = there are too few readings
}

// Phase is a phase seen by the accelerators.
type Phase struct {
	Name     string             `json:"name"`
	Kind     string             `json:"kind"`
	Start    time.Time          `json:"start_time"`
	End      time.Time          `json:"end_time"`
	Seconds  float64            `json:"seconds"`
	Devices  []Device           `json:"devices"`
	Vendors  []Sum              `json:"vendors"` // all cards of a vendor together
	Findings []diagnose.Finding `json:"findings"`
}

// Device is a device in a phase.
type Device struct {
	Identity
	// Repeats means that power, energy and whatever else concerns the whole card stand with another instance.
	Repeats bool     `json:"repeats_card,omitempty"`
	Energy  *Energy  `json:"energy,omitempty"` // nil = it is not known
	Metrics []Metric `json:"metrics"`
}

// Metric is a canonical metric of a device in a window. Levels count for as long as they held; totals are between
// the exact bounds.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Family string `json:"family"`          // the exporter's name
	Title  string `json:"title,omitempty"` // of a field of the user

	Avg *float64 `json:"avg,omitempty"` // of a level
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	Std *float64 `json:"std,omitempty"`
	P1  *float64 `json:"p1,omitempty"`
	P5  *float64 `json:"p5,omitempty"`
	P10 *float64 `json:"p10,omitempty"`
	P25 *float64 `json:"p25,omitempty"`
	P50 *float64 `json:"p50,omitempty"`
	P75 *float64 `json:"p75,omitempty"`
	P90 *float64 `json:"p90,omitempty"`
	P95 *float64 `json:"p95,omitempty"`
	P99 *float64 `json:"p99,omitempty"`
	// Count is how often a level was read in the window.
	Count int `json:"count,omitempty"`

	Total   *float64 `json:"total,omitempty"` // of a counter
	Partial bool     `json:"partial,omitempty"`

	// Reasons has the shares of the window during which each reason held the clocks down, 0 to 1.
	Reasons map[string]float64 `json:"reasons,omitempty"`
}

// Sum is all cards of a vendor in a phase.
type Sum struct {
	Vendor string   `json:"vendor"`
	Cards  int      `json:"cards"`
	Energy *float64 `json:"energy_joules,omitempty"` // nil = of no card is it known
	Bound  *float64 `json:"error_bound_joules,omitempty"`
	// Net is the energy without what the cards would have used idle, with the bound of its error; nil = that was not
	// measured, of a card at least.
	Net      *float64 `json:"net_energy_joules,omitempty"`
	NetBound *float64 `json:"net_error_bound_joules,omitempty"`
	Power    *float64 `json:"power_watts,omitempty"`      // energy by time
	Mean     *float64 `json:"mean_power_watts,omitempty"` // sum of the mean readings
	Peak     *float64 `json:"peak_power_watts,omitempty"` // of all cards at the same time
	Limit    *float64 `json:"power_limit_watts,omitempty"`
	Util     *float64 `json:"util_percent,omitempty"` // the mean of the cards
}

// Options configure an examination.
type Options struct {
	Select  []string      // devices by id, index, pod or namespace; empty = all
	Extra   []Field       // further metrics
	Waiting []window.Step // requests in the queues of the servers; nil = unknown
}

// selected reports whether a selection has a device.
func (o *Options) selected(id *Identity) bool {
	return len(o.Select) == 0 || slices.ContainsFunc(o.Select, func(s string) bool { return id.matches(s) })
}

// Examine says what the devices did in a window.
func Examine(pages []Page, w window.Window, o Options) Phase {
	out := Phase{Devices: []Device{}, Vendors: []Sum{}, Findings: []diagnose.Finding{}, Seconds: w.Seconds()}
	var all []*device
	for _, d := range find(pages) {
		if !o.selected(&d.Identity) {
			continue
		}
		one := d.reduce(w, o.Extra)
		if len(one.Metrics) > 0 {
			out.Devices = append(out.Devices, one)
			all = append(all, d)
		}
	}
	for _, vendor := range []string{NVIDIA, AMD} {
		if s, ok := sum(&out, all, vendor, w); ok {
			out.Vendors = append(out.Vendors, s)
		}
	}
	x := &examined{phase: &out, devices: all, window: w, waiting: o.Waiting}
	for _, r := range rules() {
		if f, ok := r.find(x); ok {
			f.Code = r.code
			out.Findings = append(out.Findings, f)
		}
	}
	return out
}

// reduce returns a device in a window.
func (d *device) reduce(w window.Window, extra []Field) Device {
	out := Device{Identity: d.Identity, Repeats: d.repeated, Metrics: []Metric{}}
	for _, f := range slices.Concat(Fields(), extra) {
		if f.Whole && d.repeated {
			continue
		}
		if m, ok := d.metric(&f, w); ok {
			out.Metrics = append(out.Metrics, m)
		}
	}
	if !d.repeated {
		out.Energy = d.energy(w)
	}
	return out
}

// metric returns a canonical metric in a window; ok = false if the device does not have it.
func (d *device) metric(f *Field, w window.Window) (m Metric, ok bool) {
	r, ok := d.source(f)
	if !ok {
		return m, false
	}
	m = Metric{Name: f.Name, Unit: f.Unit, Family: r.family.Name}
	if f.extra() {
		m.Title = f.About
	}
	switch {
	case f.Form == Total:
		return m, d.total(&m, r, w)
	case r.family.Kind == window.Counter: // of bytes, where others have a rate
		if !d.total(&m, r, w) || !(w.Seconds() > 0) {
			return m, false
		}
		m.Avg, m.Total = new(*m.Total/w.Seconds()), nil
		return m, true
	case f.Form == Bits:
		over := window.Over(d.steps(f, w), w)
		if over.Empty() {
			return m, false
		}
		m.Reasons = reasons(&over)
		return m, true
	}
	over := window.Over(d.steps(f, w), w)
	if over.Empty() {
		return m, false
	}
	m.Avg, m.Min, m.Max, m.Std = new(over.Mean()), new(over.Min()), new(over.Max()), new(over.Deviation())
	for _, p := range []struct {
		to    **float64
		share float64
	}{
		{&m.P1, 0.01}, {&m.P5, 0.05}, {&m.P10, 0.1}, {&m.P25, 0.25}, {&m.P50, 0.5}, {&m.P75, 0.75}, {&m.P90, 0.9},
		{&m.P95, 0.95}, {&m.P99, 0.99},
	} {
		*p.to = new(over.Quantile(p.share))
	}
	m.Count = d.page.History.Readings(w)
	return m, true
}

// total sets the total of a counter; false = it has none.
func (d *device) total(m *Metric, r reading, w window.Window) bool {
	sum, found := 0.0, false
	for _, g := range r.groups {
		list := slices.DeleteFunc(d.page.History.Samples(g), func(s window.Step) bool { return math.IsNaN(s.Value) })
		if len(list) == 0 || list[0].At > w.To {
			continue
		}
		grown, resets := growth(list)
		sum, found = sum+increase(grown, w), true
		m.Partial = m.Partial || resets(w) || list[0].At > w.From
	}
	if !found {
		return false
	}
	by := r.Scale
	if m.Unit == "s" {
		by = violationScale(r.family, sum, w)
	}
	m.Total = new(sum / by)
	return true
}

// Metric returns a metric of a device by its name; nil = the device does not have it.
func (d *Device) Metric(name string) *Metric {
	for i := range d.Metrics {
		if d.Metrics[i].Name == name {
			return &d.Metrics[i]
		}
	}
	return nil
}

// add adds to a sum that is nil until then.
func add(to **float64, v float64) {
	if *to == nil {
		*to = new(0.0)
	}
	**to += v
}

// sum returns the cards of a vendor together; ok = false if there is none.
func sum(p *Phase, all []*device, vendor string, w window.Window) (out Sum, ok bool) {
	out = Sum{Vendor: vendor}
	var powers [][]window.Step
	util, utils := 0.0, 0
	for i := range p.Devices {
		d := &p.Devices[i]
		if d.Vendor != vendor {
			continue
		}
		if m := d.Metric("util"); m != nil && m.Avg != nil {
			util, utils = util+*m.Avg, utils+1
		}
		if d.Repeats {
			continue
		}
		out.Cards++
		if d.Energy != nil {
			add(&out.Energy, d.Energy.Joules)
			add(&out.Bound, d.Energy.Bound)
		}
		if m := d.Metric("power"); m != nil {
			add(&out.Mean, *m.Avg)
			powers = append(powers, all[i].steps(field("power"), w))
		}
		if m := d.Metric("power_limit"); m != nil {
			add(&out.Limit, *m.Avg)
		}
	}
	if out.Energy != nil && w.Seconds() > 0 {
		out.Power = new(*out.Energy / w.Seconds())
	}
	if len(powers) > 0 {
		over := window.Over(window.Combine(window.Sum, powers...), w)
		if !over.Empty() {
			out.Peak = new(over.Max())
		}
	}
	if utils > 0 {
		out.Util = new(util / float64(utils))
	}
	return out, out.Cards > 0
}

// reason is a bit of DCGM's reasons for lower clocks.
type reason struct {
	bit  uint64
	name string
}

// reasonTable has the bits in order.
func reasonTable() []reason {
	return []reason{
		{1 << 0, "idle"}, {1 << 1, "application-clocks"}, {1 << 2, "software-power-cap"}, {1 << 3, "hardware-slowdown"},
		{1 << 4, "sync-boost"}, {1 << 5, "software-thermal"}, {1 << 6, "hardware-thermal"}, {1 << 7, "power-brake"},
		{1 << 8, "display-clocks"},
	}
}

// heldDown returns the bits of the reasons that are limits of power or heat.
func heldDown() (bits uint64) {
	for _, r := range reasonTable() {
		switch r.name {
		case "software-power-cap", "hardware-slowdown", "software-thermal", "hardware-thermal", "power-brake":
			bits |= r.bit
		}
	}
	return bits
}

// reasons returns the share of the time during which each bit was set.
func reasons(over *window.Levels) map[string]float64 {
	out := map[string]float64{}
	for _, r := range reasonTable() {
		share := over.Share(func(v float64) bool { return v >= 0 && uint64(v)&r.bit != 0 })
		if share > 0 {
			out[r.name] = share
		}
	}
	return out
}

// matches reports whether a selection names a device.
func (id *Identity) matches(s string) bool {
	return s == id.UUID || cmp.Or(id.Pod, "\x00") == s || cmp.Or(id.Namespace, "\x00") == s || id.Index >= 0 && s == itoa(id.Index)
}
