package mock

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/batch"
)

// maxModelLabels is the maximum number of values of the label model_name; requests for
// further names count under otherModel.
const maxModelLabels = 100

const otherModel = "other"

// metrics is the registry of one server, with the names, labels and buckets of
// vLLM's exporter, and the pages of other servers that are made of it.
type metrics struct {
	handlers   map[string]http.Handler // by Options.Metrics
	registry   *prometheus.Registry
	since      batch.Stats // of the engine when the metrics began
	late       lateStats
	cached     *prometheus.CounterVec // of SGLang, by model_name
	renewed    bool                   // they have begun again
	prompt     *prometheus.CounterVec
	generation *prometheus.CounterVec
	success    *prometheus.CounterVec
	histograms [histograms]*prometheus.HistogramVec

	iterationTokens prometheus.Observer // tokens of one step
	spec            specMetrics

	mu     sync.RWMutex
	models map[string]*modelMetrics
}

// modelMetrics are the metrics of one model, looked up once per request.
type modelMetrics struct {
	promptTokens     prometheus.Counter
	cachedTokens     prometheus.Counter
	generationTokens prometheus.Counter
	histograms       [histograms]prometheus.Observer
	ends             map[string]prometheus.Counter // by finished_reason
}

func ttftBuckets() []float64 {
	return []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1,
		2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
	}
}

func itlBuckets() []float64 {
	return []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
}

func latencyBuckets() []float64 {
	return []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
}

func newMetrics(s *Server) *metrics {
	reg := prometheus.NewRegistry()
	labels := []string{"model_name", "engine"}
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(labels, more...))
		reg.MustRegister(c)
		return c
	}
	m := &metrics{
		registry:   reg,
		since:      s.engineStats(),
		models:     make(map[string]*modelMetrics),
		prompt:     counter("vllm:prompt_tokens_total", "Number of prefill tokens processed."),
		generation: counter("vllm:generation_tokens_total", "Number of generation tokens processed."),
		success:    counter("vllm:request_success_total", "Count of finished requests by reason.", "finished_reason"),
	}
	for i, row := range histogramTable(s.opt.MaxModelLen) {
		opts := prometheus.HistogramOpts{Name: "vllm:" + row.name, Help: row.help, Buckets: row.buckets}
		m.histograms[i] = prometheus.NewHistogramVec(opts, labels)
		reg.MustRegister(m.histograms[i])
	}
	m.addEngine(s)
	m.addPages(s)
	for _, name := range s.model.Models() {
		m.forModel(name) // makes every series exist from the start
	}
	return m
}

// forModel returns the metrics of a model.
func (m *metrics) forModel(name string) *modelMetrics {
	name = strings.ToValidUTF8(name, "\uFFFD") // labels must be UTF-8
	m.mu.RLock()
	found, ok := m.models[name]
	full := len(m.models) >= maxModelLabels
	m.mu.RUnlock()
	if ok {
		return found
	}
	if full && name != otherModel {
		return m.forModel(otherModel)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.models[name]; ok {
		return found
	}
	const engine = "0"
	made := &modelMetrics{
		cachedTokens:     m.cached.WithLabelValues(name),
		promptTokens:     m.prompt.WithLabelValues(name, engine),
		generationTokens: m.generation.WithLabelValues(name, engine),
		ends:             make(map[string]prometheus.Counter),
	}
	for i, vec := range m.histograms {
		made.histograms[i] = vec.WithLabelValues(name, engine)
	}
	for _, reason := range []string{"stop", "length", "abort", "error"} {
		made.ends[reason] = m.success.WithLabelValues(name, engine, reason)
	}
	m.models[name] = made
	return made
}

// finished counts one finished choice.
func (m *modelMetrics) finished(reason string) {
	if reason == "tool_calls" {
		reason = "stop" // the engine treats a call as text
	}
	m.ends[reason].Inc()
}

// The histograms of a model. From perOutputToken on, a request adds to them when it was
// answered.
const (
	firstToken = iota
	interToken
	requestLatency
	perOutputToken
	queueTime
	inferenceTime
	prefillTime
	decodeTime
	promptLength
	generationLength
	maxGenerationLength
	paramsN
	paramsMaxTokens
	histograms // how many
)

// histogramRow is a row of the table of histograms.
type histogramRow struct {
	name, help string
	buckets    []float64
}

func histogramTable(maxModelLen int) [histograms]histogramRow {
	spans, lengths := latencyBuckets(), lengthBuckets(maxModelLen)
	return [histograms]histogramRow{
		firstToken: {"time_to_first_token_seconds", "Time from the arrival of a request to its first token.", ttftBuckets()},
		interToken: {"inter_token_latency_seconds", "Time from one token to the next.", itlBuckets()},
		perOutputToken: {
			"request_time_per_output_token_seconds", "Time from token to token, a mean for each request.", itlBuckets(),
		},
		requestLatency:   {"e2e_request_latency_seconds", "Time from the arrival of a request to its end.", spans},
		queueTime:        {"request_queue_time_seconds", "Time that requests spend in the queue.", spans},
		inferenceTime:    {"request_inference_time_seconds", "Time from the queue to the last token.", spans},
		prefillTime:      {"request_prefill_time_seconds", "Time from the queue to the first token.", spans},
		decodeTime:       {"request_decode_time_seconds", "Time from the first token to the last.", spans},
		promptLength:     {"request_prompt_tokens", "Prompt tokens per request.", lengths},
		generationLength: {"request_generation_tokens", "Generation tokens per request, over all choices.", lengths},
		maxGenerationLength: {
			"request_max_num_generation_tokens", "Generation tokens of the longest choice per request.", lengths,
		},
		paramsN:         {"request_params_n", "The parameter n of requests.", []float64{1, 2, 5, 10, 20}},
		paramsMaxTokens: {"request_params_max_tokens", "The parameter max_tokens of requests.", lengths},
	}
}

// lengthBuckets are 1, 2, 5, 10 … up to limit.
func lengthBuckets(limit int) []float64 {
	var out []float64
	for unit := 1; ; unit *= 10 {
		for _, factor := range []int{1, 2, 5} {
			v := unit * factor
			if v > limit || v > 1<<40 {
				return out
			}
			out = append(out, float64(v))
		}
	}
}

// addEngine registers the metrics of the state of the engine.
func (m *metrics) addEngine(s *Server) {
	labels := prometheus.Labels{"model_name": s.model.Models()[0], "engine": "0"}
	gauge := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vllm:" + name, Help: help, ConstLabels: labels,
		}, value))
	}
	counter := func(name, help string, value func(batch.Stats) int64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "vllm:" + name, Help: help, ConstLabels: labels,
		}, func() float64 { return float64(value(s.engineStats()) - value(m.since)) }))
	}
	gauge("num_requests_running", "Number of requests in service.", func() float64 {
		return float64(s.engineStats().Running)
	})
	gauge("num_requests_waiting", "Number of requests that are held before service.", func() float64 {
		return float64(s.engineStats().Waiting)
	})
	usage := func() float64 { return s.cacheUsage() }
	gauge("kv_cache_usage_perc", "Share of the key-value cache in use, 0 to 1.", usage)
	if s.opt.OldMetricNames {
		gauge("gpu_cache_usage_perc", "Share of the key-value cache in use, 0 to 1; the old name.", usage)
	}
	counter("num_preemptions_total", "Number of preemptions.", func(b batch.Stats) int64 { return b.Preemptions })
	counter("prefix_cache_queries_total", "Prompt tokens that were looked up in the prefix cache.",
		func(b batch.Stats) int64 { return b.PrefixQueries })
	counter("prefix_cache_hits_total", "Prompt tokens that were found in the prefix cache.",
		func(b batch.Stats) int64 { return b.PrefixHits })
	gauge("engine_sleep_state", "1 while the engine sleeps.", func() float64 {
		if s.asleep.Load() > 0 {
			return 1
		}
		return 0
	})
	iteration := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "vllm:iteration_tokens_total", Help: "Tokens that a step computes.", ConstLabels: labels,
		Buckets: []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384},
	})
	m.registry.MustRegister(iteration)
	m.spec.register(m.registry, s.opt.Spec.Tokens, labels)
	m.iterationTokens = iteration
	if p := s.opt.Accelerator; p != nil {
		info := prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "vllm:cache_config_info", Help: "The configuration of the cache.",
			ConstLabels: prometheus.Labels{
				"engine": "0", "block_size": strconv.Itoa(p.BlockSize), "num_gpu_blocks": strconv.Itoa(p.Blocks),
				"enable_prefix_caching": map[bool]string{false: "False", true: "True"}[p.PrefixCache],
			},
		})
		info.Set(1)
		m.registry.MustRegister(info)
	}
}

// engineStats returns the state of the accelerator; without one, the numbers of requests
// in service and of those held.
func (s *Server) engineStats() batch.Stats {
	if s.accelerator != nil {
		return s.accelerator.stats()
	}
	waiting := s.waiting.Load()
	return batch.Stats{Running: int(s.running.Load() - waiting), Waiting: int(waiting)}
}

// cacheUsage returns the share of the key-value cache in use, 0 to 1; 0 without an
// accelerator.
func (s *Server) cacheUsage() float64 {
	stats := s.engineStats()
	if stats.Blocks == 0 {
		return 0
	}
	return float64(stats.BlocksUsed) / float64(stats.Blocks)
}

// span adds the time between two stamps to a histogram.
func (m *modelMetrics) span(which int, from, to int64) { m.spread(which, from, to, 1) }

// spread is span for the time between tokens: the span divided by their number.
func (m *modelMetrics) spread(which int, from, to int64, tokens int) {
	m.histograms[which].Observe(float64(to-from) / float64(time.Second) / float64(tokens))
}

// ended adds a request that was answered completely.
func (m *modelMetrics) ended(x *exchange) {
	t := &x.Truth
	queued, scheduled, first, last := t.BodyReadNs, t.BodyReadNs, t.FirstWriteNs, t.LastWriteNs
	if x.ticket != nil {
		queued, scheduled, first, last = x.ticket.times()
	}
	m.span(queueTime, queued, scheduled)
	if first > 0 { // an answer may have no content at all
		m.span(inferenceTime, scheduled, last)
		m.span(prefillTime, scheduled, first)
		m.span(decodeTime, first, last)
	}
	longest := api.LongestChoice(x.Choices)
	if longest > 1 && first > 0 && (t.Stream || x.ticket != nil) {
		m.spread(perOutputToken, first, last, longest-1)
	}
	m.cachedTokens.Add(float64(x.cachedTokens()))
	m.histograms[promptLength].Observe(float64(t.PromptTokens))
	m.histograms[generationLength].Observe(float64(t.OutputTokens))
	m.histograms[maxGenerationLength].Observe(float64(longest))
	m.histograms[paramsN].Observe(float64(x.Request.N))
	if t.MaxTokens > 0 {
		m.histograms[paramsMaxTokens].Observe(float64(t.MaxTokens))
	}
}

// times returns when the request was queued, admitted, and had its first and its
// last token.
func (t *ticket) times() (queued, admitted, first, last int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.truth.QueuedNs, t.truth.AdmittedNs, t.firstNs, t.lastNs
}
