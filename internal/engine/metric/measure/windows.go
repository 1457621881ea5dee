package measure

import (
	"fmt"
	"time"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/timeline"
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
	Results  metric.Results // rates of what happened in the window
}

// steadyShare is the part of a phase that a steady window must cover.
const steadyShare = 0.3

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
	out := Window{Name: SteadyWindow}
	found := false
	if slots := f.parts[0].Slots; slots > 0 {
		out.From, out.To, found = f.sweep.At(float64(slots))
		out.Method = fmt.Sprintf("first to last instant with %d requests in flight", slots)
		if !found {
			out.Method = fmt.Sprintf("there were never %d requests in flight", slots)
		}
	} else {
		out.From, found = f.set.timeline.Settled()
		out.To = from + w
		if end := f.parts[0].Phase.SentEnd; end > out.From && end < out.To {
			out.To = end
		}
		out.Method = "MSER-5 of the waiting times of requests, to the last start of one"
		if !found {
			out.Method = "MSER-5: the waiting times of requests did not settle in the first half of them, or there were fewer than 50"
		}
	}
	switch long := out.To - out.From; {
	case !found:
		out.Absent = true
	case float64(long) < steadyShare*float64(w):
		out.Absent = true
		out.Method = fmt.Sprintf("%s: %.3g s, less than 30 %% of the phase", out.Method, long.Seconds())
	}
	if out.Absent {
		out.From, out.To = 0, 0
	}
	return out
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
		var sum, seconds float64
		for _, w := range ws {
			sum += w.Value * w.Seconds
			seconds += w.Seconds
		}
		if seconds > 0 {
			ended = sum / seconds
		}
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
