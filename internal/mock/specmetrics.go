package mock

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/mock/batch"
)

// specMetrics are vLLM's counters of speculative decoding, which a server without it does
// not have.
type specMetrics struct {
	drafts, drafted, accepted prometheus.Counter
	positions                 []prometheus.Counter // accepted tokens by their position in the draft
}

// register makes the counters of a server that drafts tokens per step; 0 = there are none.
func (m *specMetrics) register(reg *prometheus.Registry, tokens int, labels prometheus.Labels) {
	if tokens == 0 {
		return
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "vllm:spec_decode_" + name, Help: help, ConstLabels: labels})
		reg.MustRegister(c)
		return c
	}
	m.drafts = counter("num_drafts_total", "Number of spec decoding drafts.")
	m.drafted = counter("num_draft_tokens_total", "Number of draft tokens.")
	m.accepted = counter("num_accepted_tokens_total", "Number of accepted tokens.")
	positions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vllm:spec_decode_num_accepted_tokens_per_pos_total", Help: "Accepted tokens per draft position.", ConstLabels: labels,
	}, []string{"position"})
	reg.MustRegister(positions)
	for i := range tokens {
		m.positions = append(m.positions, positions.WithLabelValues(strconv.Itoa(i)))
	}
}

// verified counts steps that verified a draft.
func (m *metrics) verified(steps ...batch.Step) {
	for _, step := range steps {
		m.spec.drafts.Inc()
		m.spec.drafted.Add(float64(step.Drafted))
		m.spec.accepted.Add(float64(step.Accepted))
		for i := range step.Accepted {
			m.spec.positions[i].Inc()
		}
	}
}
