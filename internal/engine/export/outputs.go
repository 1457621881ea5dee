package export

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
)

// FragmentsFile is where the texts of a run are collected, in the order in which
// requests end, before outputs.json can be written. Its name starts with a dot because
// it is not an artifact for users.
const FragmentsFile = ".outputs.jsonl"

// outputMetrics are the metrics in outputs.json.
var outputMetrics = [...]string{
	"input_sequence_length", "output_token_count", "output_sequence_length", "request_latency", "time_to_first_token", "inter_token_latency",
}

// WriteOutput appends the texts of a response to the fragments: session, turn, whether
// it belongs to a warm-up, and its entry in outputs.json.
func (w *RecordWriter) WriteOutput(r *bench.Record) error {
	p := w.phases[r.Phase]
	w.buf = fmt.Appendf(w.buf, "%d %d %t ", r.SessionNum, r.Turn, p.Kind == bench.Warmup)
	w.buf = append(w.output(append(w.buf, '{'), r, &p), "}\n"...)
	if len(w.buf) >= recordBuffer {
		return w.Flush()
	}
	return w.err
}

// output appends the members of an entry of outputs.json.
func (w *RecordWriter) output(b []byte, r *bench.Record, p *PhaseName) []byte {
	s := &r.Stamps
	b = field(b, "session_num", r.SessionNum)
	b = w.text(b, "conversation_id", r.ConversationID)
	b = field(b, "turn_index", int64(r.Turn))
	b = w.text(b, "x_request_id", r.RequestID)
	b = w.wall(b, "request_start_ns", s.Start, s.Permit, s.Due)
	b = w.wall(b, "request_end_ns", s.End, s.Start, s.Permit)
	b = w.text(b, "benchmark_phase", string(p.Kind))
	b = append(key(b, "metrics"), '{')
	w.metric.Load(r)
	w.metric.Values(func(d *catalogue.Def, v float64) {
		if finite(v) && slices.Contains(outputMetrics[:], d.Tag) {
			b = appendValue(key(b, d.Tag), d, v)
		}
	})
	return w.answers(append(b, '}'), r.Answer.Choices)
}

// answers appends the texts of all choices together.
func (w *RecordWriter) answers(b []byte, choices []bench.Choice) []byte {
	var reasoning, all strings.Builder
	var calls []bench.ToolCall
	for i := range choices {
		c := &choices[i]
		reasoning.WriteString(c.Reasoning)
		all.WriteString(c.Reasoning + c.Text + c.Refusal)
		calls = append(calls, c.ToolCalls...)
	}
	if all.Len() == 0 {
		b = append(key(b, "response_text"), "null"...)
	} else {
		b = w.text(b, "response_text", all.String())
	}
	if reasoning.Len() > 0 {
		b = w.text(b, "reasoning_text", reasoning.String())
	}
	if len(calls) > 0 {
		b = append(key(b, "tool_calls"), '[')
		for i := range calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = w.text(append(b, '{'), "id", calls[i].ID)
			b = w.text(b, "name", calls[i].Name)
			b = append(w.text(b, "arguments", calls[i].Arguments), '}')
		}
		b = append(b, ']')
	}
	if len(choices) > 0 && choices[0].Finish != "" {
		b = w.text(b, "finish_reason", string(choices[0].Finish))
	}
	return b
}
