package redact_test

import (
	"testing"

	"aiperfd/internal/engine/redact"
)

func TestMisplaced(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{`no such file "/models/Llama-3.1-70B-Instruct-AWQ-INT4/tokenizer.json"`, ""},
		{"time_to_first_token:500 inter_token_latency:50 at 2026-05-04T10:00:00.120Z", ""},
		{"http://10.12.0.7:8000/v1/chat/completions, nvidia/Llama-3_3-Nemotron-Super-49B-v1_5", ""},
		{"1234567890123456789012345678901234567890 of o200k_base", ""},
		{"the value 7Hq2mXz9Lr0c is bad", "the value <redacted> is bad"},
		{`"x/7Hq2mXz9Lr0cTT=": no`, `"<redacted>": no`},
		{"3f2504e0-4f89-11d3-9a0c-0305e82c3301", "<redacted>"},
		{"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "<redacted>"},
		{"Authorization: Bearer hunter2", "Authorization: <redacted>"},
		{"::::abcdefghijkl1mnop2", "<redacted>"},
	} {
		want := tc.want
		if want == "" {
			want = tc.in
		}
		got := redact.Misplaced(tc.in)
		if got != want {
			t.Errorf("Misplaced(%q) = %q, want %q", tc.in, got, want)
		}
		if again := redact.Misplaced(got); again != got {
			t.Errorf("Misplaced(%q) = %q, then %q", tc.in, got, again)
		}
	}
}

func FuzzMisplaced(f *testing.F) {
	f.Add(`unknown field "x7Hq2mXz9Lr0c"; Bearer abc`)
	f.Fuzz(func(t *testing.T, text string) {
		once := redact.Misplaced(text)
		if twice := redact.Misplaced(once); twice != once {
			t.Errorf("Misplaced(%q)\n is %q\nthen %q", text, once, twice)
		}
	})
}
