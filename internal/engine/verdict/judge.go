package verdict

import (
	"fmt"
	"time"
)

// Level is how far the numbers of a window can be trusted.
type Level string

// The levels, best first. Unknown means that nothing was measured.
const (
	OK      Level = "ok"
	Suspect Level = "suspect"
	Invalid Level = "invalid"
	Unknown Level = "unknown"
)

// Levels lists the levels in that order.
func Levels() []Level { return []Level{OK, Suspect, Invalid, Unknown} }

// rank orders levels by how bad they are. Not knowing is worse than ok, and
// better than knowing that something is wrong.
func (l Level) rank() int {
	switch l {
	case OK:
		return 0
	case Unknown:
		return 1
	case Suspect:
		return 2
	case Invalid:
		return 3
	}
	return 1
}

// worse returns the worse of two levels.
func worse(a, b Level) Level {
	if a.rank() >= b.rank() {
		return a
	}
	return b
}

// Reason is one cause of a level other than ok.
type Reason struct {
	Code   string  `json:"code"` // kebab-case, stable
	Level  Level   `json:"level"`
	Phase  string  `json:"phase"`
	Metric string  `json:"metric"` // what was measured
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"` // above it the client is suspect, above five times it invalid
	Unit   string  `json:"unit"`  // of value and limit: ms or ratio
	// Share is the part of the window, or of the observations, that was above the
	// limit: 0 to 1.
	Share   float64 `json:"share"`
	Message string  `json:"message"` // for people
}

// The limits. Five times as much makes a window invalid.
const (
	tickLimit     = 2 * time.Millisecond
	rxLimit       = time.Millisecond
	scheduleLimit = time.Millisecond
	pauseLimit    = 2 * time.Millisecond
	waitLimit     = 200 * time.Microsecond // mean wait of a thread for a processor
	busyLimit     = 0.05                   // share of the window with the processors in full use
	shortLimit    = 0.01                   // share of the load that was asked for and not delivered
	stealLimit    = 0.05                   // share of the machine that the hypervisor took
	invalidFactor = 5
)

// finding is one comparison of something measured with its limit.
type finding struct {
	code, metric, unit  string
	value, limit, share float64
	level               Level
	text                string
}

// above returns the level of a ratio against its limit.
func above(value, limit float64) Level {
	switch {
	case value > invalidFactor*limit:
		return Invalid
	case value > limit:
		return Suspect
	}
	return OK
}

// Judge compares one window with the limits.
func Judge(o *Observation) Report {
	r := Report{Phase: o.Phase, Verdict: OK, Reasons: []Reason{}, Bias: bias(o)}
	r.measures(o)
	if o.Self.Ticks.Count() == 0 {
		r.Verdict = Unknown
	}
	for _, f := range findings(o) {
		if f.level == OK {
			continue
		}
		r.Verdict = worse(r.Verdict, f.level)
		r.Reasons = append(r.Reasons, Reason{
			Code: f.code, Level: f.level, Phase: o.Phase, Metric: f.metric, Value: round(f.value), Limit: round(f.limit),
			Unit: f.unit, Share: round(f.share), Message: f.text,
		})
	}
	return r
}

// findings makes every comparison that the observation allows.
func findings(o *Observation) []finding {
	s, l := &o.Self, &o.Load
	out := []finding{late("tick-lag", "tick_lag_p99", &s.Ticks, tickLimit,
		"a goroutine that asked to be woken was woken late: the client did not get a processor in time")}
	if s.Scheduler != nil {
		out = append(out, late("scheduler-latency", "scheduler_latency_p99", s.Scheduler, tickLimit,
			"goroutines were ready and did not run: more of them than processors (GOMAXPROCS)"))
	}
	if s.Pauses != nil {
		out = append(out, late("gc-pause", "gc_pause_p99", s.Pauses, pauseLimit,
			"the garbage collector stopped the client"))
	}
	out = append(out, schedule(l))
	if l.StampLag != nil {
		out = append(out, received(l))
	}
	out = append(out, delivered(l)...)
	return append(out, processors(s)...)
}

// late compares the p99 of a lag with a limit: it is above if more than one
// percent of the lags are, and at least two, since a single one is not a share
// of anything.
func late(code, metric string, h *Histogram, limit time.Duration, text string) finding {
	f := finding{code: code, metric: metric, unit: "ms", limit: ms(limit), level: OK, text: text}
	n := h.Count()
	if n == 0 {
		return f
	}
	many := func(limit time.Duration) bool {
		k := h.Above(limit)
		return k >= 2 && 100*k > n
	}
	f.value, f.share = ms(h.Quantile(0.99)), float64(h.Above(limit))/float64(n)
	switch {
	case many(invalidFactor * limit):
		f.level = Invalid
	case many(limit):
		f.level = Suspect
	}
	return f
}

// schedule judges how late requests were started.
func schedule(l *Load) finding {
	limit := max(scheduleLimit, l.Interval/20)
	text := "requests started later than their slot was free: the load was lighter than asked for"
	if l.Open {
		text = "requests started later than they were due: latencies from the start do not see this wait, the corrected ones do"
	}
	return late("schedule-lag", "schedule_lag_p99", &l.Schedule, limit, text)
}

// received judges how late bytes were handled that the kernel had received. With
// the kernel's stamps on all of them no latency is wrong because of it; it only
// says that the client has little room left.
func received(l *Load) finding {
	limit := max(rxLimit, l.TTFT/100)
	f := late("receive-stamp-lag", "receive_stamp_lag_p99", l.StampLag, limit,
		"responses were handled late, and their stamps are those of the late read: latencies are too long")
	if l.Read == 0 && l.Kernel > 0 {
		if f.level == Invalid {
			f.level = Suspect
		}
		f.text = "responses were handled late; their stamps are the kernel's, so no latency is wrong because of it, but the client has little room left"
	}
	return f
}

// delivered judges the load that went out against the load that was asked for.
func delivered(l *Load) []finding {
	var f finding
	switch {
	case l.Open && !l.Capped && l.Offered > 0:
		f = ratio("rate-not-delivered", "undelivered_share", 1-l.Delivered/l.Offered, shortLimit,
			fmt.Sprintf("%.4g requests per second were due and %.4g were sent", l.Offered, l.Delivered))
	case !l.Open && l.Requests > 1:
		f = ratio("concurrency-not-delivered", "undelivered_share", l.Lost, shortLimit,
			fmt.Sprintf("slots were empty for %.2g %% of the time because the client was not ready: throughput is the client's limit, not the server's", 100*l.Lost))
	default:
		return nil
	}
	return []finding{f}
}

// ratio compares a share of the window with its limit.
func ratio(code, metric string, value, limit float64, text string) finding {
	return finding{
		code: code, metric: metric, unit: "ratio", value: value, limit: limit, share: max(0, min(value, 1)),
		level: above(value, limit), text: text,
	}
}

// processors judges the use of processors: by this process, by the machine, and
// by whoever has a say in it.
func processors(s *Self) []finding {
	if s.Window <= 0 {
		return nil
	}
	var out []finding
	share := func(d time.Duration) float64 { return float64(d) / float64(s.Window) }
	if c := s.CPU; c != nil {
		out = append(out, ratio("cpu-share", "cpu_busy_share", share(c.Busy), busyLimit,
			fmt.Sprintf("the client used more than 80 %% of its %.3g cores for %.0f %% of the window", c.Cores, 100*share(c.Busy))))
	}
	if m := s.Machine; m != nil && m.Cores > 0 {
		busy := ratio("machine-busy", "machine_busy_share", share(m.Crowded), busyLimit,
			fmt.Sprintf("the machine was less than 20 %% idle for %.0f %% of the window; other processes used %.2f of its %d cores",
				100*share(m.Crowded), share(m.Others), m.Cores))
		if busy.level == Invalid {
			busy.level = Suspect // whether it did harm, the lags say
		}
		out = append(out, busy, ratio("steal", "steal_share", share(m.Steal)/float64(m.Cores), stealLimit,
			"the hypervisor gave the processors of this machine to others"))
	}
	if q := s.RunQueue; q != nil && q.Slices > 0 {
		mean := ms(q.Wait) / float64(q.Slices)
		out = append(out, finding{
			code: "run-queue-wait", metric: "run_queue_wait_mean", unit: "ms", value: mean, limit: ms(waitLimit),
			share: min(share(q.Wait), 1), level: above(mean, ms(waitLimit)),
			text: "threads of the client were ready to run and waited for a processor",
		})
	}
	if g := s.Cgroup; g != nil {
		out = append(out, ratio("cpu-throttled", "cpu_throttled_share", share(g.Throttled), busyLimit,
			fmt.Sprintf("the control group stopped the client at its quota of %.3g cores", g.Quota)))
	}
	return out
}
