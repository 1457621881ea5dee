package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/engine/verdict"
)

// clientFamilies are the metrics of a run about the load generator itself.
type clientFamilies struct {
	verdict, cores, available, busy, undelivered, bias *prometheus.Desc

	lags []lagFamily
}

// lagFamily is a distribution of lags, exported as gauges of some statistics.
type lagFamily struct {
	desc *prometheus.Desc
	of   func(*verdict.Report) *verdict.Lag
}

func newClientFamilies() clientFamilies {
	lag := func(name, help string, of func(*verdict.Report) *verdict.Lag) lagFamily {
		return lagFamily{family("aiperf_client_"+name+"_seconds", help, "run_id", "stat"), of}
	}
	return clientFamilies{
		verdict: family("aiperf_client_verdict",
			"1 for the current verdict on the load generator, 0 for the others. Absent without a successful request.", "run_id", "verdict"),
		cores:     family("aiperf_client_cpu_cores", "Average number of CPU cores used by the load generator.", "run_id"),
		available: family("aiperf_client_cpu_available_cores", "CPU cores available to the load generator.", "run_id"),
		busy: family("aiperf_client_cpu_busy_ratio",
			"Share of the window with more than 80 percent of the available CPU in use.", "run_id"),
		undelivered: family("aiperf_client_undelivered_ratio",
			"Share of the requested load that the load generator failed to send.", "run_id"),
		bias: family("aiperf_client_bias_seconds",
			"Upper bound of the error caused by the load generator: at most half of the values are off by more than p50, at most one percent by more than p99.",
			"run_id", "metric", "stat"),
		lags: []lagFamily{
			lag("tick_lag", "Delay of a periodic timer of the load generator.",
				func(r *verdict.Report) *verdict.Lag { return r.TickLag }),
			lag("sched_latency", "Time that goroutines were runnable before they ran.",
				func(r *verdict.Report) *verdict.Lag { return r.Scheduler }),
			lag("gc_pause", "Pauses of the garbage collector.",
				func(r *verdict.Report) *verdict.Lag { return r.GCPause }),
			lag("schedule_lag", "Delay of request starts caused by the load generator.",
				func(r *verdict.Report) *verdict.Lag { return r.ScheduleLag }),
			lag("send_lag", "Time from the start of a request until it was written, without handshakes.",
				func(r *verdict.Report) *verdict.Lag { return r.SendLag }),
			lag("rx_stamp_lag", "Time from the kernel receive timestamp until the bytes were processed.",
				func(r *verdict.Report) *verdict.Lag { return r.StampLag }),
		},
	}
}

// all returns the descriptions.
func (f *clientFamilies) all() []*prometheus.Desc {
	out := []*prometheus.Desc{f.verdict, f.cores, f.available, f.busy, f.undelivered, f.bias}
	for _, l := range f.lags {
		out = append(out, l.desc)
	}
	return out
}

// judgement emits the verdict on the client and its evidence.
func (e *emitter) judgement(id string, r *verdict.Report) {
	f := &e.client
	for _, level := range verdict.Levels() {
		value := 0.0
		if level == r.Verdict {
			value = 1
		}
		e.gauge(f.verdict, value, id, string(level))
	}
	if c := r.CPU; c != nil {
		e.gauge(f.cores, c.UsedCores, id)
		e.gauge(f.available, c.AvailableCores, id)
		e.gauge(f.busy, c.BusyShare, id)
	}
	if r.Rates != nil && r.Rates.Undelivered != nil {
		e.gauge(f.undelivered, *r.Rates.Undelivered, id)
	}
	const second = 1e3 // milliseconds
	for _, b := range r.Bias {
		e.gauge(f.bias, b.P50/second, id, b.Metric, "p50")
		e.gauge(f.bias, b.P99/second, id, b.Metric, "p99")
	}
	for _, l := range f.lags {
		if lag := l.of(r); lag != nil {
			e.gauge(l.desc, lag.P50/second, id, "p50")
			e.gauge(l.desc, lag.P99/second, id, "p99")
			e.gauge(l.desc, lag.Max/second, id, "max")
		}
	}
}
