package export

import (
	"bytes"
	"strings"
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
	var fragments, out bytes.Buffer
	w := NewRecordWriter(&fragments, o)
	for _, r := range []*bench.Record{failed, second, warmup, first} {
		if err := w.WriteOutput(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	torn := fragments.String() + `10 0 false {"session_nu`
	if err := WriteOutputs(&out, strings.NewReader(torn)); err != nil {
		t.Fatal(err)
	}
	compare(t, "outputs.json", out.Bytes())
	if strings.Contains(fragments.String(), "hidden") {
		t.Errorf("the fragments contain a secret: %s", fragments.String())
	}

	out.Reset()
	if err := WriteOutputs(&out, strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"schema_version\": \"1.1\",\n  \"data\": [],\n  \"warmup\": []\n}\n"; out.String() != want {
		t.Errorf("without a response: %s", out.String())
	}
	if err := WriteOutputs(&out, strings.NewReader("1 x false {}\n")); err == nil || !strings.Contains(err.Error(), "text of response 1") {
		t.Errorf("a bad line: %v", err)
	}
}

func FuzzOutputs(f *testing.F) {
	f.Add([]byte("1 0 false {\"a\":1}\n0 0 true {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		_ = WriteOutputs(&out, bytes.NewReader(data)) // an error is fine
	})
}
