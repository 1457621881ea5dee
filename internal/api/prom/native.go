// Package prom renders runs as Prometheus metrics: under AIPerf's names
// ([Compat]), and under names in base units with real types ([Collector]).
package prom

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/run"
)

// Run is a run with its newest snapshot; Snapshot may be nil.
type Run struct {
	Run      *run.Run
	Snapshot *run.Snapshot
}

// Collector collects the native families of runs. It is immutable and safe
// for concurrent use.
type Collector struct {
	runs    []Run
	version string
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector for runs with different ids.
func NewCollector(version string, runs ...Run) *Collector {
	return &Collector{runs: runs, version: version}
}

// family describes one metric family.
func family(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// families are the descriptions of all families.
type families struct {
	info, state, start, end          *prometheus.Desc
	sent, requests, errors, inFlight *prometheus.Desc
	input, output, reasoning         *prometheus.Desc
	slo, good, progress              *prometheus.Desc
	bytesIn, bytesOut, elapsed       *prometheus.Desc
	client                           clientFamilies
	load                             saturationFamilies
	histograms                       []histogram
}

// newFamilies returns the families; those of records have the labels more besides their
// own.
func newFamilies(more ...string) families {
	ofPhase := slices.Clip(append([]string{"run_id", "phase"}, more...)) // each append makes a copy
	return families{
		histograms: newHistograms(ofPhase),
		info: family("aiperf_run_info", "Constant 1, labelled with the identity of the run.",
			"run_id", "name", "model", "endpoint_type", "streaming", "concurrency", "request_rate", "version"),
		state:     family("aiperf_run_state", "1 for the current state of the run, 0 for the others.", "run_id", "state"),
		start:     family("aiperf_run_start_timestamp_seconds", "When the run started.", "run_id"),
		end:       family("aiperf_run_end_timestamp_seconds", "When the run ended.", "run_id"),
		sent:      family("aiperf_requests_sent_total", "Requests sent.", "run_id", "phase"),
		requests:  family("aiperf_requests_total", "Requests returned, by outcome.", append(ofPhase, "outcome")...),
		errors:    family("aiperf_request_errors_total", "Failed requests, by error class.", append(ofPhase, "class")...),
		inFlight:  family("aiperf_requests_in_flight", "Requests in flight.", "run_id", "phase"),
		input:     family("aiperf_input_tokens_total", "Input tokens of successful requests.", ofPhase...),
		output:    family("aiperf_output_tokens_total", "Output tokens of successful requests, including reasoning.", ofPhase...),
		reasoning: family("aiperf_reasoning_tokens_total", "Reasoning tokens of successful requests.", ofPhase...),
		slo:       family("aiperf_slo_requests_total", "Requests that met or missed an objective.", append([]string{"run_id", "slo", "result"}, more...)...),
		good:      family("aiperf_good_requests_total", "Requests that met all objectives.", "run_id"),
		progress:  family("aiperf_phase_progress_ratio", "Share of the phase that is over, by its requests, sessions or duration.", "run_id", "phase"),
		bytesIn: family("aiperf_bytes_received_total", "Bytes of response bodies received.",
			"run_id"),
		bytesOut: family("aiperf_bytes_sent_total", "Bytes of request bodies sent.", "run_id"),
		elapsed: family("aiperf_run_elapsed_seconds", "Time since the first phase of the run started.",
			"run_id"),
		client: newClientFamilies(), load: newSaturationFamilies(),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	f := newFamilies()
	for _, d := range []*prometheus.Desc{
		f.info, f.state, f.start, f.end, f.sent, f.requests, f.errors, f.inFlight, f.input, f.output,
		f.reasoning, f.slo, f.good, f.progress, f.bytesIn, f.bytesOut, f.elapsed,
	} {
		out <- d
	}
	for _, d := range append(f.client.all(), f.load.all()...) {
		out <- d
	}
	for _, h := range f.histograms {
		out <- h.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	plain, byModel := emitter{newFamilies(), out}, emitter{newFamilies("model"), out}
	for _, r := range c.runs {
		e := &plain
		if r.Snapshot != nil && slices.ContainsFunc(r.Snapshot.Phases, func(p run.Phase) bool { return p.Counters.Models != nil }) {
			e = &byModel
		}
		e.run(r.Run, c.version)
		if r.Snapshot != nil {
			e.snapshot(r.Run, r.Snapshot)
		}
	}
}

// emitter sends the metrics of one collection.
type emitter struct {
	families
	out chan<- prometheus.Metric
}

func (e *emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// counter sends a counter that was 0 at created.
func (e *emitter) counter(d *prometheus.Desc, created time.Time, v int64, labels ...string) {
	e.out <- prometheus.MustNewConstMetricWithCreatedTimestamp(d, prometheus.CounterValue, float64(v), created, labels...)
}

// states returns all states of a run, in the order in which they occur.
func states() []bench.State {
	return []bench.State{
		bench.StateQueued, bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting,
		bench.StateCompleted, bench.StateCancelled, bench.StateFailed,
	}
}

func (e *emitter) run(r *run.Run, version string) {
	concurrency, rate := "", ""
	if r.Concurrency != nil {
		concurrency = strconv.Itoa(*r.Concurrency)
	}
	if r.Rate != nil {
		rate = Float(*r.Rate)
	}
	e.gauge(e.info, 1, r.ID, r.Name, wire.ModelText(r), r.Endpoint, strconv.FormatBool(r.Streaming),
		concurrency, rate, version)
	for _, s := range states() {
		value := 0.0
		if s == r.State {
			value = 1
		}
		e.gauge(e.state, value, r.ID, string(s))
	}
	if r.StartedAt != nil {
		e.gauge(e.start, float64(r.StartedAt.UnixMilli())/1e3, r.ID)
	}
	if r.EndedAt != nil {
		e.gauge(e.end, float64(r.EndedAt.UnixMilli())/1e3, r.ID)
	}
}

func (e *emitter) snapshot(r *run.Run, s *run.Snapshot) {
	id, began := r.ID, r.CreatedAt
	if r.StartedAt != nil {
		began = *r.StartedAt
	}
	var in, out int64
	slos := make(map[objective]*struct{ met, missed int64 })
	for i := range s.Phases {
		p := &s.Phases[i]
		e.phase(id, p)
		if percent := wire.NewPhase(p, s.Wall).Percent; percent != nil {
			e.gauge(e.progress, *percent/100, id, p.Stats.Name)
		}
		in += p.Counters.BytesReceived
		out += p.Counters.BytesSent
		if p.Stats.Kind != bench.Profiling {
			continue
		}
		for model, c := range models(&p.Counters) {
			for name := range c.SLOMet {
				key := objective{name, model}
				if slos[key] == nil {
					slos[key] = new(struct{ met, missed int64 })
				}
				slos[key].met += c.SLOMet[name]
				slos[key].missed += c.SLOMissed[name]
			}
		}
	}
	e.gauge(e.elapsed, s.Elapsed.Seconds(), id)
	if s.Client != nil {
		e.judgement(id, s.Client)
	}
	if s.Saturation != nil {
		e.saturation(id, s.Saturation)
	}
	if m := s.Metrics.Find("good_request_count"); m != nil {
		n, _ := m.Get(metric.Avg)
		e.counter(e.good, began, int64(n), id)
	}
	e.counter(e.bytesIn, began, in, id)
	e.counter(e.bytesOut, began, out, id)
	for of, n := range slos {
		e.counter(e.slo, began, n.met, labels(of.model, id, of.slo, "met")...)
		e.counter(e.slo, began, n.missed, labels(of.model, id, of.slo, "missed")...)
	}
}

// objective is an objective of the requests of a model; empty = of all.
type objective struct{ slo, model string }

// models yields the counters of each model, or all with an empty name if models are not
// told apart.
func models(c *run.Counters) iter.Seq2[string, run.Counters] {
	if c.Models != nil {
		return maps.All(c.Models)
	}
	return func(yield func(string, run.Counters) bool) { yield("", *c) }
}

// labels returns the values of labels, of which the last one is the model if there is
// one.
func labels(model string, values ...string) []string {
	if model != "" {
		values = append(values, model)
	}
	return values
}

func (e *emitter) phase(id string, p *run.Phase) {
	name, began := p.Stats.Name, p.Epoch.Add(p.Stats.Start)
	e.counter(e.sent, began, p.Counters.Sent, id, name)
	e.gauge(e.inFlight, float64(p.Stats.InFlight()), id, name)
	for model, c := range models(&p.Counters) {
		e.records(began, &c, labels(model, id, name))
	}
}

// records emits what records counted.
func (e *emitter) records(began time.Time, c *run.Counters, labels []string) {
	counter := func(d *prometheus.Desc, v int64, more ...string) {
		e.counter(d, began, v, slices.Concat(labels, more)...)
	}
	byClass := map[string]int64{}
	for _, class := range ErrorClasses() {
		byClass[class] = 0
	}
	var failed int64
	for class, n := range c.Errors {
		byClass[ErrorClass(class)] += n
		failed += n
	}
	for class, n := range byClass {
		counter(e.errors, n, class)
	}
	counter(e.requests, c.Success, "success")
	counter(e.requests, failed, "error")
	counter(e.requests, c.Cancelled, "cancelled")
	counter(e.requests, c.CancelledByTest, "cancelled_by_test")
	counter(e.input, c.InputTokens)
	counter(e.output, c.OutputTokens)
	counter(e.reasoning, c.ReasoningTokens)
	for _, h := range e.histograms {
		if s := c.Histograms[h.tag]; s != nil {
			e.out <- h.metric(s, began, labels...)
		}
	}
}

// ErrorClasses returns the values of the class label of errors.
func ErrorClasses() []string {
	return []string{"timeout", "connect", "http_4xx", "http_5xx", "protocol", "other"}
}

// ErrorClass maps a class of failure to its label.
func ErrorClass(c bench.Class) string {
	switch c {
	case bench.TimeoutConnect, bench.TimeoutSend, bench.TimeoutHeaders, bench.TimeoutIdle, bench.TimeoutTotal:
		return "timeout"
	case bench.ConnectError, bench.ConnectionReset, bench.TargetNotAllowed:
		return "connect"
	case bench.Auth, bench.NotFound, bench.Timeout, bench.PayloadTooLarge, bench.RateLimited,
		bench.ContextOverflow, bench.BadRequest:
		return "http_4xx"
	case bench.Overloaded, bench.Gateway, bench.ServerError:
		return "http_5xx"
	case bench.Redirect, bench.StreamError, bench.StreamTruncated, bench.EmptyResponse, bench.EmptyOutput,
		bench.MalformedResponse, bench.UnexpectedContent, bench.EventTooLarge, bench.JobFailed, bench.JobCancelled:
		return "protocol"
	case bench.JobTimeout:
		return "timeout"
	case bench.Cancelled, bench.CancelledByTest, bench.ClientError:
		return "other"
	}
	return "other"
}
