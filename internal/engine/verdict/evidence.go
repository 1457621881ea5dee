package verdict

import (
	"fmt"
	"slices"
	"time"

	"aiperfd/internal/view"
)

// Sign is an observation of the client that can make numbers wrong. The reasons of
// a verdict state whether it did.
type Sign struct {
	Code   string  `json:"code"` // kebab-case, stable
	Phase  string  `json:"phase"`
	Metric string  `json:"metric"` // what was measured
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"` // smaller values are normal
	Unit   string  `json:"unit"`  // of value and limit: ms, ratio or count
	// Share is the share of the window, or of the observations, above the limit:
	// 0 to 1.
	Share   float64 `json:"share"`
	Message string  `json:"message"`          // for people
	Worker  string  `json:"worker,omitempty"` // of several load generators, the one that it is about
}

// The limits of signs.
const (
	tickLimit  = 2 * time.Millisecond
	rxLimit    = time.Millisecond
	pauseLimit = 2 * time.Millisecond
	waitLimit  = 200 * time.Microsecond // mean wait of a thread for a processor
	shareLimit = 0.05                   // share of the window: processors in full use, throttled, or taken by the hypervisor
)

// signs lists the observations above their limits. accurate: no latency is affected.
func signs(o *Observation, accurate bool) []Sign {
	s, l := &o.Self, &o.Load
	var out []Sign
	lag := func(code, metric, text string, h *Histogram, limit time.Duration) {
		if h != nil && many(h, limit) {
			out = append(out, Sign{
				Code: code, Metric: metric, Unit: "ms", Value: round(ms(h.Quantile(0.99))), Limit: round(ms(limit)),
				Share:   round(float64(h.Above(limit)) / float64(h.Count())),
				Message: fmt.Sprintf(text, view.Bound(ms(h.Quantile(0.99))), view.Bound(ms(limit))),
			})
		}
	}
	lag("tick-lag", "tick_lag_p99",
		"the load generator was short of CPU: its timers fired up to %s ms late (p99, limit %s ms)", &s.Ticks, tickLimit)
	lag("scheduler-latency", "scheduler_latency_p99",
		"the load generator was short of CPU: goroutines waited up to %s ms for a processor (p99, limit %s ms)", s.Scheduler, tickLimit)
	lag("gc-pause", "gc_pause_p99",
		"garbage collection paused the load generator for up to %s ms (p99, limit %s ms)", s.Pauses, pauseLimit)
	unaffected := ""
	if l.Read == 0 && accurate {
		unaffected = "; latencies are unaffected (kernel timestamps), but the load generator is near its limit"
	}
	lag("receive-stamp-lag", "receive_stamp_lag_p99",
		"responses were processed up to %s ms late (p99, limit %s ms)"+unaffected, l.StampLag, max(rxLimit, l.TTFT/100))
	return slices.Concat(out, processors(s), machine(s))
}

// machine lists the signs of the network of the machine, and of processors that run slowly to save power.
func machine(s *Self) []Sign {
	var out []Sign
	n := s.Network
	if n == nil {
		n = &Network{}
	}
	dropped := func(code, metric string, drops *int64, text string) {
		if drops != nil && *drops > 0 {
			out = append(out, Sign{
				Code: code, Metric: metric, Value: float64(*drops), Unit: "count", Share: 0, Message: fmt.Sprintf(text, *drops),
			})
		}
	}
	dropped("receive-queue-drops", "receive_queue_drops", n.ReceiveDrops,
		"this machine dropped %d segments because the programs that they were for did not read in time")
	dropped("softnet-drops", "softnet_drops", n.Softnet,
		"this machine dropped %d packets because it did not process them in time")
	if c := n.Conntrack; c != nil && *c > scarce {
		out = append(out, Sign{
			Code: "conntrack-full", Metric: "conntrack_share", Unit: "ratio", Value: round(*c), Limit: scarce, Share: 1,
			Message: fmt.Sprintf("%s %% of the kernel's table of tracked connections are in use (limit %g %%); if it is full, connections fail",
				view.Bound(100**c), 100*scarce),
		})
	}
	if s.Governor == powerSaving {
		out = append(out, Sign{
			Code: "cpu-powersave", Metric: "cpu_governor", Unit: "ratio", Value: 1, Share: 1,
			Message: "the processors of this machine save power (governor powersave): a client that is not busy runs slowly; " +
				"cpupower frequency-set -g performance",
		})
	}
	return out
}

// The limits of machine and of [scarceNetwork].
const (
	scarce      = 0.8 // of the table of tracked connections
	powerSaving = "powersave"
)

// many reports whether more than one percent of all lags, and at least two, are above
// a limit.
func many(h *Histogram, limit time.Duration) bool {
	k := h.Above(limit)
	return k >= 2 && 100*k > h.Count()
}

// processors lists the signs of processor use by this process and the machine, and of
// the limits of hypervisor and control group.
func processors(s *Self) []Sign {
	if s.Window <= 0 {
		return nil
	}
	var out []Sign
	add := func(code, metric string, value float64, text string) {
		if value > shareLimit {
			out = append(out, Sign{
				Code: code, Metric: metric, Unit: "ratio", Value: round(value), Limit: shareLimit, Share: round(min(value, 1)), Message: text,
			})
		}
	}
	share := func(d time.Duration) float64 { return float64(d) / float64(s.Window) }
	if c := s.CPU; c != nil {
		add("cpu-share", "cpu_busy_share", share(c.Busy),
			fmt.Sprintf("the load generator used more than 80 %% of its %.3g cores for %.0f %% of the time", c.Cores, 100*share(c.Busy)))
	}
	if m := s.Machine; m != nil && m.Cores > 0 {
		add("machine-busy", "machine_busy_share", share(m.Crowded),
			fmt.Sprintf("the machine was less than 20 %% idle for %.0f %% of the time; other processes used %.2f of its %d cores",
				100*share(m.Crowded), share(m.Others), m.Cores))
		stolen := share(m.Steal) / float64(m.Cores)
		add("steal", "steal_share", stolen,
			fmt.Sprintf("the hypervisor gave %.0f %% of the processors to other machines", 100*stolen))
	}
	if q := s.RunQueue; q != nil && q.Slices > 0 {
		if mean := ms(q.Wait) / float64(q.Slices); mean > ms(waitLimit) {
			out = append(out, Sign{
				Code: "run-queue-wait", Metric: "run_queue_wait_mean", Unit: "ms", Value: round(mean), Limit: ms(waitLimit),
				Share: round(min(share(q.Wait), 1)),
				Message: fmt.Sprintf("threads of the load generator waited %s ms for a processor on average (limit %s ms)",
					view.Bound(mean), view.Bound(ms(waitLimit))),
			})
		}
	}
	if g := s.Cgroup; g != nil {
		add("cpu-throttled", "cpu_throttled_share", share(g.Throttled),
			fmt.Sprintf("the control group throttled the load generator for %.0f %% of the time (quota %.3g cores)", 100*share(g.Throttled), g.Quota))
	}
	return out
}

// scarcity says who took the processors from the load generator, and what to do about it;
// empty if nothing shows that it lacked any.
func scarcity(s *Self) (cause, remedy string) {
	if s.Window <= 0 {
		return "", ""
	}
	share := func(d time.Duration) float64 { return float64(d) / float64(s.Window) }
	if g := s.Cgroup; g != nil && share(g.Throttled) > shareLimit {
		return fmt.Sprintf("the control group throttled the client for %.0f %% of the time (quota %.3g cores)", 100*share(g.Throttled), g.Quota),
			"raise the CPU limit of the container"
	}
	m := s.Machine
	if m != nil && m.Cores > 0 {
		if stolen := share(m.Steal) / float64(m.Cores); stolen > shareLimit {
			return fmt.Sprintf("the hypervisor gave %.0f %% of the processors to other machines", 100*stolen),
				"use a machine that does not share its processors"
		}
		if share(m.Crowded) > shareLimit && (s.CPU == nil || m.Others >= s.CPU.Used) {
			return fmt.Sprintf("other processes used %.2f of the %d cores", share(m.Others), m.Cores),
				"stop the other processes, or give the client a machine or cores of its own (taskset)"
		}
	}
	if c := s.CPU; c != nil && share(c.Busy) > shareLimit {
		return fmt.Sprintf("the client itself used more than 80 %% of its %.3g cores for %.0f %% of the time", c.Cores, 100*share(c.Busy)),
			"a lower load, several clients, or a machine with more cores"
	}
	return "", ""
}
