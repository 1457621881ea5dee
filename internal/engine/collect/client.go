package collect

import (
	"time"

	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/verdict"
)

// Client observes whether the load generator keeps up with a phase. The results of its
// last look are in its fields, which may be read by the recorder's goroutine, or after
// it has ended.
type Client struct {
	Tally      verdict.Tally
	Self       *verdict.Self
	Report     *verdict.Report     // nil without a success
	Saturation *verdict.Saturation // nil for a closed loop and for a replay

	options ClientOptions
	mark    *monitor.Mark // nil = the phase does not enter the result
	gauge   *monitor.Gauge
	stamps  verdict.Histogram
}

// ClientOptions configure a [Client].
type ClientOptions struct {
	Phase    *spec.Phase
	Monitor  *monitor.Monitor // nil = nothing is observed
	InFlight func() int64     // requests
	// Objectives are the metrics that the run has objectives of.
	Objectives []string
	// StampLag returns how long received bytes waited for the client since the run
	// began, by the kernel's stamps; nil = the transport does not measure it.
	StampLag func() verdict.Histogram
	// Path returns how many responses of the phase a loss on the network has concerned so far, or last if all
	// are in; nil = it is not known.
	Path func(last bool) *verdict.Path
}

// NewClient returns the client of a phase.
func NewClient(o ClientOptions) *Client {
	return &Client{options: o, Tally: verdict.Tally{Replay: verdict.NewReplay(o.Phase.Lanes != nil)}}
}

// Observer returns what observes the phase.
func (c *Client) Observer() Observer {
	return Observer{Begin: c.begin, Observe: c.Tally.Observe, Look: c.look}
}

// Counted reports whether the phase enters the result, so that the client must keep up
// with it.
func (c *Client) Counted() bool { return c.mark != nil }

// begin opens the window.
func (c *Client) begin(p Load) {
	o := &c.options
	if o.Monitor == nil || !o.Phase.Counted() {
		return
	}
	if o.StampLag != nil {
		c.stamps = o.StampLag()
	}
	c.mark = o.Monitor.Mark()
	c.Tally.Begin(p.Start())
	c.gauge = o.Monitor.Watch(o.InFlight)
}

// look judges the window so far. The last look closes the
// window. Without a successful request there is no judgement.
func (c *Client) look(l *Look) {
	o := &c.options
	if c.mark == nil || !l.Fresh {
		return
	}
	if l.Stats.RequestsEnd != 0 {
		o.Monitor.Unwatch(c.gauge)
	}
	self := o.Monitor.Since(c.mark, c.gauge)
	c.Self = &self
	asked := verdict.Asked{
		Open: o.Phase.Open(), Limited: o.Phase.Prefill > 0, BacklogMax: l.Stats.BacklogMax,
		TTFT: median(l.Metrics, "time_to_first_token"), Latency: median(l.Metrics, "request_latency"),
		CorrectedTTFT:    median(l.Metrics, "corrected_time_to_first_token"),
		CorrectedLatency: median(l.Metrics, "corrected_request_latency"),
	}
	observed := verdict.Observation{Phase: o.Phase.Name, Self: self, Load: c.Tally.Load(asked), Objectives: o.Objectives}
	if o.Phase.Arrivals != nil && !o.Phase.PerSession && !o.Phase.InTurns {
		mean, last := o.Phase.RateUntil(l.Stats.Arrivals.Last - l.Stats.Start)
		c.Saturation = verdict.Saturate(&verdict.Demand{
			Rate: mean, Rising: last / mean, Smoothness: o.Phase.Smoothness, Capped: observed.Load.Capped, Stats: &l.Stats, Tally: &c.Tally, Load: &observed.Load,
		})
	}
	if !c.Tally.Succeeded() {
		return // there are no numbers that could be wrong
	}
	if o.StampLag != nil {
		now := o.StampLag()
		lag := now.Since(&c.stamps)
		observed.Load.StampLag = &lag
	}
	if o.Path != nil {
		observed.Path = o.Path(l.Last)
	}
	report := verdict.Judge(&observed)
	c.Report = &report
}

// median returns the median of a latency; 0 = unknown.
func median(live metric.Results, tag string) time.Duration {
	if m := live.Find(tag); m != nil {
		if v, ok := m.Get(metric.P50); ok {
			return time.Duration(v * float64(time.Millisecond))
		}
	}
	return 0
}
