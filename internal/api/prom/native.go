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
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// Run is a run with its newest snapshot, which may be nil.
type Run struct {
	Run      *run.Run
	Snapshot *run.Snapshot
	Server   *diagnose.Server // what its servers' metrics say; nil = they were not read
	GPU      *gpu.Report      // what its accelerators did; nil = they were not read
	Path     *paths.Report    // how the network behaved; nil = nothing was counted
	Agents   *results.Agents  // what a run of recorded sessions says; nil = it is not known
	OTel     *otel.Report     // what it sends to OpenTelemetry collectors; nil = nothing
	Answer   *results.Answer  // of a study; nil = it has none
	Aside    bool             // a study of which only its progress and its answer are shown
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

// Describe implements prometheus.Collector. It sends nothing: Collect makes the descriptions.
func (*Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, r := range c.runs {
		e := &emitter{out: out}
		if r.Run.Study != nil {
			e.study(r.Run, r.Answer)
		}
		if r.Aside {
			continue
		}
		byModel := func(p run.Phase) bool { return p.Counters.Models != nil }
		if r.Snapshot != nil && slices.ContainsFunc(r.Snapshot.Phases, byModel) {
			e.more = []string{"model"}
		}
		e.run(r.Run, c.version)
		if r.Snapshot != nil {
			e.snapshot(r.Run, r.Snapshot)
		}
		if r.Server != nil {
			e.servers(r.Run, r.Server)
		}
		if r.Path != nil {
			e.paths(r.Run, r.Path)
		}
		if r.Agents != nil {
			e.agents(r.Run, r.Agents)
		}
		if r.OTel != nil {
			e.collectors(r.Run, r.OTel)
		}
		if r.GPU != nil {
			e.gpus(r.Run, r.Snapshot, r.GPU)
		}
	}
}

// emitter sends the metrics of one run.
type emitter struct {
	more []string // labels of the families of records, besides their own
	out  chan<- prometheus.Metric
}

// ofRecords describes a family of records.
func (e *emitter) ofRecords(name, help string, labels ...string) *prometheus.Desc {
	return family(name, help, slices.Concat([]string{"run_id", "phase"}, e.more, labels)...)
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

// oneLoad reports whether all profiling phases of a run have the same load.
func oneLoad(r *run.Run) bool {
	return !slices.ContainsFunc(r.Loads, func(l run.PhaseLoad) bool { return l.Load != r.Loads[0].Load })
}

func (e *emitter) run(r *run.Run, version string) {
	concurrency, rate := "", ""
	if oneLoad(r) {
		if r.Concurrency != nil {
			concurrency = strconv.Itoa(*r.Concurrency)
		}
		if r.Rate != nil {
			rate = Float(*r.Rate)
		}
	}
	info := family("aiperf_run_info",
		"Constant 1, labelled with the identity of the run, and with its load if all its profiling phases have the same.",
		"run_id", "name", "model", "endpoint_type", "streaming", "concurrency", "request_rate", "version")
	e.gauge(info, 1, r.ID, r.Name, wire.ModelText(r), r.Endpoint, strconv.FormatBool(r.Streaming),
		concurrency, rate, version)
	state := family("aiperf_run_state", "1 for the current state of the run, 0 for the others.", "run_id", "state")
	for _, s := range states() {
		value := 0.0
		if s == r.State {
			value = 1
		}
		e.gauge(state, value, r.ID, string(s))
	}
	if r.StartedAt != nil {
		start := family("aiperf_run_start_timestamp_seconds", "When the run started.", "run_id")
		e.gauge(start, float64(r.StartedAt.UnixMilli())/1e3, r.ID)
	}
	if r.EndedAt != nil {
		end := family("aiperf_run_end_timestamp_seconds", "When the run ended.", "run_id")
		e.gauge(end, float64(r.EndedAt.UnixMilli())/1e3, r.ID)
	}
}

func (e *emitter) snapshot(r *run.Run, s *run.Snapshot) {
	id, began := r.ID, r.CreatedAt
	if r.StartedAt != nil {
		began = *r.StartedAt
	}
	var in, out, dropped int64
	progress := family("aiperf_phase_progress_ratio",
		"Share of the phase that is over, by its requests, sessions or duration.", "run_id", "phase")
	slos := make(map[objective]*struct{ met, missed int64 })
	for i := range s.Phases {
		p := &s.Phases[i]
		e.phase(id, p)
		if percent := wire.NewPhase(p, s.Wall).Percent; percent != nil {
			e.gauge(progress, *percent/100, id, p.Stats.Name)
		}
		in += p.Counters.BytesReceived
		out += p.Counters.BytesSent
		dropped += p.Stats.Arrivals.Dropped
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
	elapsed := family("aiperf_run_elapsed_seconds", "Time since the first phase of the run started.", "run_id")
	e.gauge(elapsed, s.Elapsed.Seconds(), id)
	if s.Client != nil {
		e.judgement(id, s.Client)
	}
	if s.Saturation != nil {
		e.saturation(id, s.Saturation)
	}
	if c := s.PrefixCache(); c != nil {
		e.cache(id, c)
	}
	if m := s.Metrics.Find("good_request_count"); m != nil {
		n, _ := m.Get(metric.Avg)
		good := family("aiperf_good_requests_total", "Requests that met all objectives.", "run_id")
		e.counter(good, began, int64(n), id)
	}
	e.counter(family("aiperf_bytes_received_total", "Bytes of response bodies received.", "run_id"), began, in, id)
	e.counter(family("aiperf_bytes_sent_total", "Bytes of request bodies sent.", "run_id"), began, out, id)
	if s.Conservation != nil {
		e.notSent(id, began, s.Conservation, dropped)
	}
	slo := family("aiperf_slo_requests_total", "Requests that met or missed an objective.",
		append([]string{"run_id", "slo", "result"}, e.more...)...)
	for of, n := range slos {
		e.counter(slo, began, n.met, labels(of.model, id, of.slo, "met")...)
		e.counter(slo, began, n.missed, labels(of.model, id, of.slo, "missed")...)
	}
}

// notSent emits the arrivals that load generators did not send.
func (e *emitter) notSent(id string, began time.Time, k *verdict.Conservation, dropped int64) {
	of := family("aiperf_requests_not_sent_total", "Arrivals that no load generator sent: because one was lost "+
		"(worker_lost), perhaps because it was (unknown), or because no slot was free (dropped). Ended runs on several "+
		"load generators only.", "run_id", "reason")
	e.counter(of, began, k.NotSent, id, "worker_lost")
	e.counter(of, began, k.Unknown, id, "unknown")
	e.counter(of, began, dropped, id, "dropped")
}

// cache emits how much of the prompts was in a prefix cache, by all who say something about it.
func (e *emitter) cache(id string, c *verdict.Cache) {
	share := family("aiperfd_cache_share", "Share of the prompt tokens that a prefix cache had, by source: responses, "+
		"counters of the servers, workload (what the run repeats), trace (what an unlimited cache would have).",
		"run_id", "source")
	for source, v := range map[string]*float64{
		"responses": c.Cached, "counters": c.Counted, "workload": &c.RepeatedInput, "trace": c.Theoretical,
	} {
		if v != nil {
			e.gauge(share, *v, id, source)
		}
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
	e.counter(family("aiperf_requests_sent_total", "Requests sent.", "run_id", "phase"), began, p.Counters.Sent, id, name)
	e.gauge(family("aiperf_requests_in_flight", "Requests in flight.", "run_id", "phase"), float64(p.Stats.InFlight()), id, name)
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
	errors := e.ofRecords("aiperf_request_errors_total", "Failed requests, by error class.", "class")
	for class, n := range byClass {
		counter(errors, n, class)
	}
	requests := e.ofRecords("aiperf_requests_total", "Requests returned, by outcome.", "outcome")
	counter(requests, c.Success, "success")
	counter(requests, failed, "error")
	counter(requests, c.Cancelled, "cancelled")
	counter(requests, c.CancelledByTest, "cancelled_by_test")
	counter(e.ofRecords("aiperf_input_tokens_total", "Input tokens of successful requests."), c.InputTokens)
	counter(e.ofRecords("aiperf_output_tokens_total",
		"Output tokens of successful requests, including reasoning."), c.OutputTokens)
	counter(e.ofRecords("aiperf_reasoning_tokens_total", "Reasoning tokens of successful requests."), c.ReasoningTokens)
	for _, h := range e.histograms() {
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

// judgement emits the verdict on the client and its evidence.
func (e *emitter) judgement(id string, r *verdict.Report) {
	level := family("aiperf_client_verdict",
		"1 for the current verdict on the load generator, 0 for the others. Absent without a successful request.",
		"run_id", "verdict")
	for _, l := range verdict.Levels() {
		value := 0.0
		if l == r.Verdict {
			value = 1
		}
		e.gauge(level, value, id, string(l))
	}
	ofClient := func(name, help string, labels ...string) *prometheus.Desc {
		return family("aiperf_client_"+name, help, append([]string{"run_id"}, labels...)...)
	}
	if c := r.CPU; c != nil {
		e.gauge(ofClient("cpu_cores", "Average number of CPU cores used by the load generator."), c.UsedCores, id)
		e.gauge(ofClient("cpu_available_cores", "CPU cores available to the load generator."), c.AvailableCores, id)
		e.gauge(ofClient("cpu_busy_ratio",
			"Share of the window with more than 80 percent of the available CPU in use."), c.BusyShare, id)
	}
	if r.Rates != nil && r.Rates.Undelivered != nil {
		e.gauge(ofClient("undelivered_ratio",
			"Share of the requested load that the load generator failed to send."), *r.Rates.Undelivered, id)
	}
	const second = 1e3 // milliseconds
	bias := ofClient("bias_seconds",
		"Upper bound of the error caused by the load generator: at most half of the values are off by more than p50, "+
			"at most one percent by more than p99.", "metric", "stat")
	for _, b := range r.Bias {
		e.gauge(bias, b.P50/second, id, b.Metric, "p50")
		e.gauge(bias, b.P99/second, id, b.Metric, "p99")
	}
	for _, l := range []struct {
		lag        *verdict.Lag
		name, help string
	}{
		{r.TickLag, "tick_lag", "Delay of a periodic timer of the load generator."},
		{r.Scheduler, "sched_latency", "Time that goroutines were runnable before they ran."},
		{r.GCPause, "gc_pause", "Pauses of the garbage collector."},
		{r.ScheduleLag, "schedule_lag", "Delay of request starts caused by the load generator."},
		{r.SendLag, "send_lag", "Time from the start of a request until it was written, without handshakes."},
		{r.StampLag, "rx_stamp_lag", "Time from the kernel receive timestamp until the bytes were processed."},
	} {
		if l.lag == nil {
			continue
		}
		desc := ofClient(l.name+"_seconds", l.help, "stat")
		e.gauge(desc, l.lag.P50/second, id, "p50")
		e.gauge(desc, l.lag.P99/second, id, "p99")
		e.gauge(desc, l.lag.Max/second, id, "max")
	}
}

// saturation emits the metrics of an open loop: the offered and the achieved rate.
func (e *emitter) saturation(id string, s *verdict.Saturation) {
	gauge := func(name, help string, v float64) { e.gauge(family("aiperf_"+name, help, "run_id"), v, id) }
	saturated := 0.0
	if s.Saturated {
		saturated = 1
	}
	gauge("saturated", "1 if requests come faster than they are served, 0 if not. Open loops only.", saturated)
	gauge("asked_requests_per_second", "Request rate of the plan. Open loops only.", s.AskedRate)
	if s.OfferedRate != nil {
		gauge("offered_requests_per_second",
			"Rate at which requests were due: random arrivals differ from their mean.", *s.OfferedRate)
	}
	if s.AchievedRate != nil {
		gauge("achieved_requests_per_second", "Rate at which requests succeeded. Open loops only.", *s.AchievedRate)
	}
	gauge("backlog_requests_max",
		"Most requests that were due and had not returned at the same time. Open loops only.", float64(s.BacklogMax))
	gauge("cut_requests_ratio",
		"Share of the requests that were cut off by the end of the phase. Open loops only.", s.CutShare)
}
