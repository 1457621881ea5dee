package detect

import (
	"cmp"
	"testing"
	"testing/fstest"

	"aiperfd/internal/engine/dataset/file"
)

// in returns a file of a text.
func in(name string, text []byte) file.File {
	return file.File{Path: name, FS: fstest.MapFS{name: {Data: text}}, MaxBytes: 80}
}

func TestRecord(t *testing.T) {
	tests := []struct {
		text, format string
		timed        bool   // as a mooncake_trace
		name         string // default in.jsonl
	}{
		{"\n{\"timestamp\": 0, \"input_length\": 5}\n{}", "mooncake_trace", true, ""},
		{`{"timestamp": null, "hash_ids": [1]}`, "mooncake_trace", false, ""},
		{`{"hash_ids": 1}`, "single_turn", false, ""},
		{`{"messages": []}`, "raw_payload", false, ""},
		{`{"turns": [], "timestamp": 3}`, "multi_turn", true, ""},
		{`[1]`, "single_turn", false, ""},
		{`{"conversations": []}`, "sharegpt", false, ""},
		{`[{"conversations": []}]`, "sharegpt", false, "in.json"},
		{"prompt,n\na,1\n", "columns", false, "in.csv"},
		{"input_length\n1\n", "mooncake_trace", false, "in.csv"},
		{``, "single_turn", false, ""},
		{`{"text": "` + string(make([]byte, 100)) + `"}`, "single_turn", false, ""},
	}
	for _, tt := range tests {
		r := First(in(cmp.Or(tt.name, "in.jsonl"), []byte(tt.text)))
		if got, timed := r.Format(), r.Timed("mooncake_trace"); got != tt.format || timed != tt.timed {
			t.Errorf("%q: format %s, timed %v; want %s, %v", tt.text, got, timed, tt.format, tt.timed)
		}
	}
	if IsTrace("single_turn") || Record(nil).Timed("single_turn") || !Record(nil).Timed("burst_gpt_trace") {
		t.Error("single_turn is no trace, burst_gpt_trace is one with times")
	}
}

func FuzzFirst(f *testing.F) {
	f.Add([]byte("{\"timestamp\":1}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r := First(in("in.jsonl", text)); r.Format() == "" {
			t.Error("no format")
		}
	})
}
