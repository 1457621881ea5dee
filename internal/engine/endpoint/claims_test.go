package endpoint

import (
	"fmt"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/anthropic"
	"aiperfd/internal/engine/endpoint/openai"
)

// counted is a content event with a cumulative usage.
func counted(text string, tokens string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}],"usage":{"prompt_tokens":3,"completion_tokens":%s}}`, text, tokens)
}

// TestImpossibleCounts: what a server claims to have counted is dropped, with a warning,
// if no response of this size can have it, and kept if it may be true.
func TestImpossibleCounts(t *testing.T) {
	usage := func(members string) string { return `{"choices":[],"usage":{` + members + `}}` }
	for _, tt := range []struct {
		name  string
		resp  *bench.Response
		usage string // input, output and reasoning; - = not reported
		want  string
	}{
		{
			"a plausible usage", sse(delta(`"content":"a"`), stop, usage(`"prompt_tokens":3,"completion_tokens":7`), "[DONE]"),
			"3 7 -", `text:1 | 0 text="a" end=stop`,
		},
		{
			"output of 2^31 tokens", sse(delta(`"content":"a"`), stop, usage(`"prompt_tokens":3,"completion_tokens":2147483648`), "[DONE]"),
			"3 - -", `text:1 | 0 text="a" end=stop impossible_token_count:1`,
		},
		{
			"reasoning of 2^63-1 tokens", sse(delta(`"content":"a"`), stop, usage(`"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":9223372036854775807}`), "[DONE]"),
			"- 5 -", `text:1 | 0 text="a" end=stop impossible_token_count:1`,
		},
		{
			"an integer that no integer type holds", sse(delta(`"content":"a"`), stop, usage(`"prompt_tokens":1e300,"completion_tokens":99999999999999999999`), "[DONE]"),
			"- - -", `text:1 | 0 text="a" end=stop impossible_token_count:2`,
		},
		{
			"-1 is unknown", sse(delta(`"content":"a"`), stop, usage(`"prompt_tokens":-1,"completion_tokens":5`), "[DONE]"),
			"- 5 -", `text:1 | 0 text="a" end=stop`,
		},
		{
			"events of several tokens", sse(counted("a", "1"), counted("bcd", "4"), counted("e", "5"), stop, "[DONE]"),
			"3 5 -", `text:1/1 text:3/3 text:1/1 | 0 text="abcde" end=stop`,
		},
		{
			"a hidden chain of thought before the first event", sse(counted("a", "100000"), counted("b", "100001"), stop, "[DONE]"),
			"3 100001 -", `text:1/100000 text:1/1 | 0 text="ab" end=stop`,
		},
		{
			"a million tokens in one small event", sse(counted("a", "1"), counted("b", "1000000"), counted("c", "1000001"), stop, "[DONE]"),
			"3 1000001 -", `text:1 text:1 text:1 | 0 text="abc" end=stop impossible_token_count:1`,
		},
		{
			"more tokens than any response has", sse(counted("a", "1"), counted(strings.Repeat("b", 100_000), "1048578"), stop, "[DONE]"),
			"3 1048578 -", fmt.Sprintf(`text:1 text:100000 | 0 text="a%s" end=stop impossible_token_count:1`, strings.Repeat("b", 100_000)),
		},
		{
			"counts of events of an impossible output", sse(counted("a", "1"), counted("b", "3000000000"), stop, "[DONE]"),
			"3 - -", `text:1 text:1 | 0 text="ab" end=stop impossible_token_count:1`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := answer.Decode(openai.Grammar())(tt.resp, true)
			if got := show(a); got != tt.want {
				t.Errorf("answer = %s, want %s", got, tt.want)
			}
			if got := counts(a.Usage); got != tt.usage {
				t.Errorf("usage = %s, want %s", got, tt.usage)
			}
		})
	}
}

// TestImpossibleMessages: the counts of Anthropic's API, whose sums do not overflow.
func TestImpossibleMessages(t *testing.T) {
	a := answer.Decode(anthropic.Grammar())(wholeBody(`{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn",
		"usage":{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,"output_tokens":5}}`), false)
	if got, want := show(a), `text:1 | 0 text="a" end=stop impossible_token_count:2`; got != want {
		t.Errorf("answer = %s, want %s", got, want)
	}
	if got, want := counts(a.Usage), "- 5 -"; got != want {
		t.Errorf("usage = %s, want %s", got, want)
	}
}

// TestAudioSeconds: lengths that no audio has are not reported.
func TestAudioSeconds(t *testing.T) {
	for _, tt := range []struct {
		seconds string
		want    float64 // < 0 = not reported
	}{{"2.5", 2.5}, {"-1", -1}, {"1e999", -1}, {"1e300", -1}} {
		a := answer.Decode(openai.Grammar())(wholeBody(`{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],
			"usage":{"prompt_tokens":1,"prompt_audio_seconds":`+tt.seconds+`}}`), false)
		got := a.Usage.AudioSeconds
		if (got == nil) != (tt.want < 0) || got != nil && *got != tt.want {
			t.Errorf("%s seconds: %v, want %v", tt.seconds, got, tt.want)
		}
	}
}

func counts(u *bench.Usage) string {
	var out []string
	for _, n := range []*bench.Tokens{u.Input, u.Output, u.Reasoning} {
		if n == nil {
			out = append(out, "-")
		} else {
			out = append(out, fmt.Sprint(*n))
		}
	}
	return strings.Join(out, " ")
}
