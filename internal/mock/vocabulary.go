package mock

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
)

// translation is a family of another server that has the values of one of vLLM's.
type translation struct {
	name, from string
	help       string
	as         translated
	reason     string // only the series with this finished_reason, without that label; empty = all
}

// translated is what becomes of the values.
type translated int

// The values of a translation. SGLang and others count when a request ends, as the histograms of vLLM do.
const (
	unchanged translated = iota
	summed               // a counter: the sum of a histogram
	counted              // a counter: the number of values of a histogram
)

// sglangRows are the families of SGLang that are counted by request.
func sglangRows() []translation {
	return []translation{
		{name: "sglang:prompt_tokens_total", from: "request_prompt_tokens", as: summed, help: "Number of prefill tokens processed."},
		{name: "sglang:generation_tokens_total", from: "request_generation_tokens", as: summed, help: "Number of generation tokens processed."},
		{name: "sglang:num_requests_total", from: "request_prompt_tokens", as: counted, help: "Number of requests processed."},
		{name: "sglang:num_aborted_requests_total", from: "request_success_total", reason: "abort", help: "Number of requests aborted."},
		{name: "sglang:time_to_first_token_seconds", from: "time_to_first_token_seconds", help: "Time from the arrival of a request to its first token."},
		{name: "sglang:inter_token_latency_seconds", from: "inter_token_latency_seconds", help: "Time from one token to the next."},
		{name: "sglang:e2e_request_latency_seconds", from: "e2e_request_latency_seconds", help: "Time from the arrival of a request to its end."},
		{name: "sglang:queue_time_seconds", from: "request_queue_time_seconds", help: "Time that requests spend in the queue."},
	}
}

// tensorRTLLMRows are the families of TensorRT-LLM that are counted by request.
func tensorRTLLMRows() []translation {
	return []translation{
		{
			name: "trtllm_prompt_tokens_total", from: "request_prompt_tokens", as: summed,
			help: "Number of prompt tokens processed.",
		},
		{
			name: "trtllm_generation_tokens_total", from: "request_generation_tokens", as: summed,
			help: "Number of tokens generated.",
		},
		{
			name: "trtllm_request_success_total", from: "request_success_total",
			help: "Count of finished requests by reason.",
		},
		{
			name: "trtllm_time_to_first_token_seconds", from: "time_to_first_token_seconds",
			help: "Time from the arrival of a request to its first token.",
		},
		{
			name: "trtllm_time_per_output_token_seconds", from: "request_time_per_output_token_seconds",
			help: "Time from token to token, a mean for each request.",
		},
		{
			name: "trtllm_e2e_request_latency_seconds", from: "e2e_request_latency_seconds",
			help: "Time from the arrival of a request to its end.",
		},
		{
			name: "trtllm_request_queue_time_seconds", from: "request_queue_time_seconds",
			help: "Time that requests spend in the queue.",
		},
		{
			name: "trtllm_request_prefill_time_seconds", from: "request_prefill_time_seconds",
			help: "Time from the queue to the first token.",
		},
		{
			name: "trtllm_request_decode_time_seconds", from: "request_decode_time_seconds",
			help: "Time from the first token to the last.",
		},
	}
}

// translator gathers families of vLLM under the names of another server.
type translator struct {
	from   prometheus.Gatherer
	rows   []translation
	engine string // the value of the label engine_type
}

var _ prometheus.Gatherer = (*translator)(nil)

// Gather implements prometheus.Gatherer.
func (t *translator) Gather() ([]*dto.MetricFamily, error) {
	families, err := t.from.Gather()
	if err != nil {
		return nil, err
	}
	var out []*dto.MetricFamily
	for i := range t.rows {
		row := &t.rows[i]
		at := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "vllm:"+row.from })
		if at >= 0 {
			out = append(out, row.of(families[at], t.engine))
		}
	}
	slices.SortFunc(out, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, nil
}

// of returns the family that a row makes of one of vLLM's.
func (r *translation) of(f *dto.MetricFamily, engine string) *dto.MetricFamily {
	kind := f.GetType()
	if r.as != unchanged {
		kind = dto.MetricType_COUNTER
	}
	out := &dto.MetricFamily{Name: &r.name, Help: &r.help, Type: &kind}
	for _, m := range f.Metric {
		labels, wanted := r.labels(m.Label, engine)
		if !wanted {
			continue
		}
		one := &dto.Metric{Label: labels}
		switch r.as {
		case unchanged:
			one.Counter, one.Histogram = m.Counter, m.Histogram
		case summed:
			one.Counter = &dto.Counter{Value: m.Histogram.SampleSum}
		case counted:
			one.Counter = &dto.Counter{Value: new(float64(m.Histogram.GetSampleCount()))}
		}
		out.Metric = append(out.Metric, one)
	}
	return out
}

// labels returns the labels of a series in the vocabulary of the other server; wanted = false if it has no such series.
func (r *translation) labels(all []*dto.LabelPair, engine string) (out []*dto.LabelPair, wanted bool) {
	wanted = true
	for _, l := range all {
		switch {
		case l.GetName() == "engine":
			out = append(out, &dto.LabelPair{Name: new("engine_type"), Value: &engine})
		case l.GetName() == "finished_reason" && r.reason != "":
			wanted = l.GetValue() == r.reason
		default:
			out = append(out, l)
		}
	}
	return out, wanted
}

// What is known of the habits of other servers.
const (
	decodeLogInterval = 40               // decoding steps of SGLang after which it sets its gauges
	idleLogInterval   = 30 * time.Second // after which an idle SGLang sets them
)

// lateStats are the states of the engine that servers show which do not look at it when they are asked: SGLang sets its
// gauges when prompts are admitted and every 40 steps, TensorRT-LLM with the statistics of a completed step.
type lateStats struct {
	mu        sync.Mutex
	logged    batch.Stats // guarded by mu, like what follows
	loggedNs  int64       // 0 = never
	iteration batch.Stats
}

// scheduled takes the state in a step that begins at a time; admitted: it has new prompts.
func (l *lateStats) scheduled(s batch.Stats, admitted bool, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if admitted || s.Steps%decodeLogInterval == 0 || l.loggedNs == 0 {
		l.logged, l.loggedNs = inStep(s), at
	}
}

// completed takes the state at the end of a step.
func (l *lateStats) completed(s batch.Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.iteration = inStep(s)
}

// inStep returns the state as it was during the step.
func inStep(s batch.Stats) batch.Stats {
	s.Running, s.BlocksUsed = s.StepRunning, s.StepBlocks
	return s
}

// ofSGLang returns the state that SGLang shows at a time.
func (l *lateStats) ofSGLang(current batch.Stats, now int64) batch.Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loggedNs == 0 || now-l.loggedNs >= int64(idleLogInterval) {
		return current
	}
	return l.logged
}

// ofIteration returns the state of the last completed step.
func (l *lateStats) ofIteration() batch.Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.iteration
}

// addPages makes the pages of all servers.
func (m *metrics) addPages(s *Server) {
	page := func(parts ...prometheus.Gatherer) http.Handler {
		return promhttp.HandlerFor(prometheus.Gatherers(parts), promhttp.HandlerOpts{})
	}
	sglang, trtllm := prometheus.NewRegistry(), prometheus.NewRegistry()
	m.addSGLang(s, sglang)
	m.addTensorRTLLM(s, trtllm)
	m.handlers = map[string]http.Handler{
		options.MetricsVLLM:        page(m.registry),
		options.MetricsSGLang:      page(&translator{m.registry, sglangRows(), "unified"}, sglang),
		options.MetricsTensorRTLLM: page(&translator{m.registry, tensorRTLLMRows(), "trtllm"}, trtllm),
	}
}

// gauges registers values of a state of the engine.
func gauges(reg *prometheus.Registry, labels prometheus.Labels, state func() batch.Stats, rows []gaugeRow) {
	for _, row := range rows {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: row.name, Help: row.help, ConstLabels: labels}, func() float64 {
			return row.value(state())
		}))
	}
}

// gaugeRow is a gauge of the state of an engine.
type gaugeRow struct {
	name, help string
	value      func(batch.Stats) float64
}

func usedShare(b batch.Stats) float64 { return float64(b.BlocksUsed) / float64(max(b.Blocks, 1)) }

// addSGLang registers what SGLang's scheduler says, in rank 0 of its workers, and its cached tokens.
func (m *metrics) addSGLang(s *Server, reg *prometheus.Registry) {
	m.cached = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sglang:cached_tokens_total", Help: "Number of cached prompt tokens.",
	}, []string{"model_name"})
	reg.MustRegister(m.cached)
	size := 0
	if p := s.opt.Accelerator; p != nil {
		size = p.BlockSize
	}
	tokens := func(blocks int) float64 { return float64(blocks * size) }
	labels := prometheus.Labels{
		"model_name": s.model.Models()[0], "engine_type": "unified", "tp_rank": "0", "pp_rank": "0",
	}
	state := func() batch.Stats {
		if s.accelerator == nil {
			return s.engineStats()
		}
		return m.late.ofSGLang(s.engineStats(), s.now())
	}
	rows := []gaugeRow{
		{"sglang:num_running_reqs", "The number of running requests.", func(b batch.Stats) float64 { return float64(b.Running) }},
		{"sglang:num_queue_reqs", "The number of requests in the waiting queue.", func(b batch.Stats) float64 { return float64(b.Waiting) }},
		{"sglang:token_usage", "The share of the tokens of the cache that is in use.", usedShare},
		{"sglang:num_used_tokens", "The number of used tokens.", func(b batch.Stats) float64 { return tokens(b.BlocksUsed) }},
		{"sglang:max_total_num_tokens", "The number of tokens of the cache.", func(b batch.Stats) float64 { return tokens(b.Blocks) }},
		{"sglang:num_retracted_reqs", "The number of retracted requests.", func(b batch.Stats) float64 { return float64(b.Preemptions - m.since.Preemptions) }},
		{"sglang:cache_hit_rate", "The hit rate of the prefix cache.", func(b batch.Stats) float64 {
			return float64(b.PrefixHits-m.since.PrefixHits) / float64(max(b.PrefixQueries-m.since.PrefixQueries, 1))
		}},
	}
	gauges(reg, labels, state, rows)
}

// addTensorRTLLM registers what TensorRT-LLM says of its iterations.
func (m *metrics) addTensorRTLLM(s *Server, reg *prometheus.Registry) {
	labels := prometheus.Labels{"model_name": s.model.Models()[0], "engine_type": "trtllm"}
	state := func() batch.Stats {
		if s.accelerator == nil {
			return s.engineStats()
		}
		out := m.late.ofIteration()
		if current := s.engineStats(); current.Running+current.Waiting == 0 {
			out.Running, out.Waiting, out.BlocksUsed = 0, 0, current.BlocksUsed // its last step has ended
		}
		out.Blocks = s.opt.Accelerator.Blocks
		return out
	}
	size := 1
	if p := s.opt.Accelerator; p != nil {
		size = p.BlockSize
	}
	reused := func(b batch.Stats) float64 { return float64((b.PrefixHits - m.since.PrefixHits) / int64(size)) }
	missed := func(b batch.Stats) float64 {
		return float64((b.PrefixQueries-m.since.PrefixQueries)/int64(size)) - reused(b)
	}
	rows := []gaugeRow{
		{"trtllm_num_requests_running", "Requests that the engine works on.", func(b batch.Stats) float64 { return float64(b.Running) }},
		{"trtllm_num_requests_waiting", "Requests that wait for the engine.", func(b batch.Stats) float64 { return float64(b.Waiting) }},
		{"trtllm_kv_cache_utilization", "The share of the key-value cache that is in use.", usedShare},
		{"trtllm_kv_cache_hit_rate", "The hit rate of the key-value cache.", func(b batch.Stats) float64 {
			return reused(b) / max(reused(b)+missed(b), 1)
		}},
		{"trtllm_kv_cache_max_blocks", "The blocks of the key-value cache.", func(b batch.Stats) float64 { return float64(b.Blocks) }},
		{"trtllm_kv_cache_tokens_per_block", "The tokens of a block.", func(batch.Stats) float64 { return float64(size) }},
	}
	gauges(reg, labels, state, rows)
	for name, value := range map[string]func(batch.Stats) float64{"reused": reused, "missed": missed} {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "trtllm_kv_cache_" + name + "_blocks_total", Help: "Blocks that the cache had (reused) or not (missed).", ConstLabels: labels,
		}, func() float64 { return max(value(state()), 0) }))
	}
}

// servedMetrics returns the metrics, which begin again with the first reading after Options.MetricsReset.
func (s *Server) servedMetrics() *metrics {
	old := s.metrics()
	if s.opt.MetricsReset == 0 || old.renewed || s.since() < s.opt.MetricsReset {
		return old
	}
	next := newMetrics(s)
	next.renewed = true
	if !s.pages.CompareAndSwap(old, next) { // another reading was faster
		next = s.metrics()
	}
	return next
}

// pageOf serves the page of one kind of server.
func pageOf(of string) func(s *Server, w http.ResponseWriter, r *http.Request) {
	return func(s *Server, w http.ResponseWriter, r *http.Request) {
		s.servedMetrics().handlers[of].ServeHTTP(w, r)
	}
}

// iteration is an iteration of TensorRT-LLM as its JSON has it.
type iteration struct {
	Iter   int64 `json:"iter"`
	Active int   `json:"numActiveRequests"`
	Queued int   `json:"numQueuedRequests"`
	Cache  struct {
		Max      int `json:"maxNumBlocks"`
		Used     int `json:"usedNumBlocks"`
		Free     int `json:"freeNumBlocks"`
		PerBlock int `json:"tokensPerBlock"`
	} `json:"kvCacheStats"`
}

// serveMetrics serves what the server has at /metrics: its page, or of TensorRT-LLM the last iteration as JSON.
func serveMetrics(s *Server, w http.ResponseWriter, r *http.Request) {
	if s.opt.Metrics != options.MetricsTensorRTLLM {
		pageOf(s.opt.Metrics)(s, w, r)
		return
	}
	last := []iteration{}
	if p := s.opt.Accelerator; p != nil {
		b := s.servedMetrics().late.ofIteration()
		one := iteration{Iter: b.Steps, Active: b.Running, Queued: b.Waiting}
		one.Cache.Max, one.Cache.Used, one.Cache.Free = p.Blocks, b.BlocksUsed, p.Blocks-b.BlocksUsed
		one.Cache.PerBlock = p.BlockSize
		last = append(last, one)
	}
	api.OK(w, last)
}

// serveSecondMetrics serves the page of TensorRT-LLM, the only server that has it there.
func serveSecondMetrics(s *Server, w http.ResponseWriter, r *http.Request) {
	if s.opt.Metrics != options.MetricsTensorRTLLM {
		http.NotFound(w, r)
		return
	}
	pageOf(options.MetricsTensorRTLLM)(s, w, r)
}
