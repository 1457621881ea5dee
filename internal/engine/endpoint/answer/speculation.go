package answer

import (
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// speculation collects reports of speculative decoding.
type speculation struct {
	found bench.Speculation
	n     int // reports
}

// Speculation records the member speculative_decoding of vLLM's metrics. A report whose
// numbers contradict each other is left out.
func (b *Builder) Speculation(metrics *fastjson.Value) {
	v := metrics.Get("speculative_decoding")
	if v == nil || v.GetObject() == nil {
		return
	}
	var s bench.Speculation
	for _, f := range []struct {
		name string
		to   *bench.Tokens
	}{{"num_spec_steps", &s.Steps}, {"num_accepted_draft_tokens", &s.Accepted}, {"num_draft_tokens", &s.Drafted}} {
		n := v.Get(f.name)
		if n == nil {
			return
		}
		count, ok := TokenCount(n)
		if !ok {
			return
		}
		*f.to = bench.Tokens(count)
	}
	if s.Steps > 0 && s.Accepted <= s.Drafted && agrees(v.Get("acceptance_histogram"), v.Get("num_spec_tokens"), &s) {
		b.speculation.found, b.speculation.n = s, b.speculation.n+1
	}
}

// agrees reports whether a histogram, whose index is the number of draft tokens that a
// step accepted, has the steps and tokens of a report. There may be none.
func agrees(histogram, most *fastjson.Value, s *bench.Speculation) bool {
	if histogram == nil || histogram.Type() == fastjson.TypeNull {
		return true
	}
	if histogram.Type() != fastjson.TypeArray {
		return false
	}
	var steps, accepted int64
	bins := histogram.GetArray()
	for i, v := range bins {
		n, ok := TokenCount(v)
		if !ok || n > int64(s.Steps) {
			return false
		}
		steps, accepted = steps+n, accepted+int64(i)*n
	}
	if most != nil {
		if n, ok := TokenCount(most); ok && n+1 != int64(len(bins)) {
			return false
		}
	}
	return steps == int64(s.Steps) && accepted == int64(s.Accepted)
}

// result returns the report; nil if there was none, or several, as with more than one
// choice.
func (s *speculation) result() *bench.Speculation {
	if s.n != 1 {
		return nil
	}
	found := s.found
	return &found
}
