package export

import (
	"bytes"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
)

func TestOutputs(t *testing.T) {
	second, first, warmup, failed := testRecord(), testRecord(), testRecord(), testRecord()
	second.Answer.Choices = []bench.Choice{{
		Reasoning: "think <", Text: "the hidden key", Finish: bench.FinishToolCalls,
		ToolCalls: []bench.ToolCall{{ID: "call-1", Name: "f", Arguments: `{"key": "hidden"}`}},
	}, {Index: 1, Text: " and more"}}
	first.Turn = 0
	warmup.Phase, warmup.SessionNum = 0, 1
	failed.SessionNum = 9
	failed.Answer = bench.Answer{Failure: &bench.Failure{Class: bench.ServerError, Status: 500}}
	o := testOptions()
	o.Secrets = redact.NewSet("hidden")
	var fragments bytes.Buffer
	w := NewRecordWriter(&fragments, o)
	for _, r := range []*bench.Record{failed, second, warmup, first} {
		if err := w.WriteOutput(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	compare(t, "outputs.jsonl", fragments.Bytes())
}
