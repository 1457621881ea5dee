package endpoint

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

func TestParse(t *testing.T) {
	big := strings.Repeat(" ", bigDocument)
	for _, tt := range []struct {
		name, data        string
		ok, repaired, bad bool
	}{
		{"object", `{"a":1}`, true, false, false},
		{"byte order mark", "\xef\xbb\xbf[]", true, false, false},
		{"numbers NaN", `[NaN,{"a":Infinity},-Infinity,-1]`, true, true, false},
		{"NaN in a string", `["NaN \" Infinity"]`, true, false, false},
		{"nan in lower case", `[nan]`, false, false, false},
		{"inf", `[inf]`, false, false, false},
		{"odd numbers", `[1-2]`, false, false, false},
		{"leading zero", `[01]`, false, false, false},
		{"bad escape", `["\q"]`, false, false, false},
		{"line break in a string", "[\"a\nb\"]", false, false, false},
		{"NaN and worse", `[NaN,]`, false, false, false},
		{"two documents", `{} {}`, false, false, false},
		{"empty", ``, false, false, false},
		{"no UTF-8", "[\"\xff\"]", true, false, true},
		{"deep", strings.Repeat("[", 400) + strings.Repeat("]", 400), false, false, false},
		{"big", big + `{"a":1}`, true, false, false},
		{"big and broken", big + `{"a":x}`, false, false, false},
		{"big with NaN", big + `[NaN]`, true, true, false},
		{"too many values", "[" + strings.Repeat("0,", maxValues) + "0]", false, false, false},
	} {
		var p jsonParser
		v := p.parse([]byte(tt.data))
		if (v != nil) != tt.ok || p.repaired != tt.repaired || p.invalidUTF8 != tt.bad {
			t.Errorf("%s: parsed %v, repaired %v, invalid UTF-8 %v; want %v, %v, %v",
				tt.name, v != nil, p.repaired, p.invalidUTF8, tt.ok, tt.repaired, tt.bad)
		}
	}
}

func TestToValidUTF8(t *testing.T) {
	// The example of Unicode 16, section 3.9, table 3-8, and its neighbours.
	for in, want := range map[string]string{
		"é😀":               "é😀",
		"\xf0\x80\x80\x41": "���A",
		"\xf0\x9f\x98A":    "�A",
		"\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64": "���b�c��d",
		"\xed\xa0\x80": "���",
		"\xe0\x9f\xc3": "���",
		"\xf4\x90":     "��",
		"\xe2\x82":     "�",
		"\xc1\xbf":     "��",
	} {
		if got := string(toValidUTF8([]byte(in))); got != want {
			t.Errorf("toValidUTF8(%q) = %q, want %q", in, got, want)
		}
	}
}

// checkRepeat decodes events as they are, and again with white space in front
// that keeps any from being recognised as a repetition.
func checkRepeat(t *testing.T, events []string) {
	t.Helper()
	spaced := make([]string, len(events))
	for i, s := range events {
		spaced[i] = s
		if s != "[DONE]" {
			spaced[i] = strings.Repeat(" ", i%7+1) + s
		}
	}
	if diff := cmp.Diff(decodeText(sse(spaced...), true), decodeText(sse(events...), true)); diff != "" {
		t.Errorf("events %q (-parsed +repeated):\n%s", events, diff)
	}
}

func TestRepeat(t *testing.T) {
	plain := func(text string) string { return delta(`"content":"` + text + `"`) }
	var d textDecoder
	d.reset(sse())
	d.streamed = true
	for i, s := range []string{plain("a"), plain("b"), plain("é"), plain("c d")} {
		event := bench.Event{At: time.Duration(i), Data: []byte(s)}
		if got := d.repeated(event.Data); got != (i > 0) {
			t.Errorf("event %d recognised as repetition: %v", i, got)
		}
		d.event(&event)
	}
	for _, s := range []string{
		plain(""), plain(`\n`), plain(`"`), plain("\x01"), plain("\xff"), delta(`"content":"x","role":"y"`), plain("x") + " ", "", "{}",
	} {
		if d.repeated([]byte(s)) {
			t.Errorf("%q recognised as repetition", s)
		}
	}
	usage := func(n string) string {
		return `{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"completion_tokens":` + n + `}}`
	}
	for _, events := range [][]string{
		{plain("a"), plain("b"), plain("\xff"), plain(`\u0041`), plain("c\nd"), plain(`e","x":"`), stop, "[DONE]"},
		{plain("a"), `{"choices":[{"index":1,"delta":{"content":"a"}}]}`, plain("b"), `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, "[DONE]"},
		{usage("1"), usage("1"), usage("3"), plain("x"), usage("9"), "[DONE]"},
		{`{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"b"}]}`, `{"choices":[{"text": "c"}]}`, `{"choices":[{"text": "d"}]}`, "[DONE]"},
		{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}`},
		{`{"choices":[{"delta":{"content":"a"},"token_ids":[1]}]}`, `{"choices":[{"delta":{"content":"b"},"token_ids":[1]}]}`, "[DONE]"},
		{`{"choices":[{"delta":{"content":"a"},"logprobs":NaN}]}`, `{"choices":[{"delta":{"content":"b"},"logprobs":NaN}]}`, "[DONE]"},
		{`{"choices":[{"delta":{"content":"a"}},{"index":-1}]}`, `{"choices":[{"delta":{"content":"b"}},{"index":-1}]}`, "[DONE]"},
		{`{"text":"q","choices":[{"delta":{"content":"q"}}]}`, `{"text":"q","choices":[{"delta":{"content":"r"}}]}`, `{"text":"z","choices":[{"delta":{"content":"r"}}]}`, "[DONE]"},
		{`{"text":"q","choices":[{"delta":{"cont\u0065nt":"q"}}]}`, `{"text":"z","choices":[{"delta":{"cont\u0065nt":"q"}}]}`, "[DONE]"},
		{delta(`"tool_calls":[{"index":0,"function":{"arguments":"a"}}]`), delta(`"tool_calls":[{"index":0,"function":{"arguments":"b"}}]`), "[DONE]"},
	} {
		checkRepeat(t, events)
	}
}

// FuzzDecodeChat checks that no body can crash the decoder, and that an answer
// is consistent with itself.
func FuzzDecodeChat(f *testing.F) {
	for _, seed := range []string{
		delta(`"content":"a\ud83d\ude00"`) + "\n" + stop, `{"error":{"message":"x"}}`,
		`{"choices":[{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
		delta(`"content":[{"type":"thinking","thinking":[{"text":"x"}]}]`), `[NaN,{"error":["x"]}]`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, stream bool) {
		resp := document(string(data))
		if stream {
			var events []string
			for line := range bytes.Lines(data) {
				if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
					events = append(events, string(line))
				}
			}
			checkRepeat(t, events)
			resp = sse(events...)
		}
		a := decodeText(resp, stream)
		size := 0
		for _, c := range a.Chunks {
			if c.Bytes <= 0 || c.Tokens < 0 {
				t.Fatalf("chunk %+v", c)
			}
			if c.Kind != bench.Audio {
				size += int(c.Bytes)
			}
		}
		for _, c := range a.Choices {
			for _, s := range []string{c.Text, c.Reasoning, c.Refusal} {
				size -= len(s)
				if !utf8.ValidString(s) {
					t.Errorf("text %q is not UTF-8", s)
				}
			}
			for _, call := range c.ToolCalls {
				size -= len(call.Name) + len(call.Arguments)
			}
		}
		if size != 0 {
			t.Errorf("chunks and texts differ by %d bytes: %+v", size, a)
		}
		if a.Failure == nil && len(a.Chunks) == 0 && a.Warnings[warnNoVisibleOutput] == 0 {
			t.Errorf("success without output: %+v", a)
		}
		if a.Failure != nil && (a.Failure.Message == "" || len(a.Failure.Message) > maxMessage) {
			t.Errorf("message of %d bytes", len(a.Failure.Message))
		}
		if _, err := json.Marshal(a); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkDecodeChat measures the decoding of a stream of 64 tokens.
func BenchmarkDecodeChat(b *testing.B) {
	const head = `{"id":"chatcmpl-123456","object":"chat.completion.chunk","created":1700000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":`
	events := []string{head + `[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`}
	for range 64 {
		events = append(events, head+`[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}`)
	}
	events = append(events, head+`[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		head+`[],"usage":{"prompt_tokens":10,"completion_tokens":64,"total_tokens":74}}`, "[DONE]")
	resp := sse(events...)
	b.ReportAllocs()
	for b.Loop() {
		if a := decodeText(resp, true); len(a.Chunks) != 64 {
			b.Fatalf("%d chunks", len(a.Chunks))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(resp.Events)), "ns/event")
}
