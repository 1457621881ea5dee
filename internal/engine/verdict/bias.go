package verdict

import (
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/metric"
)

// Bias bounds the error that the client added to the values of a metric: at most half
// of the values are off by more than P50, and at most one percent by more than P99.
// Values are too large, never too small, except those of inter_chunk_latency, which
// can be either.
type Bias struct {
	Metric string  `json:"metric"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Basis  string  `json:"basis"` // what the bound is derived from
	// Judged is the error that the verdict compares with Limit: the bound at Percentile,
	// the highest one in percent that the number of values supports, or the mean error if
	// that is more.
	Judged     float64 `json:"judged_ms"`
	Percentile float64 `json:"percentile"`
	Limit      float64 `json:"limit_ms"`
}

// number is a metric with the sources of error of its values.
type number struct {
	tag     string
	typical time.Duration // value; 0 = unknown
	count   int64         // of values
	parts   []part
	basis   string
	least   time.Duration // tolerance, however short the values are
}

// part is one source of error, bounded by a distribution of lags.
type part struct {
	lag   *Histogram
	draws float64 // lags that enter one value
	share float64 // of the values that can have this error

	code, metric, text string // of its reason
	sure               bool   // the lag is certainly the client's
}

// bias bounds the errors of the metrics that lags enter.
func bias(o *Observation) []Bias {
	out := []Bias{}
	for _, n := range numbers(o) {
		out = append(out, Bias{
			Metric: n.tag, P50: round(ms(n.at(0.5))), P99: round(ms(n.at(0.99))), Basis: n.basis,
			Judged: round(ms(n.err())), Percentile: wholePercent(n.supported()), Limit: round(ms(n.limit())),
		})
	}
	return out
}

// numbers lists the metrics that lags enter.
func numbers(o *Observation) []number {
	l := &o.Load
	if l.Requests == 0 {
		return nil
	}
	send := part{
		lag: &l.Send, draws: 1, share: 1, code: "send-lag", metric: "send_lag_p99",
		text: "requests were slow to send (socket writes)", // includes a slow network, so never sure
	}
	first, firstBasis := receiving(o, l.MergedFirst, l.Streams, 1)
	// The last event of a read has its own timestamp. What a stream sends after
	// its content usually comes with it.
	last, lastBasis := receiving(o, 0, l.Gaps, 1)
	gap, gapBasis := receiving(o, l.Merged, l.Gaps, 2)
	ttft := number{firstToken, l.TTFT, l.Requests, append([]part{send}, first...), "send lag" + joint(firstBasis), latencyTolerance}
	latency := number{requestLatency, l.Latency, l.Requests, append([]part{send}, last...), "send lag" + joint(lastBasis), latencyTolerance}
	var out []number
	if l.TTFT > 0 {
		out = append(out, ttft)
	}
	out = append(out, latency)
	if l.TTFT > 0 {
		out = append(out, number{chunkGap, l.Gap, l.Gaps, gap, gapBasis, latencyTolerance})
	}
	if !l.Open {
		return out
	}
	late := part{
		lag: &l.Schedule, draws: 1, share: 1, sure: true, code: "schedule-lag", metric: "schedule_lag_p99",
		text: "requests were sent late; latencies from the start of a request do not include this wait, the corrected ones do",
	}
	for _, n := range []number{ttft, latency} {
		if n.tag == ttft.tag && l.TTFT == 0 {
			continue
		}
		// Both delays are the client's: until the request starts, and until it is written.
		typical := l.CorrectedLatency
		if n.tag == ttft.tag {
			typical = l.CorrectedTTFT
		}
		out = append(out, number{correctedPrefix + n.tag, max(n.typical, typical), n.count, append([]part{late}, n.parts...), "schedule lag, " + n.basis, 2 * latencyTolerance})
	}
	return out
}

// joint appends a second basis to "send lag".
func joint(basis string) string {
	if basis == stamped {
		return "; " + basis
	}
	return " and " + basis
}

// stamped is the basis of timestamps of the kernel.
const stamped = "arrivals are stamped by the kernel"

// wakeUps returns the bound of how late a goroutine that waits for a response runs:
// tick lag or scheduler latency, whichever is longer.
func wakeUps(s *Self) (lag *Histogram, name string) {
	if s.Scheduler != nil && s.Scheduler.Quantile(0.995) > s.Ticks.Quantile(0.995) {
		return s.Scheduler, "scheduler latency"
	}
	return &s.Ticks, "tick lag"
}

// receiving returns the sources of error of values that end with the timestamp of a
// received event, of which merged out of all came in one read with the next event;
// none if the timestamps are the kernel's, each of its own packet.
func receiving(o *Observation, merged, all int64, draws float64) (parts []part, basis string) {
	lag, name := wakeUps(&o.Self)
	p := part{lag: lag, draws: draws, share: 1, sure: true, code: "tick-lag", metric: "tick_lag_p99"}
	what := "its timers fired late"
	if lag == o.Self.Scheduler {
		p.code, p.metric, what = "scheduler-latency", "scheduler_latency_p99", "its goroutines waited for a processor"
	}
	if o.Load.Read > 0 || o.Load.Kernel == 0 {
		p.text = "the load generator was short of CPU: " + what + ", and responses are timestamped when they are read"
		return []part{p}, name + ": arrivals are stamped after they were read"
	}
	// The client can have joined them only if it reads later than the next event
	// comes; otherwise the server sent them together, and their timestamps are right.
	// With very short gaps, the cause is unknown.
	p.sure = o.Load.Gap > latencyTolerance && many(lag, o.Load.Gap)
	if p.share = ratio(draws*float64(merged), float64(all)); p.share == 0 || (p.share > coalescedFrom*draws && !p.sure) {
		return nil, stamped
	}
	p.text = "the load generator was short of CPU: " + what + ", and events that arrived meanwhile have one timestamp"
	return []part{p}, name + ": events that came in one read have the stamp of the last"
}

// ratio returns a share, at most 1; 0 if the whole is 0.
func ratio(part, of float64) float64 {
	if of == 0 {
		return 0
	}
	return min(1, part/of)
}

// at returns a bound that the share q of all errors does not exceed.
//
// A sum of m lags exceeds the sum of their quantiles at 1-(1-q)/m in at most the
// share 1-q of the cases, however the lags depend on each other (Boole's
// inequality); so no independence is assumed. The error of a gap is the difference
// of those of its two stamps, which is not more than the larger one.
func (n *number) at(q float64) time.Duration {
	parts := slices.DeleteFunc(slices.Clone(n.parts), func(p part) bool { return p.lag.Count() == 0 || p.share <= 1-q })
	var m float64
	for _, p := range parts {
		m += p.draws
	}
	var sum time.Duration
	for _, p := range parts {
		sum += p.lag.Quantile(1 - (1-q)/m)
	}
	return sum
}

// err returns the error to judge: at the highest percentile that the number of values
// supports (see [metric.MinBeyond]), or the mean error if that is larger.
func (n *number) err() time.Duration {
	var mean time.Duration
	for _, p := range n.parts {
		mean += time.Duration(min(p.draws*float64(p.lag.Mean()), p.share*float64(p.lag.Max())))
	}
	return max(mean, n.at(n.supported()))
}

// limit returns the tolerance of the number.
func (n *number) limit() time.Duration {
	return max(n.least, time.Duration(latencyShare*float64(n.typical)))
}

// wholePercent returns a share as a whole percentage that is not larger.
func wholePercent(share float64) float64 { return math.Floor(100*share + 1e-9) }

// supported returns that percentile, as a share.
func (n *number) supported() float64 {
	return min(0.99, max(0.5, 1-metric.MinBeyond/float64(max(1, n.count))))
}

// main returns the part that most of the error comes from.
func (n *number) main() part {
	weight := func(p part) time.Duration { return max(p.lag.Mean(), p.lag.Quantile(n.supported())) }
	return slices.MaxFunc(n.parts, func(a, b part) int { return int(weight(a) - weight(b)) })
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
