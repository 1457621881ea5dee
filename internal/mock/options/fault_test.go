package options

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFaultErrors(t *testing.T) {
	tests := []struct{ rule, want string }{
		{"", `unknown action "", accepted: status, reset, close, stall, slow_headers, stream_error, malformed, empty, job, kind, html_200, redirect, slow_body, bad_chunk`},
		{"explode", `unknown action "explode", accepted: status, reset, close, stall, slow_headers, stream_error, malformed, empty, job, kind, html_200, redirect, slow_body, bad_chunk`},
		{"status", `want an HTTP status between 400 and 599, as in status:503, got ""`},
		{"status:200", `status is 200, accepted: 400 to 599`},
		{"status:503,body=xml", `body is "xml", accepted: vllm, openai, fastapi, sglang, text, html, empty, json_string, huge, echo_headers`},
		{"status:503,retry_after=soon", `retry_after is "soon", accepted: seconds ≥ 0`},
		{"status:503,for=3s", `unknown key "for" of status, accepted: body, retry_after, rate, every, first, requests`},
		{"status:503,rate", `"rate" is not KEY=VALUE`},
		{"status:503,rate=1.5", `rate is "1.5", accepted: a number between 0 and 1`},
		{"status:503,every=0", `every is "0", accepted: a whole number ≥ 1`},
		{"status:503,first=x", `first is "x", accepted: a whole number ≥ 1`},
		{"status:503,requests=5-3", `requests is "5-3", accepted: N, N-M or N-, counted from 1`},
		{"reset:later", `unknown position "later", accepted: before_headers, after_headers, after_tokens:N, after_finish, after_done`},
		{"close:after_tokens:-1", `unknown position "after_tokens:-1", accepted: before_headers, after_headers, after_tokens:N, after_finish, after_done`},
		{"stall:after_headers,for=long", `for is "long", accepted: a duration such as 30s, or forever`},
		{"slow_headers", `slow_headers wants a duration, as in slow_headers:2s, got ""`},
		{"malformed:after_headers", `malformed wants after_tokens:N, got "after_headers"`},
		{"malformed:after_tokens:1,kind=odd", `kind is "odd", accepted: bad_json, truncated_json, nan, invalid_utf8, raw_newline, wrong_field_types, not_sse, two_objects`},
		{"empty:all", `empty wants body, output or choices, got "all"`},
	}
	for _, tt := range tests {
		_, err := ParseFault(tt.rule)
		want := fmt.Sprintf("parse fault %q: %s", tt.rule, tt.want)
		if err == nil || err.Error() != want {
			t.Errorf("ParseFault(%q) = %v, want %v", tt.rule, err, want)
		}
	}
}

func TestFaultSelectors(t *testing.T) {
	tests := []struct {
		rule string
		want []int64 // of the requests 1 to 12
	}{
		{"empty:body", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"empty:body,every=5", []int64{5, 10}},
		{"empty:body,first=2", []int64{1, 2}},
		{"empty:body,requests=3", []int64{3}},
		{"empty:body,requests=3-5", []int64{3, 4, 5}},
		{"empty:body,requests=11-", []int64{11, 12}},
		{"empty:body,requests=2-9,every=4", []int64{4, 8}},
		{"empty:body,requests=2-9,first=3", []int64{2, 3}},
		{"empty:body,rate=0", nil},
	}
	for _, tt := range tests {
		f := mustRule(t, tt.rule)
		var got []int64
		for seq := int64(1); seq <= 12; seq++ {
			if f.Matches(1, 0, seq) {
				got = append(got, seq)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s matches (-want +got):\n%s", tt.rule, diff)
		}
		if f.String() != tt.rule {
			t.Errorf("String() = %q, want %q", f.String(), tt.rule)
		}
	}
}

func TestFaultRate(t *testing.T) {
	f := mustRule(t, "empty:body,rate=0.1")
	count := func(seed uint64, index int) (n int) {
		for seq := int64(1); seq <= 20000; seq++ {
			if f.Matches(seed, index, seq) {
				n++
			}
		}
		return n
	}
	// Binomial(20000, 0.1): sd 42; four of them either side.
	if n := count(1, 0); n < 1830 || n > 2170 {
		t.Errorf("rate 0.1 matched %d of 20000", n)
	}
	if a, b := count(1, 0), count(1, 0); a != b {
		t.Errorf("the same seed matched %d, then %d", a, b)
	}
	if a, b, c := count(1, 0), count(2, 0), count(1, 1); a == b && b == c {
		t.Errorf("seed and place in the list change nothing: %d", a)
	}
}

// FuzzParseFault checks that no rule makes the parser panic, and that the text of an
// accepted rule parses to the same rule.
func FuzzParseFault(f *testing.F) {
	for _, s := range []string{
		"status:503,rate=0.1", "reset:after_tokens:5,every=10", "stall:after_headers,for=3s,requests=2-", "malformed:after_tokens:0,kind=nan",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := ParseFault(text)
		if err != nil {
			return
		}
		again, err := ParseFault(rule.String())
		if err != nil || again != rule {
			t.Errorf("%q reads back as %+v, error %v; want %+v", text, again, err, rule)
		}
	})
}

func mustRule(t testing.TB, text string) Fault {
	t.Helper()
	f, err := ParseFault(text)
	if err != nil {
		t.Fatalf("ParseFault(%q): %v", text, err)
	}
	return f
}
