package export

import (
	"strconv"

	"aiperfd/internal/engine/bench"
)

// acceptance appends AIPerf's object of speculative decoding, whose brace is open. What the server
// does not report is left out, and so are zeros of the histogram.
func acceptance(b []byte, s *bench.Speculation, u *bench.Usage) []byte {
	if s.Engine != "" {
		b = appendText(key(b, "engine"), s.Engine)
	}
	b = appendFloat(key(b, "mean_acceptance_length"), 1+float64(s.Accepted)/float64(s.Steps))
	if s.Drafted > 0 {
		b = appendFloat(key(b, "draft_acceptance_rate"), float64(s.Accepted)/float64(s.Drafted))
	}
	if s.Histogram != nil {
		b = append(key(b, "acceptance_histogram"), '{')
		for accepted, steps := range s.Histogram {
			if steps > 0 {
				b = field(b, strconv.Itoa(accepted), int64(steps))
			}
		}
		b = append(b, '}')
	}
	b = field(b, "num_accepted_draft_tokens", int64(s.Accepted))
	b = field(b, "num_draft_tokens", int64(s.Drafted))
	b = field(b, "num_spec_steps", int64(s.Steps))
	b = some(b, "num_spec_tokens", int64(s.Most))
	if u != nil && u.Output != nil {
		b = field(b, "completion_tokens", int64(*u.Output))
	}
	b = tokenList(b, "per_step_accepted", s.StepAccepted)
	b = tokenList(b, "per_step_drafted", s.StepDrafted)
	return append(b, '}')
}

// tokenList appends a list of counts, unless it is empty.
func tokenList(b []byte, name string, list []bench.Tokens) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(key(b, name), '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}
