package measure

import (
	"fmt"
	"math"
	"time"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/stat"
)

// The names of windows.
const (
	PhaseWindow    = "phase"    // W, which the rates of a phase are divided by
	ActivityWindow = "activity" // from the first start of a request to the last end
	SteadyWindow   = "steady"   // without the beginning and the end of the load
)

// Window is a part of a phase with what happened in it.
type Window struct {
	Name     string
	Method   string // how its bounds were found; for one that is absent, why
	From, To time.Duration
	Absent   bool
	Results  metric.Results     // rates of what happened in the window
	Trend    *metric.Steadiness // nil = the window is not the steady one, or absent
}

const (
	// steadyShare is the part of a phase that a steady window must cover.
	steadyShare = 0.3
	// full is the share of the slots of a closed loop that are in use while it is full: some are
	// empty for a moment between two requests.
	full = 0.95
	// leastWaits is the number of successes below which nothing is said of their order.
	leastWaits = 50
)

// windows finds the windows of the only part.
func (f *finisher) windows() []Window {
	p, t := &f.parts[0], &f.set.tally
	from := p.Phase.Start
	if from == 0 {
		from = t.FirstSent
	}
	if p.Window <= 0 || t.FirstSent == 0 {
		return nil
	}
	out := []Window{
		{Name: PhaseWindow, Method: "start of the phase to the return of its last request", From: from, To: from + p.Window},
		{Name: ActivityWindow, Method: "first start of a request to the last end of one", From: t.FirstSent, To: t.LastEnd},
		f.steady(from, p.Window),
	}
	for i := range out {
		if w := &out[i]; !w.Absent && w.To > w.From {
			w.Results = f.within(w)
		}
	}
	return out
}

// steady finds the steady window of a phase that begins at from and lasts w.
func (f *finisher) steady(from, w time.Duration) Window {
	f.begin()
	out := Window{Name: SteadyWindow, From: from, To: from + w}
	slots := f.parts[0].Slots
	if slots > 0 {
		var found bool
		least := math.Ceil(full * float64(slots))
		out.From, out.To, found = f.sweep.At(least)
		out.Method = fmt.Sprintf("first to last instant with %v requests in flight", least)
		if !found {
			return Window{Name: SteadyWindow, Absent: true, Method: fmt.Sprintf("there were never %v requests in flight", least)}
		}
	} else {
		if end := f.parts[0].Phase.SentEnd; end > out.From && end < out.To {
			out.To = end
		}
		out.Method = "start of the phase to the last start of a request"
	}
	if ramp := f.parts[0].Ramp; ramp > 0 && from+ramp > out.From {
		out.From = min(from+ramp, out.To)
		out.Method += ", after the ramp"
	}
	waits := f.set.timeline.Waits(out.From, out.To)
	out.Trend = f.trend(&out, waits)
	if slots == 0 && len(waits) < leastWaits {
		return Window{Name: SteadyWindow, Absent: true, Method: fmt.Sprintf("fewer than %d requests were successful", leastWaits)}
	}
	if long := out.To - out.From; float64(long) < steadyShare*float64(w) {
		why := fmt.Sprintf("%s: %.3g s, less than %.0f %% of the phase", out.Method, long.Seconds(), 100*steadyShare)
		return Window{Name: SteadyWindow, Absent: true, Method: why}
	}
	return out
}

// trend cuts the beginning off a window whose requests waited longer or shorter there than ever
// after, and says how what remains changes with time.
func (f *finisher) trend(w *Window, waits []timeline.Wait) *metric.Steadiness {
	var out metric.Steadiness
	if len(waits) >= leastWaits {
		seconds := make([]float64, len(waits))
		for i := range waits {
			seconds[i] = waits[i].Seconds
		}
		if out.Cut = stat.SteadyFrom(seconds); out.Cut > 0 {
			out.CutSeconds = (waits[out.Cut].At - w.From).Seconds()
			w.From = waits[out.Cut].At
			w.Method += ", without a beginning that differs from the rest (guarded MSER-5 of the waiting times)"
		}
		if line := stat.BlockLine(stat.BlockMeans(seconds[out.Cut:])); line.Mean > 0 {
			out.Drifting, out.Drift = line.Drifting(), line.Rise/line.Mean
		}
	}
	var levels [stat.Blocks]float64
	bounds := make([]time.Duration, stat.Blocks+1)
	for i := range bounds {
		bounds[i] = w.From + time.Duration(i)*(w.To-w.From)/stat.Blocks
	}
	f.sweep.Cut(catalogue.Concurrency, bounds, func(i int, ws []timeline.Weight) { levels[i] = meanWeight(ws) })
	line := stat.BlockLine(levels)
	out.Growing, out.Growth = line.Growing(), line.Rise
	return &out
}

// meanWeight returns the mean of a curve over the time that its values lasted; 0 if they did not.
func meanWeight(ws []timeline.Weight) float64 {
	var sum, seconds float64
	for _, w := range ws {
		sum += w.Value * w.Seconds
		seconds += w.Seconds
	}
	if seconds == 0 {
		return 0
	}
	return sum / seconds
}

// within returns what happened in a window.
func (f *finisher) within(w *Window) metric.Results {
	bounds := []time.Duration{w.From, w.To}
	flow := f.set.timeline.Flows(bounds)[0]
	long := (w.To - w.From).Seconds()
	t := &catalogue.Totals{Window: long, Flow: &flow}
	served, input, output := flow.Succeeded/long, flow.Input/long, flow.Output/long
	if w.Name == SteadyWindow {
		served = f.completions(bounds, served)
		input *= unbiased(served, flow.Succeeded/long)
		if !f.set.opts.Streaming { // else tokens count when they arrive
			output *= unbiased(served, flow.Succeeded/long)
		}
	}
	return f.set.collect(func(res *metric.Result, r *catalogue.Row) {
		switch r.Tag {
		case "request_throughput":
			res.Set(metric.Avg, served)
		case "output_token_throughput":
			res.Set(metric.Avg, output)
		case "input_token_throughput":
			res.Set(metric.Avg, input)
		case "total_token_throughput":
			res.Set(metric.Avg, input+output)
		case "requests_started", "requests_ended", "tokens_received":
			res.Set(metric.Avg, r.Total(t))
		case "effective_concurrency":
			f.sweep.Cut(catalogue.Concurrency, bounds, func(_ int, ws []timeline.Weight) { weighted(res, ws) })
		}
	})
}

// completions returns the rate of successes between two bounds, in which each success
// counts by the share of its time that lies between them; ended, the rate at which they
// ended there, if this is not known. A window that begins when the slots are full and ends
// when they no longer are holds n-(c-1) of n ends with c slots, so that their rate is too
// low. The shares have no such bias: c requests of mean length L that are always in flight
// make c/L per second, as Little's law demands.
func (f *finisher) completions(bounds []time.Duration, ended float64) float64 {
	f.sweep.Cut(catalogue.Completions, bounds, func(_ int, ws []timeline.Weight) {
		ended = meanWeight(ws)
	})
	return ended
}

// unbiased returns the factor that turns the rate of what came with the ends of requests
// into that of what they carried.
func unbiased(served, ended float64) float64 {
	if ended <= 0 {
		return 1
	}
	return served / ended
}
