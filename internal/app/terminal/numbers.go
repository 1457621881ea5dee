package terminal

import (
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/view"
)

// Number is one of the main numbers of a run, as text.
type Number struct {
	Name   string // such as TTFT; empty for a rate, whose unit says what it is
	Value  string // of a latency: p50/p99
	Unit   string
	Weight int // of too many numbers the one with the largest weight is left out first
}

// Numbers returns the main numbers that a run has.
func Numbers(get func(tag string, stat metric.Stat) (float64, bool)) []Number {
	var out []Number
	for _, n := range []struct {
		tag, name, unit string
		weight          int
	}{
		{"request_throughput", "", "req/s", 1},
		{"output_token_throughput", "", "tok/s", 4},
		{"time_to_first_token", "TTFT", "ms", 3},
		{"inter_token_latency", "ITL", "ms", 6},
		{"request_latency", "latency", "ms", 7},
	} {
		if n.name == "" {
			if v, ok := get(n.tag, metric.Avg); ok {
				out = append(out, Number{Value: view.Figure(v), Unit: n.unit, Weight: n.weight})
			}
			continue
		}
		p50, hasP50 := get(n.tag, metric.P50)
		p99, hasP99 := get(n.tag, metric.P99)
		if hasP50 && hasP99 {
			out = append(out, Number{n.name, view.Figure(p50) + "/" + view.Figure(p99), n.unit, n.weight})
		}
	}
	return out
}
