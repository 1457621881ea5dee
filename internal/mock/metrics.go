package mock

import (
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxModelLabels is the maximum number of values of the label model_name; requests for
// further names count under otherModel.
const maxModelLabels = 100

const otherModel = "other"

// metrics is the registry of one server, with the names, labels and buckets of
// vLLM's exporter.
type metrics struct {
	handler    http.Handler
	registry   *prometheus.Registry
	prompt     *prometheus.CounterVec
	generation *prometheus.CounterVec
	success    *prometheus.CounterVec
	histograms [histograms]*prometheus.HistogramVec

	iterationTokens prometheus.Observer // tokens of one step

	mu     sync.RWMutex
	models map[string]*modelMetrics
}

// modelMetrics are the metrics of one model, looked up once per request.
type modelMetrics struct {
	promptTokens     prometheus.Counter
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
		handler:    promhttp.HandlerFor(reg, promhttp.HandlerOpts{}),
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
