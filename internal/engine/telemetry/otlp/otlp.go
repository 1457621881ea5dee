// Package otlp turns the snapshots of a run into metrics of OpenTelemetry. Latencies and lengths are
// exponential histograms of scale 7, whose buckets are those of the sketches: nothing is estimated twice. It
// does no I/O.
//
// MetricsData has the wire form of the request that exports metrics, so the packages of the services, and with
// them gRPC, are not needed.
package otlp

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// SchemaURL is the version of the semantic conventions that names and attributes follow: the last one before
// those for generative AI moved to a repository of their own, where the metrics have other names.
const SchemaURL = "https://opentelemetry.io/schemas/1.41.0"

// Source is what all metrics of a run have in common. Its texts have no secrets.
type Source struct {
	RunID, Version string
	Labels         map[string]string // of the run
	Attributes     map[string]string // of the user; they replace those of the same names
	Endpoint       string            // type
	Model          string            // of requests, if the run does not tell several apart; empty = unknown
	Provider       string
	Server         *url.URL // the only one; nil = there are several
	Records        bool     // send what records say: latencies, lengths, errors and the verdict on the client
	Timing         bool     // send the progress of phases
	Explicit       bool     // histograms have the boundaries of the semantic conventions
}

// Metrics returns the metrics of a snapshot. Their start is that of the phase, and all are cumulative.
func (s *Source) Metrics(snap *run.Snapshot) *metricspb.MetricsData {
	m := metrics{source: s, at: uint64(snap.Wall.UnixNano()), byName: make(map[string]*metricspb.Metric)}
	for i := range snap.Phases {
		p := &snap.Phases[i]
		if p.Stats.Start == 0 {
			continue
		}
		m.phase, m.began = p, uint64(p.Epoch.Add(p.Stats.Start).UnixNano())
		if s.Records {
			m.records()
		}
		if s.Timing {
			m.timing()
		}
	}
	if s.Records && snap.Client != nil {
		m.judgement(snap.Client)
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource:  s.resource(),
		SchemaUrl: SchemaURL,
		ScopeMetrics: []*metricspb.ScopeMetrics{{
			Scope:   &commonpb.InstrumentationScope{Name: "aiperfd", Version: s.Version},
			Metrics: m.all, SchemaUrl: SchemaURL,
		}},
	}}}
}

// resource returns what sends the metrics.
func (s *Source) resource() *resourcepb.Resource {
	named := map[string]string{
		"service.name": "aiperfd", "service.version": s.Version, "service.instance.id": s.RunID,
		"aiperf.benchmark.id": s.RunID, "aiperf.endpoint.type": s.Endpoint,
	}
	if s.Model != "" {
		named["aiperf.model.name"] = s.Model
	}
	for name, text := range s.Labels {
		named["aiperf.label."+name] = text
	}
	maps.Copy(named, s.Attributes)
	out := &resourcepb.Resource{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		out.Attributes = append(out.Attributes, text(name, named[name]))
	}
	return out
}

// text returns an attribute.
func text(name, value string) *commonpb.KeyValue {
	of := &commonpb.AnyValue_StringValue{StringValue: value}
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: of}}
}

// integer returns an attribute.
func integer(name string, value int64) *commonpb.KeyValue {
	of := &commonpb.AnyValue_IntValue{IntValue: value}
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: of}}
}

// metrics collects the points of a snapshot, those of one name in one metric.
type metrics struct {
	source *Source
	at     uint64 // Unix time in ns
	all    []*metricspb.Metric
	byName map[string]*metricspb.Metric

	phase *run.Phase // the points of which are added
	began uint64     // when it began, Unix time in ns
}

// named returns the metric of a name, which made makes when it is the first point.
func (m *metrics) named(name, unit, help string, made func(*metricspb.Metric)) *metricspb.Metric {
	if known := m.byName[name]; known != nil {
		return known
	}
	out := &metricspb.Metric{Name: name, Unit: unit, Description: help}
	made(out)
	m.byName[name], m.all = out, append(m.all, out)
	return out
}

// attributes returns those of a point of the phase; model is that of its requests.
func (m *metrics) attributes(model string, more ...*commonpb.KeyValue) []*commonpb.KeyValue {
	s := m.source
	out := []*commonpb.KeyValue{
		text("gen_ai.operation.name", Operation(s.Endpoint)), text("gen_ai.provider.name", s.Provider),
	}
	if model != "" {
		out = append(out, text("gen_ai.request.model", model))
	}
	if s.Server != nil {
		out = append(out, text("server.address", s.Server.Hostname()))
		if port := serverPort(s.Server); port > 0 {
			out = append(out, integer("server.port", port))
		}
	}
	stats := &m.phase.Stats
	out = append(out, text("aiperf.benchmark_phase", string(stats.Kind)), text("aiperf.phase", stats.Name))
	return append(out, more...)
}

// serverPort returns the port of a server.
func serverPort(u *url.URL) int64 {
	if port, err := strconv.ParseInt(u.Port(), 10, 32); err == nil {
		return port
	}
	return map[string]int64{"http": 80, "https": 443}[u.Scheme]
}

// records adds what the records of the phase say, of each model if they are told apart.
func (m *metrics) records() {
	c := &m.phase.Counters
	if c.Models == nil {
		m.counted(m.source.Model, c)
		return
	}
	for _, model := range slices.Sorted(maps.Keys(c.Models)) {
		of := c.Models[model]
		m.counted(model, &of)
	}
}

// counted adds what the records of a model say.
func (m *metrics) counted(model string, c *run.Counters) {
	for _, h := range histograms() {
		if values := c.Histograms[h.tag]; values != nil {
			var more []*commonpb.KeyValue
			if h.token != "" {
				more = append(more, text("gen_ai.token.type", h.token))
			}
			m.histogram(&h, values, m.attributes(model, more...))
		}
	}
	m.count("aiperf.request_count", "{request}", "Successful requests.", c.Success, m.attributes(model))
	byType := make(map[string]int64)
	for class, n := range c.Errors {
		byType[ErrorType(class)] += n
	}
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		m.count("aiperf.error_request_count", "{request}", "Failed requests, by the type of their error.",
			byType[name], m.attributes(model, text("error.type", name)))
	}
}

// histogram adds the distribution of a metric.
func (m *metrics) histogram(h *histogram, s *sketch.Sketch, attributes []*commonpb.KeyValue) {
	if m.source.Explicit {
		m.explicit(h, s, attributes)
		return
	}
	to := m.named(h.name, h.unit, h.help, func(out *metricspb.Metric) {
		out.Data = &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: &metricspb.ExponentialHistogram{
			AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
		}}
	}).GetExponentialHistogram()
	point := Exponential(s)
	point.Attributes, point.StartTimeUnixNano, point.TimeUnixNano = attributes, m.began, m.at
	to.DataPoints = append(to.DataPoints, point)
}

// explicit adds the distribution of a metric in the boundaries that the conventions recommend.
func (m *metrics) explicit(h *histogram, s *sketch.Sketch, attributes []*commonpb.KeyValue) {
	to := m.named(h.name, h.unit, h.help, func(out *metricspb.Metric) {
		out.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{
			AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
		}}
	}).GetHistogram()
	point := &metricspb.HistogramDataPoint{
		Attributes: attributes, StartTimeUnixNano: m.began, TimeUnixNano: m.at,
		Count: s.Count(), Sum: finite(s, s.Sum()), Min: finite(s, s.Min()), Max: finite(s, s.Max()),
		ExplicitBounds: h.bounds,
	}
	below := uint64(0)
	for _, n := range s.CountsAtMost(h.bounds...) {
		point.BucketCounts, below = append(point.BucketCounts, n-below), n
	}
	point.BucketCounts = append(point.BucketCounts, s.Count()-below)
	to.DataPoints = append(to.DataPoints, point)
}

// Exponential returns a sketch as the point of an exponential histogram.
func Exponential(s *sketch.Sketch) *metricspb.ExponentialHistogramDataPoint {
	e := sketch.NewExponential(s, sketch.MaxSchema, math.MaxInt)
	return &metricspb.ExponentialHistogramDataPoint{
		Count: s.Count(), Sum: finite(s, s.Sum()), Min: finite(s, s.Min()), Max: finite(s, s.Max()),
		Scale: e.Schema, ZeroCount: e.Zeros, ZeroThreshold: sketch.MinValue,
		Positive: buckets(e.Positive), Negative: buckets(e.Negative),
	}
}

// buckets returns the counts of buckets by index. In a sketch, a bucket has the index of its upper bound, and
// in OpenTelemetry that of its lower bound. Infinite values are in the bucket above that of the largest number.
func buckets(counts map[int]int64) *metricspb.ExponentialHistogramDataPoint_Buckets {
	if len(counts) == 0 {
		return nil
	}
	largest := int(math.Log2(sketch.MaxValue))<<sketch.MaxSchema + 1
	bounded := make(map[int]uint64, len(counts))
	for i, n := range counts {
		bounded[min(i, largest)] += uint64(n)
	}
	order := slices.Sorted(maps.Keys(bounded))
	first, last := order[0], order[len(order)-1]
	out := &metricspb.ExponentialHistogramDataPoint_Buckets{
		Offset: int32(first - 1), BucketCounts: make([]uint64, last-first+1),
	}
	for i, n := range bounded {
		out.BucketCounts[i-first] = n
	}
	return out
}

// finite returns a statistic of a sketch, nil if there is none.
func finite(s *sketch.Sketch, v float64) *float64 {
	if s.Count() == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// count adds a number that only grows.
func (m *metrics) count(name, unit, help string, n int64, attributes []*commonpb.KeyValue) {
	m.sum(name, unit, help, true, &metricspb.NumberDataPoint{
		Attributes: attributes, Value: &metricspb.NumberDataPoint_AsInt{AsInt: n},
	})
}

// sum adds a point of a sum, which is AIPerf's form of numbers that fall too.
func (m *metrics) sum(name, unit, help string, grows bool, point *metricspb.NumberDataPoint) {
	to := m.named(name, unit, help, func(out *metricspb.Metric) {
		out.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{
			AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
			IsMonotonic:            grows,
		}}
	}).GetSum()
	point.StartTimeUnixNano, point.TimeUnixNano = m.began, m.at
	to.DataPoints = append(to.DataPoints, point)
}

// timing adds the progress of the phase, under AIPerf's names.
func (m *metrics) timing() {
	st, model := &m.phase.Stats, m.source.Model
	for _, c := range []struct {
		name, help string
		n          int64
	}{
		{"requests.sent", "Requests sent in the phase.", st.Sent},
		{"requests.completed", "Requests of the phase that got a complete response or an error.", st.Completed},
		{"requests.cancelled", "Requests of the phase that the client cancelled.", st.Cancelled},
		{"requests.errors", "Requests of the phase that failed.", st.Errors},
		{"sessions.sent", "Sessions started in the phase.", st.SentSessions},
		{"sessions.completed", "Sessions of the phase whose turns were all performed.", st.CompletedSessions},
		{"sessions.cancelled", "Sessions of the phase that were cancelled.", st.CancelledSessions},
		{"sessions.turns_total", "Turns of all sessions of the phase.", st.SessionTurns},
	} {
		m.count("aiperf.timing."+c.name, "1", c.help, c.n, m.attributes(model))
	}
	gauge := func(name, unit, help string, v float64) {
		m.sum("aiperf.timing."+name, unit, help, false, &metricspb.NumberDataPoint{
			Attributes: m.attributes(model), Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: v},
		})
	}
	gauge("requests.in_flight", "1", "Requests of the phase that wait for their responses.", float64(st.InFlight()))
	gauge("sessions.in_flight", "1", "Sessions of the phase that have begun and not ended.",
		float64(st.SentSessions-st.CompletedSessions-st.CancelledSessions))
	gauge("phase.timeout_triggered", "1", "1 if the phase reached its duration.", flag(st.DurationReached))
	gauge("phase.grace_timeout_triggered", "1", "1 if the grace period ended before all requests had returned.",
		flag(st.End == bench.PhaseGraceTimeout))
	gauge("phase.was_cancelled", "1", "1 if the phase was cancelled.", flag(st.End == bench.PhaseCancelled))
	gauge("phase.elapsed_sec", "s", "Time since the phase began, until its last request returned.",
		m.elapsed().Seconds())
}

// elapsed returns how long the phase has taken, until its last request returned.
func (m *metrics) elapsed() time.Duration {
	st := &m.phase.Stats
	if st.End != "" && st.RequestsEnd > 0 {
		return st.RequestsEnd - st.Start
	}
	return max(0, st.LastUpdate-st.Start)
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// judgement adds whether the client kept up: 1 for its verdict, 0 for the others.
func (m *metrics) judgement(r *verdict.Report) {
	if m.phase == nil {
		return
	}
	to := m.named("aiperf.client.verdict", "1", "1 for the verdict on the load generator, 0 for the others.",
		func(out *metricspb.Metric) { out.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{}} }).GetGauge()
	for _, level := range verdict.Levels() {
		to.DataPoints = append(to.DataPoints, &metricspb.NumberDataPoint{
			TimeUnixNano: m.at, Attributes: []*commonpb.KeyValue{text("aiperf.verdict", string(level))},
			Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: flag(level == r.Verdict)},
		})
	}
}

// Encode returns the metrics of a snapshot as bytes.
func (s *Source) Encode(snap *run.Snapshot) ([]byte, error) { return proto.Marshal(s.Metrics(snap)) }
