package verdict

import "slices"

// Bias bounds the error that the client itself put into the values of a metric:
// not more than half of the values are off by more than P50, and not more than
// one percent by more than P99. Values are too long, never too short, except
// those of inter_chunk_latency, which can be either.
type Bias struct {
	Metric string  `json:"metric"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Basis  string  `json:"basis"` // what the bound rests on
}

// part is one source of error: a distribution of lags that bounds it.
type part struct {
	lag   *Histogram
	draws float64 // lags that have to do with one value
	adds  float64 // how many of them can add up in its error
}

// bias bounds the errors of the metrics that lags enter.
//
// A sum of m lags exceeds the sum of their quantiles at 1-(1-p)/m in at most the
// share 1-p of the cases, however the lags depend on each other (Boole's
// inequality); so no independence is assumed.
func bias(o *Observation) []Bias {
	l := &o.Load
	out := []Bias{}
	if l.Requests == 0 {
		return out
	}
	receive, basis := receiving(o)
	latency := []part{{&l.Send, 1, 1}}
	latencyBasis := "send lag"
	if receive != nil {
		latency = append(latency, part{receive, 1, 1})
		latencyBasis += " and " + basis
	} else if l.Kernel > 0 {
		latencyBasis += "; arrivals are stamped by the kernel"
	}
	if l.TTFT > 0 {
		out = append(out, bound("time_to_first_token", latency, latencyBasis))
	}
	out = append(out, bound("request_latency", latency, latencyBasis))
	if l.TTFT > 0 {
		if receive != nil {
			// The error of a gap is the difference of those of its two stamps, which
			// is not more than the larger one.
			out = append(out, bound("inter_chunk_latency", []part{{receive, 2, 1}}, basis))
		} else {
			out = append(out, bound("inter_chunk_latency", nil, "arrivals are stamped by the kernel"))
		}
	}
	if l.Open {
		corrected := append([]part{{&l.Schedule, 1, 1}}, latency...)
		if l.TTFT > 0 {
			out = append(out, bound("corrected_time_to_first_token", corrected, "schedule lag, "+latencyBasis))
		}
		out = append(out, bound("corrected_request_latency", corrected, "schedule lag, "+latencyBasis))
	}
	return out
}

// receiving returns what bounds the lateness of receive stamps; nil if the
// kernel made them all, each for a packet of its own.
func receiving(o *Observation) (h *Histogram, basis string) {
	why := "arrivals are stamped after they were read"
	if o.Load.Read == 0 && o.Load.Kernel > 0 {
		if o.Load.Merged == 0 {
			return nil, ""
		}
		why = "events that came in one read have the stamp of the last"
	}
	if o.Self.Scheduler != nil && o.Self.Scheduler.Quantile(0.995) > o.Self.Ticks.Quantile(0.995) {
		return o.Self.Scheduler, "scheduler latency: " + why
	}
	return &o.Self.Ticks, "tick lag: " + why
}

// bound adds up the quantiles of parts.
func bound(metric string, parts []part, basis string) Bias {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.lag.Count() == 0 })
	var m float64
	for _, p := range parts {
		m += p.draws
	}
	b := Bias{Metric: metric, Basis: basis}
	for _, p := range parts {
		b.P50 += p.adds * ms(p.lag.Quantile(1-0.5/m))
		b.P99 += p.adds * ms(p.lag.Quantile(1-0.01/m))
	}
	b.P50, b.P99 = round(b.P50), round(b.P99)
	return b
}

// mergeBias keeps the larger bound of each metric.
func mergeBias(a, b []Bias) []Bias {
	for _, x := range b {
		i := slices.IndexFunc(a, func(y Bias) bool { return y.Metric == x.Metric })
		switch {
		case i < 0:
			a = append(a, x)
		case x.P99 > a[i].P99:
			a[i] = x
		}
	}
	return a
}
