package mock

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

const ms = time.Millisecond

// shortChat requests three tokens with a fixed id.
const shortChat = `{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"max_tokens":3%s}`

// TestStreamBytes checks the whole stream for every shape option.
func TestStreamBytes(t *testing.T) {
	const (
		head   = `data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":946684800,"model":"m","choices":[`
		role   = head + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`
		finish = head + `{"index":0,"delta":{},"logprobs":null,"finish_reason":"length","stop_reason":null}]}`
		usage  = head + `],"usage":{"prompt_tokens":1,"total_tokens":4,"completion_tokens":3}}`
		done   = `data: [DONE]`
	)
	content := func(text string) string {
		return head + `{"index":0,"delta":{"content":"` + text + `"},"logprobs":null,"finish_reason":null}]}`
	}
	a, b, c := content("Hi"), content("Hi"), content("Hi")
	tests := []struct {
		name  string
		opt   options.Options
		extra string
		want  []string
	}{
		{name: "default", want: []string{role, a, b, c, finish, done}},
		{name: "role with first token", opt: options.Options{RoleChunk: options.RoleWithFirst}, want: []string{
			head + `{"index":0,"delta":{"role":"assistant","content":"Hi"},"logprobs":null,"finish_reason":null}]}`,
			b, c, finish, done,
		}},
		{name: "no role", opt: options.Options{RoleChunk: options.RoleNone}, want: []string{a, b, c, finish, done}},
		{name: "finish with last token", opt: options.Options{FinishChunk: options.FinishWithLast}, want: []string{
			role, a, b,
			head + `{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":"length","stop_reason":null}]}`, done,
		}},
		{name: "no finish", opt: options.Options{FinishChunk: options.FinishMissing}, want: []string{role, a, b, c, done}},
		{name: "no done", opt: options.Options{NoDone: true}, want: []string{role, a, b, c, finish}},
		{name: "usage asked for", extra: `,"stream_options":{"include_usage":true}`,
			want: []string{role, a, b, c, finish, usage, done}},
		{name: "usage always", opt: options.Options{Usage: options.UsageAlways}, want: []string{role, a, b, c, finish, usage, done}},
		{name: "usage never", opt: options.Options{Usage: options.UsageNever}, extra: `,"stream_options":{"include_usage":true}`,
			want: []string{role, a, b, c, finish, done}},
		{name: "usage on every chunk", extra: `,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`,
			want: []string{
				usageOn(role, 1, 0), usageOn(a, 1, 1), usageOn(b, 1, 2), usageOn(c, 1, 3), usageOn(finish, 1, 3), usage, done,
			}},
		{name: "done twice", opt: options.Options{Done: options.DoneTwice}, want: []string{role, a, b, c, finish, done, done}},
		{name: "done no", opt: options.Options{Done: options.DoneNo}, want: []string{role, a, b, c, finish}},
		{name: "empty chunks", opt: options.Options{EmptyChunks: 1}, want: []string{
			role, content(""), a, content(""), b, content(""), c, finish, done,
		}},
		{name: "two tokens a chunk", opt: options.Options{TokensPerChunk: random.ConstLength(2)},
			want: []string{role, content("HiHi"), c, finish, done}},
	}
	for _, tt := range tests {
		for _, eol := range []string{options.LineLF, options.LineCRLF} {
			for _, split := range []string{options.SplitNone, options.SplitEveryByte} {
				t.Run(tt.name+"/"+eol+"/"+split, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						opt := tt.opt
						opt.Content, opt.LineEnd, opt.Split = options.ContentEcho, eol, split
						r := newRig(t, opt)
						got := r.post(chatPath, fmt.Sprintf(shortChat, tt.extra), "X-Request-Id", "r1")
						end := map[string]string{options.LineLF: "\n\n", options.LineCRLF: "\r\n\r\n"}[eol]
						want := strings.Join(tt.want, end) + end
						if diff := cmp.Diff(want, got.body); diff != "" {
							t.Errorf("stream (-want +got):\n%s", diff)
						}
						if ct := got.header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
							t.Errorf("Content-Type = %q", ct)
						}
					})
				})
			}
		}
	}
}

// usageOn adds the continuous usage to an event.
func usageOn(event string, prompt, output int) string {
	return strings.TrimSuffix(event, "}") + fmt.Sprintf(
		`,"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}}`, prompt, prompt+output, output)
}

func TestStreamTimes(t *testing.T) {
	tests := []struct {
		name string
		opt  options.Options
		want []time.Duration // arrival of every line
	}{
		{"defaults", options.Options{}, []time.Duration{20 * ms, 20 * ms, 25 * ms, 30 * ms, 30 * ms, 30 * ms}},
		{"set", options.Options{TTFT: random.ConstDelay(100 * ms), ITL: random.ConstDelay(7 * ms)},
			[]time.Duration{100 * ms, 100 * ms, 107 * ms, 114 * ms, 114 * ms, 114 * ms}},
		{"fast", options.Options{Fast: true, TTFT: random.ConstDelay(time.Hour)}, make([]time.Duration, 6)},
		{"early role", options.Options{RoleChunk: options.RoleEarly}, []time.Duration{0, 20 * ms, 25 * ms, 30 * ms, 30 * ms, 30 * ms}},
		{"prefill", options.Options{PrefillPerToken: 3 * ms}, // one prompt token
			[]time.Duration{23 * ms, 23 * ms, 28 * ms, 33 * ms, 33 * ms, 33 * ms}},
		{"two tokens a chunk: due with the second", options.Options{TokensPerChunk: random.ConstLength(2)},
			[]time.Duration{25 * ms, 25 * ms, 30 * ms, 30 * ms, 30 * ms}},
		{"coalesced in pairs", options.Options{Coalesce: 2}, // (role, 1), (2, 3), (finish, done)
			[]time.Duration{20 * ms, 20 * ms, 30 * ms, 30 * ms, 30 * ms, 30 * ms}},
		{"comments in silence", options.Options{TTFT: random.ConstDelay(25 * ms), ITL: random.ConstDelay(0), Comments: 10 * ms},
			[]time.Duration{10 * ms, 20 * ms, 25 * ms, 25 * ms, 25 * ms, 25 * ms, 25 * ms, 25 * ms}},
		{"slow headers move everything", options.Options{Faults: mustFaults(t, "slow_headers:1s")},
			[]time.Duration{1020 * ms, 1020 * ms, 1025 * ms, 1030 * ms, 1030 * ms, 1030 * ms}},
		{"stall after two", options.Options{Faults: mustFaults(t, "stall:after_tokens:2,for=1s")},
			[]time.Duration{20 * ms, 20 * ms, 25 * ms, 1030 * ms, 1030 * ms, 1030 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.opt)
				lines, err := r.stream(chatPath, fmt.Sprintf(shortChat, ""))
				if err != nil {
					t.Fatalf("stream: %v", err)
				}
				var got []time.Duration
				for _, l := range lines {
					got = append(got, l.at)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("arrival times (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestStreamTruth compares the measurements of a client with the server's records.
func TestStreamTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{ITL: mustDelay(t, "lognormal:10ms:0.8"), TTFT: mustDelay(t, "uniform:10ms:90ms"),
			TruthChunks: true, RoleChunk: options.RoleEarly, Seed: 7})
		begin := time.Now().UnixNano()
		lines, err := r.stream(chatPath, strings.Replace(fmt.Sprintf(shortChat, ""), ":3", ":50", 1))
		if err != nil {
			t.Fatalf("stream: %v", err)
		}
		var seen []int64
		for _, l := range lines {
			if strings.Contains(l.text, `"delta":{"content"`) {
				seen = append(seen, begin+int64(l.at))
			}
		}
		got := r.lastTruth()
		if diff := cmp.Diff(seen, got.ChunkNs); diff != "" {
			t.Errorf("content event times (-client +server):\n%s", diff)
		}
		n := len(seen)
		ttft := float64(seen[0]-begin) / 1e6
		itl := float64(seen[n-1]-seen[0]) / 1e6 / 49
		want := api.Truth{
			Seq: 1, Path: chatPath, Model: "m", Stream: true, Status: 200, N: 1, MaxTokens: 50,
			PromptTokens: 1, OutputTokens: 50, FinishReason: "length",
			AcceptNs: begin, BodyReadNs: begin, HeadersNs: begin,
			FirstWriteNs: seen[0], FirstWriteEndNs: seen[0], LastWriteNs: seen[n-1], LastWriteEndNs: seen[n-1],
			EndNs: seen[n-1], ChunkNs: seen, ChunkTokens: slices.Repeat([]int{1}, 50),
			TTFTMs: &ttft, ITLMs: &itl, LatencyMs: float64(seen[n-1]-begin) / 1e6, Outcome: api.OutcomeOK,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("truth (-want +got):\n%s", diff)
		}
		if ttft < 10 || ttft > 90 {
			t.Errorf("ttft = %v ms, want 10 to 90", ttft)
		}
	})
}

func TestStreamSeveralChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Content: options.ContentEcho})
		body := `{"prompt":["one","two"],"n":2,"max_tokens":2,"stream":true,"stream_options":{"include_usage":true}}`
		lines, err := r.stream(completionPath, body)
		if err != nil {
			t.Fatalf("stream: %v", err)
		}
		var got []string
		for _, l := range lines {
			_, tail, _ := strings.Cut(l.text, `"choices":`)
			got = append(got, fmt.Sprintf("%v %s", l.at, tail))
		}
		row := func(at string, index int, text, finish string) string {
			return fmt.Sprintf(`%s [{"index":%d,"text":"%s","logprobs":null,"finish_reason":%s}]}`, at, index, text, finish)
		}
		const end = `"length","stop_reason":null`
		want := []string{
			row("20ms", 0, "one", "null"), row("20ms", 1, "one", "null"),
			row("20ms", 2, "two", "null"), row("20ms", 3, "two", "null"),
			row("25ms", 0, "one", "null"), row("25ms", 0, "", end),
			row("25ms", 1, "one", "null"), row("25ms", 1, "", end),
			row("25ms", 2, "two", "null"), row("25ms", 2, "", end),
			row("25ms", 3, "two", "null"), row("25ms", 3, "", end),
			`25ms [],"usage":{"prompt_tokens":2,"total_tokens":10,"completion_tokens":8}}`,
			`25ms `,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestReasoning(t *testing.T) {
	tests := []struct {
		name   string
		opt    options.Options
		path   string
		body   string
		fields string // one letter per event with text: r, R (renamed field), c
		usage  string
	}{
		{"before the answer", options.Options{ReasoningTokens: 2}, chatPath, `"max_tokens":5`, "rrccc",
			`"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":2}}`},
		{"renamed field", options.Options{ReasoningTokens: 1, ReasoningField: "reasoning"}, chatPath, `"max_tokens":2`, "Rc",
			`"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1}}`},
		{"uses up the budget", options.Options{ReasoningTokens: 9}, chatPath, `"max_tokens":2`, "rr",
			`"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":2}}`},
		{"chunks do not mix", options.Options{ReasoningTokens: 3, TokensPerChunk: random.ConstLength(2)}, chatPath, `"max_tokens":6`,
			"rrcc", `"completion_tokens":6,"completion_tokens_details":{"reasoning_tokens":3}}`},
		{"on top of a drawn length", options.Options{ReasoningTokens: 2, OutputTokens: random.ConstLength(1)}, chatPath, `"n":1`,
			"rrc", `"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":2}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.opt.Usage = options.UsageAlways
				r := newRig(t, tt.opt)
				got := r.post(tt.path, `{"messages":[{"role":"user","content":"x"}],"stream":true,`+tt.body+`}`)
				fields := ""
				for text := range strings.Lines(got.body) {
					switch {
					case strings.Contains(text, `"delta":{"reasoning_content":`):
						fields += "r"
					case strings.Contains(text, `"delta":{"reasoning":`):
						fields += "R"
					case strings.Contains(text, `"delta":{"content":`):
						fields += "c"
					}
				}
				if fields != tt.fields {
					t.Errorf("fields = %q, want %q", fields, tt.fields)
				}
				if !strings.Contains(got.body, tt.usage) {
					t.Errorf("usage %s is missing in %s", tt.usage, got.body)
				}
			})
		})
	}
}
