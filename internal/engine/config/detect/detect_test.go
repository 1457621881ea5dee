package detect

import "testing"

func TestRecord(t *testing.T) {
	tests := []struct {
		text, format string
		timed        bool // as a mooncake_trace
	}{
		{"\n{\"timestamp\": 0, \"input_length\": 5}\n{}", "mooncake_trace", true},
		{`{"timestamp": null, "hash_ids": [1]}`, "mooncake_trace", false},
		{`{"hash_ids": 1}`, "single_turn", false},
		{`{"messages": []}`, "raw_payload", false},
		{`{"turns": [], "timestamp": 3}`, "multi_turn", true},
		{`[1]`, "single_turn", false},
		{``, "single_turn", false},
		{`{"text": "` + string(make([]byte, 100)) + `"}`, "single_turn", false},
	}
	for _, tt := range tests {
		r := First([]byte(tt.text), 80)
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
		if r := First(text, 1<<10); r.Format() == "" {
			t.Error("no format")
		}
	})
}
