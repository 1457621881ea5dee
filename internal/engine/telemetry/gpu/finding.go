package gpu

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/window"
	"aiperfd/internal/view"
)

func itoa(i int) string { return strconv.Itoa(i) }

// examined is what the rules look at.
type examined struct {
	phase   *Phase
	devices []*device // those of the phase
	window  window.Window
	waiting []window.Step
}

// rule makes a finding; ok = false if there is none.
type rule struct {
	code string
	find func(x *examined) (diagnose.Finding, bool)
}

// rules are all findings, the most telling first.
func rules() []rule {
	return []rule{
		{"gpu-idle", idleWhileWaiting}, {"xid", errorsOfDriver}, {"ecc", errorsOfMemory}, {"power-capped", powerCapped},
		{"hot", hot}, {"clock-drop", clockDrop}, {"energy-coarse", energyCoarse}, {"energy-mismatch", energyMismatch},
		{"idle-gpus-counted", idleCounted},
	}
}

// Codes returns the codes of all findings about accelerators.
func Codes() []string {
	var out []string
	for _, r := range rules() {
		out = append(out, r.code)
	}
	return out
}

// The limits of the rules.
const (
	capped     = 0.05 // of the time
	coarse     = 0.1  // of the energy
	mismatched = 0.05
)

// worst is the device with the largest value of something, and how many devices have it.
type worst struct {
	device *Device
	value  float64
	count  int
}

// find returns the devices that a test finds; it returns what it measured, and whether that counts.
func (x *examined) find(test func(i int, d *Device) (float64, bool)) (out worst) {
	for i := range x.phase.Devices {
		d := &x.phase.Devices[i]
		v, ok := test(i, d)
		if !ok {
			continue
		}
		out.count++
		if out.device == nil || v > out.value {
			out.device, out.value = d, v
		}
	}
	return out
}

// who names the devices, such as "GPU 0 of node1 and 3 others".
func (w *worst) who() string {
	switch n := w.count - 1; n {
	case 0:
		return w.device.Label()
	case 1:
		return w.device.Label() + " and another one"
	default:
		return fmt.Sprintf("%s and %d others", w.device.Label(), n)
	}
}

// throttled returns the largest share of the window during which a counter or a reason held the clocks down.
func (x *examined) throttled(d *Device, counter string, names ...string) float64 {
	share := 0.0
	if m := d.Metric(counter); m != nil && m.Total != nil && x.window.Seconds() > 0 {
		share = *m.Total / x.window.Seconds()
	}
	if m := d.Metric("throttle_reasons"); m != nil {
		for _, name := range names {
			share = max(share, m.Reasons[name])
		}
	}
	return min(1, share)
}

func powerCapped(x *examined) (diagnose.Finding, bool) {
	w := x.find(func(_ int, d *Device) (float64, bool) {
		share := x.throttled(d, "throttle_power", "software-power-cap", "power-brake")
		return share, share > capped
	})
	if w.device == nil {
		return diagnose.Finding{}, false
	}
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "throttle_power", Limit: new(capped), Share: &w.value,
		Message: fmt.Sprintf("the limit of power held down the clocks of %s for %s of the time", w.who(), view.Percent(w.value)),
	}, true
}

func hot(x *examined) (diagnose.Finding, bool) {
	w := x.find(func(_ int, d *Device) (float64, bool) {
		share := x.throttled(d, "throttle_thermal", "software-thermal", "hardware-thermal")
		return share, share > capped
	})
	if w.device == nil {
		return diagnose.Finding{}, false
	}
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "throttle_thermal", Limit: new(capped), Share: &w.value,
		Message: fmt.Sprintf("heat held down the clocks of %s for %s of the time", w.who(), view.Percent(w.value)),
	}, true
}

// clockDrop finds clocks that fell while a device worked.
func clockDrop(x *examined) (diagnose.Finding, bool) {
	const busy, fall = 80, 0.9
	w := x.find(func(i int, d *Device) (float64, bool) {
		if d.Repeats {
			return 0, false
		}
		clock, util := x.devices[i].steps(field("sm_clock"), x.window), x.devices[i].steps(field("util"), x.window)
		over := window.Over(during(clock, util, busy), x.window)
		if over.Empty() || over.Seconds() < x.window.Seconds()/10 {
			return 0, false
		}
		low, high := over.Quantile(0.05), over.Quantile(0.95)
		return 1 - low/high, low < fall*high
	})
	if w.device == nil {
		return diagnose.Finding{}, false
	}
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "sm_clock", Value: &w.value, Limit: new(1 - fall),
		Message: fmt.Sprintf("the clock of %s fell by %s while it worked", w.who(), view.Percent(w.value)),
	}, true
}

// during returns the values of one level while another is above a limit; NaN = it is not.
func during(level, other []window.Step, limit float64) []window.Step {
	if level == nil || other == nil {
		return nil
	}
	const off = -1
	high := make([]window.Step, len(other))
	for i, s := range other {
		high[i] = window.Step{At: s.At, Value: off}
		if s.Value > limit {
			high[i].Value = 0
		}
	}
	// A sum with -1 or 0 keeps the times of both; the level is never negative.
	out := window.Combine(func(v []float64) float64 {
		if len(v) < 2 || v[1] == off {
			return math.NaN()
		}
		return v[0]
	}, level, high)
	return out
}

func errorsOfDriver(x *examined) (diagnose.Finding, bool) {
	w := x.find(func(_ int, d *Device) (float64, bool) {
		m := d.Metric("xid")
		if m == nil || m.Max == nil || *m.Max == *m.Min { // it was there before
			return 0, false
		}
		return *m.Max, true
	})
	if w.device == nil {
		return diagnose.Finding{}, false
	}
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "xid", Value: &w.value,
		Message: fmt.Sprintf("the driver reported error %.0f (XID) of %s", w.value, w.who()),
	}, true
}

func errorsOfMemory(x *examined) (diagnose.Finding, bool) {
	w := x.find(func(_ int, d *Device) (float64, bool) {
		m := d.Metric("ecc")
		if m == nil || m.Total == nil {
			return 0, false
		}
		return *m.Total, *m.Total > 0
	})
	if w.device == nil {
		return diagnose.Finding{}, false
	}
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "ecc", Value: &w.value,
		Message: fmt.Sprintf("memory of %s had errors that could not be corrected: %s", w.who(), view.Figure(w.value)),
	}, true
}

// idleWhileWaiting finds devices with little to do while requests waited.
func idleWhileWaiting(x *examined) (diagnose.Finding, bool) {
	const busy, often = 60, 0.2
	var utils [][]window.Step
	for i := range x.devices {
		if u := x.devices[i].steps(field("util"), x.window); u != nil {
			utils = append(utils, u)
		}
	}
	if len(utils) == 0 || x.waiting == nil {
		return diagnose.Finding{}, false
	}
	mean := window.Combine(window.Mean, utils...)
	over := window.Over(during(mean, x.waiting, 0), x.window)
	if over.Empty() {
		return diagnose.Finding{}, false
	}
	share := over.Share(func(v float64) bool { return v < busy }) * over.Seconds() / x.window.Seconds()
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "util", Limit: new(float64(busy)), Share: &share,
		Message: fmt.Sprintf("for %s of the time requests waited while the GPUs were used by less than %d %%: "+
			"the scheduler, the tokenizer or the network of the server is the limit", view.Percent(share), busy),
	}, share > often
}

// idleCounted names cards without work whose energy is in the totals.
func idleCounted(x *examined) (diagnose.Finding, bool) {
	const idle, works = 5, 20
	busiest := x.find(func(_ int, d *Device) (float64, bool) {
		m := d.Metric("util")
		if m == nil || m.Avg == nil {
			return 0, false
		}
		return *m.Avg, true
	})
	if busiest.device == nil || busiest.value < works {
		return diagnose.Finding{}, false
	}
	var names []string
	joules := 0.0
	for i := range x.phase.Devices {
		d := &x.phase.Devices[i]
		if m := d.Metric("util"); m != nil && m.Avg != nil && *m.Avg < idle && d.Energy != nil {
			names, joules = append(names, d.Label()), joules+d.Energy.Joules
		}
	}
	if len(names) == 0 {
		return diagnose.Finding{}, false
	}
	const most = 4
	text := strings.Join(names, ", ")
	if len(names) > most {
		text = fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
	}
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "energy", Value: &joules,
		Message: fmt.Sprintf("%s had no work, and the totals have their energy, %s J: select devices with --gpu-devices",
			text, view.Figure(joules)),
	}, true
}

// energyCoarse finds energies whose error may be large.
func energyCoarse(x *examined) (diagnose.Finding, bool) {
	w := x.find(func(_ int, d *Device) (float64, bool) {
		if d.Energy == nil || !(d.Energy.Joules > 0) {
			return 0, false
		}
		share := d.Energy.Bound / d.Energy.Joules
		return share, share > coarse
	})
	if w.device == nil {
		return diagnose.Finding{}, false
	}
	length := time.Duration(x.window.Seconds() * float64(time.Second)).Round(100 * time.Millisecond)
	why := fmt.Sprintf("the values of %s did not change often enough within %v", w.who(), length)
	if r := w.device.Energy.Refresh; r != nil {
		why = fmt.Sprintf("the values of %s were seen to change every %s s and the phase lasted %v", w.who(), view.Figure(*r), length)
	}
	const slow = 1.5 // seconds
	advice := ""
	if r := w.device.Energy.Refresh; w.device.Vendor == NVIDIA && (r == nil || *r > slow) {
		advice = "; dcgm-exporter -c 200 changes them five times per second"
	}
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "energy", Value: &w.value, Limit: new(coarse),
		Message: fmt.Sprintf("%s: energy is known to ±%s%s", why, view.Percent(w.value), advice),
	}, true
}

// energyMismatch finds counters that disagree with power.
func energyMismatch(x *examined) (diagnose.Finding, bool) {
	w := x.find(func(_ int, d *Device) (float64, bool) {
		e := d.Energy
		if e == nil || e.Counter == nil || e.Integrated == nil || e.Partial || !(*e.Counter > 0) || e.Source != ByCounter {
			return 0, false
		}
		apart := math.Abs(*e.Counter - *e.Integrated)
		return apart / *e.Counter, apart > mismatched**e.Counter && apart > e.Bound
	})
	if w.device == nil {
		return diagnose.Finding{}, false
	}
	e := w.device.Energy
	return diagnose.Finding{
		Level: diagnose.Notice, Metric: "energy", Value: &w.value, Limit: new(mismatched),
		Message: fmt.Sprintf("the counter of %s says %s J, its power adds up to %s J", w.who(), view.Figure(*e.Counter), view.Figure(*e.Integrated)),
	}, true
}

// Line is the cards of a vendor in one line, such as "2 of nvidia, 97 % used, 1,020 W on average, 1,090 W at most of 1,400 W;
// 10,200 J ± 3 %"; empty = nothing is known.
func (s *Sum) Line() string {
	parts := []string{fmt.Sprintf("%d of %s", s.Cards, s.Vendor)}
	if s.Util != nil {
		parts = append(parts, view.Percent(*s.Util/100)+" used")
	}
	if s.Mean != nil {
		text := view.Figure(*s.Mean) + " W on average"
		if s.Peak != nil {
			text += ", " + view.Figure(*s.Peak) + " W at most"
		}
		if s.Limit != nil {
			text += ", limit " + view.Figure(*s.Limit) + " W"
		}
		parts = append(parts, text)
	}
	if len(parts) == 1 && s.Energy == nil {
		return ""
	}
	line := strings.Join(parts, ", ")
	if s.Energy != nil {
		line += "; " + view.Figure(*s.Energy) + " J"
		if s.Bound != nil && *s.Energy > 0 {
			line += " ±" + view.Percent(*s.Bound / *s.Energy)
		}
	}
	if s.Net != nil {
		line += ", " + view.Figure(*s.Net) + " J more than idle"
	}
	return line
}
