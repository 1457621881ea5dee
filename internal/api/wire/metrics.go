package wire

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Stats are the statistics of one metric in its display unit. Which of them
// exist depends on the metric: all for a record metric, avg alone for a scalar.
type Stats struct {
	Unit    string   `json:"unit" example:"ms"`
	Header  string   `json:"header" example:"Time to First Token"`
	Avg     *float64 `json:"avg,omitempty"`
	P1      *float64 `json:"p1,omitempty"`
	P5      *float64 `json:"p5,omitempty"`
	P10     *float64 `json:"p10,omitempty"`
	P25     *float64 `json:"p25,omitempty"`
	P50     *float64 `json:"p50,omitempty"`
	P75     *float64 `json:"p75,omitempty"`
	P90     *float64 `json:"p90,omitempty"`
	P95     *float64 `json:"p95,omitempty"`
	P99     *float64 `json:"p99,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Std     *float64 `json:"std,omitempty"`
	Current *float64 `json:"current,omitempty"`
	Count   *int64   `json:"count,omitempty"`
	Sum     *float64 `json:"sum,omitempty"`
	// HigherIsBetter is the direction of improvement.
	HigherIsBetter bool `json:"higher_is_better"`
	Confidence
}

// Confidence is how well the statistics of a final result are known.
type Confidence struct {
	// Intervals are the 95 % confidence intervals by statistic; absent if the sample is too
	// small.
	Intervals map[string][2]float64 `json:"intervals,omitempty"`
	// Unsupported are the percentiles with fewer than five effective values beyond them.
	Unsupported []string `json:"unsupported_percentiles,omitempty"`
}

// Record is one metric of a result: the statistics with every key present.
type Record struct {
	Tag     string   `json:"tag" example:"time_to_first_token"`
	Header  string   `json:"header"`
	Unit    string   `json:"unit"`
	Avg     *float64 `json:"avg"`
	P1      *float64 `json:"p1"`
	P5      *float64 `json:"p5"`
	P10     *float64 `json:"p10"`
	P25     *float64 `json:"p25"`
	P50     *float64 `json:"p50"`
	P75     *float64 `json:"p75"`
	P90     *float64 `json:"p90"`
	P95     *float64 `json:"p95"`
	P99     *float64 `json:"p99"`
	Min     *float64 `json:"min"`
	Max     *float64 `json:"max"`
	Std     *float64 `json:"std"`
	Current *float64 `json:"current"`
	Count   *int64   `json:"count"`
	Sum     *float64 `json:"sum"`
	// Unsupported are the percentiles of a final result with fewer than five effective values beyond them.
	Unsupported []string `json:"unsupported_percentiles,omitempty"`
}

// Metrics is the body of GET /api/metrics.
type Metrics struct {
	Version     string           `json:"aiperf_version" example:"aiperfd/0.1.0"`
	BenchmarkID *string          `json:"benchmark_id"`
	Model       *string          `json:"model"` // sorted names joined by commas
	Endpoint    *string          `json:"endpoint_type"`
	Streaming   *bool            `json:"streaming"`
	Concurrency *int             `json:"concurrency"`
	RequestRate *float64         `json:"request_rate"`
	Metrics     map[string]Stats `json:"metrics"`
	SnapshotNS  *int64           `json:"snapshot_ns"` // when the values were computed
	Final       bool             `json:"final"`
	ElapsedSec  float64          `json:"elapsed_sec"`
	// Saturation reports whether the servers keep up with the rate; null without an
	// open loop.
	Saturation *verdict.Saturation `json:"saturation"`
	// Cache reports how much of the prompts was repeated and cached; null while nothing
	// was measured, and for endpoint types that take no text.
	Cache *verdict.Cache `json:"cache"`
}

// MainStats are the statistics of a metric in lists of runs, in its display unit.
type MainStats struct {
	Unit string   `json:"unit" example:"ms"`
	Avg  *float64 `json:"avg,omitempty"`
	P50  *float64 `json:"p50,omitempty"`
	P90  *float64 `json:"p90,omitempty"`
	P95  *float64 `json:"p95,omitempty"`
	P99  *float64 `json:"p99,omitempty"`
}

// newMainStats returns the metrics that lists of runs show, never nil; s may be nil.
func newMainStats(s *run.Snapshot) map[string]MainStats {
	out := map[string]MainStats{}
	if s == nil {
		return out
	}
	for _, tag := range catalogue.Headlines(catalogue.InLists) {
		if res := s.Metrics.Find(tag); res != nil {
			all := newStats(res)
			out[tag] = MainStats{Unit: all.Unit, Avg: all.Avg, P50: all.P50, P90: all.P90, P95: all.P95, P99: all.P99}
		}
	}
	return out
}

// newStatsByTag returns the metrics that users see by their tags.
func newStatsByTag(rs metric.Results) map[string]Stats {
	out := map[string]Stats{}
	for i := range rs {
		if res := &rs[i]; res.Def.Shown() {
			out[res.Def.Tag] = newStats(res)
		}
	}
	return out
}

// NewMetrics returns the metrics of a run. Both arguments may be nil: no run, or
// nothing measured yet.
func NewMetrics(version string, r *run.Run, s *run.Snapshot) Metrics {
	m := Metrics{Version: VersionText(version), Metrics: map[string]Stats{}}
	if r != nil {
		m.BenchmarkID, m.Model, m.Endpoint = &r.ID, new(ModelText(r)), &r.Endpoint
		m.Streaming, m.Concurrency, m.RequestRate = &r.Streaming, r.Concurrency, r.Rate
	}
	if s == nil {
		return m
	}
	m.SnapshotNS, m.Final, m.ElapsedSec = nanos(s.MetricsAt), s.Final, s.Elapsed.Seconds()
	m.Saturation, m.Cache = s.Saturation, s.PrefixCache()
	m.Metrics = newStatsByTag(s.Metrics)
	return m
}

// Get returns a statistic of a metric: the average, p50 or p99.
func (m *Metrics) Get(tag string, stat metric.Stat) (float64, bool) {
	s := m.Metrics[tag]
	v := s.Avg
	switch stat {
	case metric.P50:
		v = s.P50
	case metric.P99:
		v = s.P99
	default:
	}
	if v == nil {
		return 0, false
	}
	return *v, true
}

// VersionText returns the version in fields in which AIPerf has its own.
func VersionText(version string) string { return "aiperfd/" + version }

// ModelText joins the sorted model names of a run by commas. It is a label of hundreds of
// samples, so that only the beginning of a long one is there.
func ModelText(r *run.Run) string {
	const most = 1024 // bytes
	text := strings.Join(slices.Sorted(slices.Values(r.Models)), ",")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// NewRecords returns the metrics of a result in catalogue order, never nil.
func NewRecords(rs metric.Results) []Record {
	out := make([]Record, 0, len(rs))
	for i := range rs {
		if !rs[i].Def.Shown() {
			continue
		}
		s := newStats(&rs[i])
		out = append(out, Record{
			Tag: rs[i].Def.Tag, Header: s.Header, Unit: s.Unit, Avg: s.Avg,
			P1: s.P1, P5: s.P5, P10: s.P10, P25: s.P25, P50: s.P50, P75: s.P75, P90: s.P90,
			P95: s.P95, P99: s.P99, Min: s.Min, Max: s.Max, Std: s.Std, Current: s.Current,
			Count: s.Count, Sum: s.Sum, Unsupported: s.Unsupported,
		})
	}
	return out
}

func newConfidence(c *metric.Confidence) (s Confidence) {
	if c == nil {
		return s
	}
	for _, stat := range []metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99} {
		if in, ok := c.Interval(stat); ok {
			if s.Intervals == nil {
				s.Intervals = map[string][2]float64{}
			}
			s.Intervals[stat.String()] = [2]float64{in.Low, in.High}
		}
	}
	for _, stat := range c.Unsupported {
		s.Unsupported = append(s.Unsupported, stat.String())
	}
	return s
}

func newStats(r *metric.Result) Stats {
	get := func(s metric.Stat) *float64 {
		v, ok := r.Get(s)
		if !ok {
			return nil
		}
		return finite(v)
	}
	out := Stats{
		Unit: r.Def.Unit, Header: r.Def.Header, Avg: get(metric.Avg),
		P1: get(metric.P1), P5: get(metric.P5), P10: get(metric.P10), P25: get(metric.P25),
		P50: get(metric.P50), P75: get(metric.P75), P90: get(metric.P90), P95: get(metric.P95),
		P99: get(metric.P99), Min: get(metric.Min), Max: get(metric.Max), Std: get(metric.Std),
		Count: Observations(r), Sum: get(metric.Sum),
		HigherIsBetter: r.Def.Better == catalogue.Higher, Confidence: newConfidence(r.Confidence),
	}
	return out
}

// Observations returns the number of values of a metric: 1 for a scalar, nil for a
// family without a count.
func Observations(r *metric.Result) *int64 {
	switch {
	case r.Count > 0:
		return new(r.Count)
	case r.Scalar():
		return new(int64(1))
	}
	return nil
}

// GPURecords are the metrics of GPUs in AIPerf's shape.
type GPURecords struct {
	Metrics []Record `json:"metrics"`
}

// NewGPURecords returns a metric per GPU and field of AIPerf, of the last phase that has begun; nil = there is no GPU.
// Tags and headers are AIPerf's, so that its dashboard tells the GPUs apart.
func NewGPURecords(r *gpu.Report) *GPURecords {
	if r == nil || len(r.Phases) == 0 {
		return nil
	}
	phase := &r.Phases[len(r.Phases)-1]
	out := &GPURecords{Metrics: []Record{}}
	plain := strings.NewReplacer(":", "_", "/", "_", ".", "_")
	for i := range phase.Devices {
		d := &phase.Devices[i]
		at := d.Source
		if u, err := url.Parse(at); err == nil && u.Host != "" {
			at = u.Host
		}
		cells := d.Cells()
		for j := range cells {
			c := &cells[j]
			m := &c.Scaled
			one := Record{
				Tag: fmt.Sprintf("%s_dcgm_%s_gpu%d_%s", c.Key, plain.Replace(d.Source), d.Index,
					strings.TrimSuffix(d.UUID+"_"+d.Instance, "_")),
				Header: fmt.Sprintf("%s | %s | GPU %d | %s", c.Header, at, d.Index, d.Name), Unit: c.Unit,
			}
			if c.Counter { // AIPerf has the increase as the average
				one.Avg = m.Total
			} else {
				one.Avg, one.Min, one.Max, one.Std = m.Avg, m.Min, m.Max, m.Std
				one.P1, one.P5, one.P10, one.P25, one.P50 = m.P1, m.P5, m.P10, m.P25, m.P50
				one.P75, one.P90, one.P95, one.P99 = m.P75, m.P90, m.P95, m.P99
				one.Count = new(int64(m.Count))
			}
			if one.Avg != nil {
				out.Metrics = append(out.Metrics, one)
			}
		}
	}
	if len(out.Metrics) == 0 {
		return nil
	}
	return out
}
