package verdict

import (
	"fmt"
	"math"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/view"
)

// Saturation reports whether the server kept up with the rate of an open loop. Rates
// are in requests per second; a null is unknown.
type Saturation struct {
	Phase     string `json:"phase"`
	Saturated bool   `json:"saturated"` // requests arrived faster than they were served
	// LimitedBy is what limited the rate: server, concurrency (the configured limit:
	// with more concurrent requests, the server might have served more) or client;
	// empty = nothing.
	LimitedBy    string   `json:"limited_by" enums:",server,concurrency,client"`
	AskedRate    float64  `json:"asked_rate_per_sec"`    // requested rate, the mean of the arrival process
	OfferedRate  *float64 `json:"offered_rate_per_sec"`  // rate of the due times; random arrivals differ from their mean
	SentRate     *float64 `json:"sent_rate_per_sec"`     // rate at which requests were sent
	AchievedRate *float64 `json:"achieved_rate_per_sec"` // rate of successful requests over the whole window
	// BacklogMax is the maximum number of requests that were due but had not
	// returned, in flight or waiting for a slot.
	BacklogMax int64 `json:"backlog_max"`
	// Cut is the number of requests that were due but got no response because the
	// phase ended, and CutShare their share of all that were due. Percentiles are
	// lower bounds without them.
	Cut      int64   `json:"cut_requests"`
	CutShare float64 `json:"cut_share"`
	// Dropped is the number of requests that were due and not sent, because no slot was
	// free; the saturation of the plan is drop.
	Dropped int64  `json:"dropped_requests"`
	Message string `json:"message"` // one sentence
}

// Demand is what an open loop requested of a server, and what was served.
type Demand struct {
	Rate float64 // mean of the plan so far, in requests per second
	// Rising is the rate of the plan at the last arrival, as a multiple of Rate.
	Rising float64
	// Smoothness of the arrivals: below 1 they come in bursts, 1 is a Poisson process.
	Smoothness float64
	Capped     bool // a concurrency limit held arrivals back
	Stats      *bench.PhaseStats
	Tally      *Tally
	Load       *Load
}

// The limits of an open loop without saturation. The queue of a server that keeps up
// grows and shrinks; otherwise it grows with time.
const (
	queueLeast   = 10   // requests
	queueShare   = 0.05 // of all that were due: the server falls behind by so much
	queueNoise   = 2    // standard deviations of a count of arrivals
	settled      = 4    // latencies of the first requests: a shorter load has no steady state
	slower       = 2    // times the latency of the first requests
	steep        = 2    // seconds of latency more for each second of load
	cutShare     = 0.05 // of all that were due
	cutMore      = 0.5  // of the last requests took longer than all had time, beyond those of the first
	offeredApart = 0.05 // from the requested rate
)

// Saturate judges an open loop.
func Saturate(d *Demand) *Saturation {
	s, a := d.Stats, &d.Stats.Arrivals
	out := &Saturation{Phase: s.Name, AskedRate: round(d.Rate), BacklogMax: a.QueueMax, Dropped: a.Dropped}
	if span := a.Last - a.First; span > 0 && a.Used > 1 {
		out.OfferedRate = known(float64(a.Used-1) / span.Seconds())
	}
	if d.Load.Delivered > 0 {
		out.SentRate = known(d.Load.Delivered)
	}
	if w := s.Window(s.LastUpdate); w > 0 {
		out.AchievedRate = known(float64(d.Tally.succeeded) / w.Seconds())
	}
	if s.RequestsEnd != 0 {
		out.Cut = s.Cancelled + s.Backlog
		out.CutShare = round(ratio(float64(out.Cut), float64(a.Used)))
	}
	switch {
	case a.Dropped > 0 && float64(a.Dropped) >= cutShare*float64(a.Used):
		out.Saturated, out.LimitedBy = true, "concurrency"
	case d.growing():
		out.Saturated, out.LimitedBy = true, "server"
		if d.Capped {
			out.LimitedBy = "concurrency"
		}
	case !d.Capped && d.Load.Late > lateEnd && d.Load.Offered > 0 && undelivered(d.Load) > rateTolerance:
		out.LimitedBy = "client"
	}
	out.Message = out.sentence()
	if !out.Saturated && s.RequestsEnd != 0 {
		out.Message += ": " + d.outcome(out)
	}
	return out
}

// growing reports whether the queue grew for as long as requests came. The latency of
// the first requests is that without a queue, or with a shorter one.
func (d *Demand) growing() bool {
	a, t := &d.Stats.Arrivals, d.Tally
	span, first := a.Last-a.First, t.first.mean()
	over := d.Stats.RequestsEnd != 0
	switch {
	case a.Queue < queueLeast || span <= 0:
		return false
	case t.succeeded == 0:
		return over
	case span >= settled*first:
		return d.fallingBehind(span, first)
	case !over: // too early
		return false
	case float64(d.Stats.Cancelled+d.Stats.Backlog) >= cutShare*float64(a.Used):
		had := d.Stats.RequestsEnd - a.Last
		return t.last.above(had)-t.first.above(had) >= cutMore
	}
	last := t.last.mean()
	return last >= slower*first && last-first >= steep*span
}

// fallingBehind compares the queue at the last request with the one that would exist
// if every request took as long as the first ones (Little's law), and with the queue
// in the first half. It must still grow at the end: a server that batches takes
// longer under load, until its queue is stable.
func (d *Demand) fallingBehind(span, first time.Duration) bool {
	a := &d.Stats.Arrivals
	n, queue := float64(a.Used), float64(a.Queue)
	steady := (n - 1) / span.Seconds() * max(1, d.Rising) * first.Seconds()
	at, then := a.Before()
	excess := min(queue-steady, float64(a.Queue-then)*n/float64(a.Used-at))
	if m, growth, ok := a.Lately(); ok && float64(growth) < queueShare*float64(m) {
		return false // it is stable
	}
	noise := queueNoise * math.Sqrt(n*max(1, 1/d.Smoothness))
	return queue >= slower*steady && excess >= max(queueShare*n, noise)
}

// outcome says what became of the requests of a phase that has ended and is not saturated. That the
// server kept up is not known: a short load has no queue to see.
func (d *Demand) outcome(s *Saturation) string {
	text := "no sign that the server fell behind"
	switch {
	case d.Tally.succeeded == 0:
		text = "no request succeeded"
	case s.CutShare >= cutShare:
		text = fmt.Sprintf("%s %% of the requests were cut off, so the server may have fallen behind", view.Bound(100*s.CutShare))
	case s.LimitedBy == "client":
		text = "the load generator was late, so the server had less to do"
	case d.Stats.BacklogMax > 0:
		text = fmt.Sprintf("the concurrency limit made up to %s wait, so whether the server would have kept up is not known",
			view.Plural(d.Stats.BacklogMax, "request"))
	case d.Capped:
		text = "the prefill concurrency limit may have made requests wait, so whether the server would have kept up is not known"
	}
	if failed := d.Stats.Errors; failed > 0 {
		text += fmt.Sprintf("; %s failed", view.Plural(failed, "request"))
	}
	if s.Dropped > 0 {
		text += fmt.Sprintf("; %s dropped", view.Plural(s.Dropped, "request"))
	}
	return text
}

// sentence returns the message; of a load that is not saturated, how it begins.
func (s *Saturation) sentence() string {
	text := "asked " + PerSecond(s.AskedRate)
	if s.SentRate != nil && !s.Saturated {
		text += ", sent " + PerSecond(*s.SentRate)
	}
	if !s.Saturated {
		return text
	}
	served := 0.0
	if s.AchievedRate != nil {
		served = *s.AchievedRate
	}
	if s.Dropped > 0 {
		return text + fmt.Sprintf(", served %s: the server cannot serve this rate within the concurrency limit; %s requests were dropped", PerSecond(served), view.Whole(s.Dropped))
	}
	text += fmt.Sprintf(", served %s, the queue grew to %s: ", PerSecond(served), view.Whole(s.BacklogMax))
	bounds := "percentiles are lower bounds"
	if served == 0 {
		return text + "the server finished no request"
	}
	if s.LimitedBy == "concurrency" {
		text += "the server cannot serve this rate within the concurrency limit"
		bounds = "corrected percentiles are lower bounds"
	} else {
		text += "the server is saturated"
	}
	if s.Cut > 0 {
		return text + fmt.Sprintf("; %s (%s %% of the requests were cut off)", bounds, view.Bound(100*s.CutShare))
	}
	return text + "; " + bounds + " (latencies grow for as long as the load lasts)"
}

// CutOff returns a message if the grace period cut off many requests of an open loop
// that is not known to be saturated; otherwise it is empty.
func (s *Saturation) CutOff() string {
	if s.Saturated || s.CutShare < cutShare || s.AchievedRate == nil {
		return ""
	}
	return fmt.Sprintf("asked %s, served %s, the queue grew to %s: %s %% of the requests were cut off when the grace period ended, "+
		"so the server is saturated, or the run is shorter than its latency; percentiles are lower bounds",
		PerSecond(s.AskedRate), PerSecond(*s.AchievedRate), view.Whole(s.BacklogMax), view.Bound(100*s.CutShare))
}

// PerSecond formats a rate with at least three digits.
func PerSecond(x float64) string {
	if x >= 100 {
		return view.Whole(int64(math.Round(x))) + "/s"
	}
	return fmt.Sprintf("%.3g/s", x)
}

// Apart reports whether the rate of random arrivals differs from the requested one.
func (s *Saturation) Apart() bool {
	return s.OfferedRate != nil && math.Abs(*s.OfferedRate-s.AskedRate) > offeredApart*s.AskedRate
}

// ends holds the latencies of the requests with the smallest keys: those that were due
// first, or last if the keys are negative.
type ends struct {
	keys, took [8]time.Duration // ascending by key
	n          int
}

// add adds a request.
func (e *ends) add(key, took time.Duration) {
	i := e.n
	for i > 0 && e.keys[i-1] > key {
		i--
	}
	if i == len(e.keys) {
		return
	}
	copy(e.keys[i+1:], e.keys[i:])
	copy(e.took[i+1:], e.took[i:])
	e.keys[i], e.took[i] = key, took
	e.n = min(e.n+1, len(e.keys))
}

// mean returns their mean latency; 0 without any.
func (e *ends) mean() time.Duration {
	if e.n == 0 {
		return 0
	}
	var sum time.Duration
	for _, d := range e.took[:e.n] {
		sum += d
	}
	return sum / time.Duration(e.n)
}

// above returns the share of them that took at least d.
func (e *ends) above(d time.Duration) float64 {
	n := 0
	for _, took := range e.took[:e.n] {
		if took >= d {
			n++
		}
	}
	return ratio(float64(n), float64(e.n))
}
