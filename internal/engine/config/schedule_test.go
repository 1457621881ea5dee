package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// traceChoices are choices with formats of traces.
func traceChoices() Choices {
	c := someChoices()
	c.Formats = append(c.Formats, Choice{Name: "mooncake_trace"}, Choice{Name: "burst_gpt_trace"})
	return c
}

// traceDocument returns a document over a trace whose first record has a timestamp,
// unless the record is given.
func traceDocument(phases, dataset string) string {
	if !strings.Contains(dataset, "records") {
		dataset += ", records: [{timestamp: 5, input_length: 3}]"
	}
	if !strings.Contains(dataset, "format") {
		dataset += ", format: mooncake_trace"
	}
	return fmt.Sprintf("benchmark: {model: m, phases: [%s], datasets: [{%s}]}", phases, strings.TrimPrefix(dataset, ", "))
}

func TestSchedule(t *testing.T) {
	tests := []struct {
		name, phases, dataset string
		want                  string // the phases, or the problems
	}{
		{"a trace with timestamps is replayed", `{}`, ``, "fixed_schedule auto=true"},
		{"a time in every record of the format", `{}`, `format: burst_gpt_trace, records: [{a: 1}]`, "fixed_schedule auto=true"},
		{"a warm-up is not", `{kind: warmup, requests: 2}, {}`, ``, "concurrency 1; fixed_schedule auto=true"},
		{"a trace without timestamps is not", `{}`, `records: [{input_length: 3}]`, "concurrency 1"},
		{"nor with null", `{}`, `records: [{timestamp: null, input_length: 3}]`, "concurrency 1"},
		{"nor a prompt with one", `{requests: 5}`, `format: single_turn, records: [{text: a, timestamp: 1}]`, "concurrency 1 requests=5"},
		{"nor with a type", `{type: concurrency, concurrency: 3}`, ``, "concurrency 3"},
		{"bounds and concurrency stay", `{requests: 7, duration: 9, concurrency: 3}`, ``, "fixed_schedule 3 requests=7 auto=true"},
		{"a start offset", `{startOffset: 3, endOffset: 3}`, ``, "fixed_schedule auto=false start=3 end=3"},
		{"zero", `{type: fixed-schedule, autoOffset: false}`, ``, "fixed_schedule auto=false"},
		{"prompts with timestamps, asked for", `{type: FIXED_SCHEDULE}`, `format: single_turn, records: [{text: a, timestamp: 1}]`, "fixed_schedule auto=true"},
		{"a rate", `{rate: 5, smoothness: 2}`, ``, "#/benchmark/phases/0/rate conflict; #/benchmark/phases/0/smoothness conflict"},
		{"a rate with the type", `{type: fixed_schedule, rate: 5}`, ``, "#/benchmark/phases/0/rate conflict"},
		{"a smoothness with the type", `{type: fixed_schedule, smoothness: 5}`, ``, "#/benchmark/phases/0/smoothness conflict"},
		{"two offsets", `{autoOffset: true, startOffset: 3}`, ``, "#/benchmark/phases/0/startOffset conflict"},
		{"an end before the start", `{startOffset: 3, endOffset: 2}`, ``, "#/benchmark/phases/0/endOffset out-of-range"},
		{"a negative offset", `{startOffset: -3}`, ``, "#/benchmark/phases/0/startOffset out-of-range"},
		{"offsets of another type", `{type: concurrency, startOffset: 3, endOffset: 5, autoOffset: false}`, ``,
			"#/benchmark/phases/0/startOffset conflict; #/benchmark/phases/0/endOffset conflict; #/benchmark/phases/0/autoOffset conflict"},
		{"a random order", `{}`, `sampling: shuffle`, "#/benchmark/datasets/0/sampling conflict"},
		{"synthetic data", `{type: fixed_schedule}`, `type: synthetic, records: null, format: null`, "#/benchmark/phases/0/type conflict"},
		{"speed of synthetic data", `{requests: 5}`, `type: synthetic, records: null, format: null, replaySpeedup: 2`, "#/benchmark/datasets/0/replaySpeedup conflict"},
		{"no speed", `{}`, `replay_speedup: 0`, "#/benchmark/datasets/0/replay_speedup out-of-range"},
		{"an unknown policy", `{}`, `on_turn_error: stop`, "#/benchmark/datasets/0/on_turn_error bad-enum"},
		{"no bound over a trace in a random order", `{type: concurrency}`, `sampling: random`, "#/benchmark/phases/0/requests required"},
		{"no bound over a file of prompts", `{}`, `format: single_turn, records: [{text: a}]`, "#/benchmark/phases/0/requests required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _, err := Load([]byte(traceDocument(tt.phases, tt.dataset)), LoadOptions{Choices: traceChoices()})
			got := ""
			if err != nil {
				got = codes(t, err)
			} else {
				var all []string
				for i := range d.Benchmark.Phases {
					all = append(all, scheduleText(&d.Benchmark.Phases[i]))
				}
				got = strings.Join(all, "; ")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// scheduleText is what a schedule needs of a phase.
func scheduleText(p *Phase) string {
	if p.Kind == "warmup" {
		return fmt.Sprintf("%s %d", p.Type, *p.Concurrency)
	}
	out := p.Type
	if p.Concurrency != nil {
		out += fmt.Sprintf(" %d", *p.Concurrency)
	}
	if p.Requests != nil {
		out += fmt.Sprintf(" requests=%d", *p.Requests)
	}
	if p.AutoOffset != nil {
		out += fmt.Sprintf(" auto=%v", *p.AutoOffset)
	}
	if p.StartOffset != nil {
		out += fmt.Sprintf(" start=%d", *p.StartOffset)
	}
	if p.EndOffset != nil {
		out += fmt.Sprintf(" end=%d", *p.EndOffset)
	}
	return out
}
