package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/view"
)

// Report is the judgement of one window, or of a run, with what it is based on. It
// encodes to JSON without loss. Times are in milliseconds. Null means that the
// platform does not expose the value, or that there was nothing to measure.
type Report struct {
	Verdict Level    `json:"verdict"`
	Reasons []Reason `json:"reasons"` // which numbers are affected, and why; never null
	// Evidence is the signs of a busy client: possible causes. Without a reason, no
	// number is affected. Never null.
	Evidence []Sign `json:"evidence"`
	Bias     []Bias `json:"bias"`  // never null
	Phase    string `json:"phase"` // phase of the figures below; for a run, its worst phase

	Window      float64    `json:"window_sec"` // duration of the self-monitoring
	TickLag     *Lag       `json:"tick_lag"`
	Scheduler   *Lag       `json:"scheduler_latency"`
	GCPause     *Lag       `json:"gc_pause"`
	ScheduleLag *Lag       `json:"schedule_lag"` // without the time spent waiting for a free slot
	SendLag     *Lag       `json:"send_lag"`
	StampLag    *Lag       `json:"receive_stamp_lag"`
	StampSource string     `json:"stamp_source"` // kernel, read, mixed; empty = no response
	Rates       *Rates     `json:"rates"`
	CPU         *Processor `json:"cpu"`
	RSS         *int64     `json:"rss_bytes"`
	Network     *Use       `json:"network,omitempty"` // of the machine; nil = unknown

	Phases []Report `json:"phases,omitempty"` // if the run has several profiling phases

	Certificate *Certificate `json:"certificate,omitempty"` // if the run requested one
}

// Lag is a distribution of lags.
type Lag struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean_ms"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// Rates compare the requested load with the load that was sent.
type Rates struct {
	Offered   *float64 `json:"offered_per_sec"` // null in a closed loop, which has no rate
	Delivered *float64 `json:"delivered_per_sec"`
	// Undelivered is the share of the load that the client failed to send; null
	// if a concurrency limit held requests back.
	Undelivered *float64 `json:"undelivered_share"`
}

// Processor is the use of processors.
type Processor struct {
	UsedCores      float64  `json:"used_cores"`
	AvailableCores float64  `json:"available_cores"` // the least of processors, quota and GOMAXPROCS
	BusyShare      float64  `json:"busy_share"`      // of the window, above 80 % of them
	QuotaCores     *float64 `json:"quota_cores"`     // null = none
	ThrottledShare *float64 `json:"throttled_share"` // of the window
	RunQueueWait   *float64 `json:"run_queue_wait_mean_ms"`
	MachineCores   *int     `json:"machine_cores"`
	MachineIdle    *float64 `json:"machine_idle_share"`
	OtherCores     *float64 `json:"other_processes_cores"`
	StealShare     *float64 `json:"steal_share"`
	Governor       string   `json:"governor,omitempty"`      // of their frequency
	MHz            *float64 `json:"frequency_mhz,omitempty"` // their mean frequency at the end of the window
}

// Use is the use of the network of the machine.
type Use struct {
	ReceiveDrops *int64   `json:"receive_queue_drops"` // segments for which a receive queue had no room
	Softnet      *int64   `json:"softnet_drops"`       // packets for which the kernel had no room
	Interfaces   []NICUse `json:"interfaces"`          // whose speed is known
	BusyShare    float64  `json:"busy_share"`          // of the window, with an interface above 80 % of its speed
	PortsShare   *float64 `json:"local_ports_share"`   // in use at the end; null = less than half of them
	ShortShare   float64  `json:"ports_short_share"`   // of the window, with more than 80 % of the local ports in use
	Conntrack    *float64 `json:"conntrack_share"`     // of the table of tracked connections at the end; null = there is none
}

// NICUse is the use of an interface.
type NICUse struct {
	Name     string  `json:"name"`
	Speed    float64 `json:"mbit_per_sec"` // each way
	Received float64 `json:"received_share"`
	Sent     float64 `json:"sent_share"`
}

// Overall combines the judgements of the phases of a run: the worst level, all
// reasons, the largest bias of each metric, and the figures of the worst phase.
// Without phases the verdict is unknown.
func Overall(phases []Report) Report {
	if len(phases) == 0 {
		return Report{Verdict: Unknown, Reasons: []Reason{}, Evidence: []Sign{}, Bias: []Bias{}}
	}
	r := slices.MaxFunc(phases, func(a, b Report) int { return cmp.Compare(a.Verdict.rank(), b.Verdict.rank()) })
	if len(phases) == 1 {
		return r
	}
	r.Reasons, r.Evidence, r.Bias = []Reason{}, []Sign{}, []Bias{}
	for i := range phases {
		r.Reasons = append(r.Reasons, phases[i].Reasons...)
		r.Evidence = append(r.Evidence, phases[i].Evidence...)
		r.Bias = mergeBias(r.Bias, phases[i].Bias)
	}
	r.Phases = phases
	return r
}

// measures sets the figures.
func (r *Report) measures(o *Observation) {
	s, l := &o.Self, &o.Load
	r.Window = round(s.Window.Seconds())
	r.TickLag, r.Scheduler, r.GCPause = lag(&s.Ticks), lag(s.Scheduler), lag(s.Pauses)
	r.ScheduleLag, r.SendLag, r.StampLag = lag(&l.Schedule), lag(&l.Send), lag(l.StampLag)
	switch {
	case l.Kernel > 0 && l.Read > 0:
		r.StampSource = "mixed"
	case l.Kernel > 0:
		r.StampSource = "kernel"
	case l.Read > 0:
		r.StampSource = "read"
	}
	r.Rates = rates(l)
	r.CPU = processor(s)
	if s.RSS > 0 {
		r.RSS = &s.RSS
	}
	r.Network = newUse(s)
}

// newUse returns the use of the network; nil = unknown.
func newUse(s *Self) *Use {
	n := s.Network
	if n == nil || s.Window <= 0 {
		return nil
	}
	share := func(d time.Duration) float64 { return round(float64(d) / float64(s.Window)) }
	out := &Use{
		ReceiveDrops: n.ReceiveDrops, Softnet: n.Softnet, Interfaces: []NICUse{},
		BusyShare: share(n.Busy), ShortShare: share(n.PortsShort),
	}
	if n.Ports > 0 {
		out.PortsShare = known(n.Ports)
	}
	if n.Conntrack != nil {
		out.Conntrack = known(*n.Conntrack)
	}
	for _, i := range n.Interfaces {
		const bit, mega = 8, 1e6
		out.Interfaces = append(out.Interfaces, NICUse{i.Name, i.Speed * bit / mega, round(i.Received), round(i.Sent)})
	}
	return out
}

func rates(l *Load) *Rates {
	if l.Requests == 0 {
		return nil
	}
	out := &Rates{}
	if l.Delivered > 0 {
		out.Delivered = known(l.Delivered)
	}
	if l.Open && l.Offered > 0 {
		out.Offered = known(l.Offered)
	}
	if len(delivered(l)) > 0 {
		out.Undelivered = known(undelivered(l))
	}
	return out
}

func processor(s *Self) *Processor {
	if s.CPU == nil || s.Window <= 0 {
		return nil
	}
	share := func(d time.Duration) float64 { return float64(d) / float64(s.Window) }
	p := &Processor{
		UsedCores: round(share(s.CPU.Used)), AvailableCores: round(s.CPU.Cores), BusyShare: round(share(s.CPU.Busy)),
	}
	if p.Governor = s.Governor; s.MHz > 0 {
		p.MHz = known(s.MHz)
	}
	if g := s.Cgroup; g != nil {
		p.ThrottledShare = known(share(g.Throttled))
		if g.Quota > 0 {
			p.QuotaCores = known(g.Quota)
		}
	}
	if q := s.RunQueue; q != nil && q.Slices > 0 {
		p.RunQueueWait = known(ms(q.Wait) / float64(q.Slices))
	}
	if m := s.Machine; m != nil && m.Cores > 0 {
		p.MachineCores = &m.Cores
		p.MachineIdle = known(share(m.Idle) / float64(m.Cores))
		p.OtherCores = known(share(m.Others))
		p.StealShare = known(share(m.Steal) / float64(m.Cores))
	}
	return p
}

// Line returns a summary in one line: the level, the worst reason of it, and the bound of
// the error of a latency that no reason names.
func (r *Report) Line() string {
	var facts []string
	decisive := Decisive(r.Reasons)
	if why := Why(decisive); why != "" {
		facts = append(facts, why)
	}
	i := slices.IndexFunc(r.Bias, func(b Bias) bool { return b.Metric == firstToken || b.Metric == requestLatency })
	if i >= 0 && r.Bias[i].Percentile > 0 && Of(decisive, r.Bias[i].Metric) == OK {
		b := &r.Bias[i]
		facts = append(facts, fmt.Sprintf("%s off by at most %s ms for %.0f %% of %s", nameOf(b.Metric), view.Bound(b.Judged), b.Percentile, values(b.Metric)))
	}
	if r.CPU != nil {
		facts = append(facts, fmt.Sprintf("CPU %.2f of %.3g cores", r.CPU.UsedCores, r.CPU.AvailableCores))
	}
	if len(facts) == 0 {
		return string(r.Verdict)
	}
	return string(r.Verdict) + ": " + strings.Join(facts, "; ")
}

// lag describes a histogram; nil for nil and for an empty one.
func lag(h *Histogram) *Lag {
	if h == nil || h.Count() == 0 {
		return nil
	}
	return &Lag{
		Count: h.Count(), Mean: round(ms(h.Mean())), P50: round(ms(h.Quantile(0.5))),
		P99: round(ms(h.Quantile(0.99))), Max: round(ms(h.Max())),
	}
}

// ms is a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// round keeps six decimals and replaces non-finite numbers by zero, so that they can be
// written as JSON.
func round(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return math.Round(x*1e6) / 1e6
}

func known(x float64) *float64 {
	x = round(x)
	return &x
}
