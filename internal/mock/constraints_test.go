package mock

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/token"
)

const weatherTool = `{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{` +
	`"city":{"type":"string","enum":["Oslo"]},"days":{"type":"integer","minimum":3,"maximum":3}},"required":["city"]}}}`

const searchTool = `{"type":"function","function":{"name":"search"}}`

func chatWith(more string) string {
	return `{"messages":[{"role":"user","content":"What now?"}]` + more + `}`
}

// deltas returns the choices of the events of a stream.
func deltas(t *testing.T, lines []line) []string {
	t.Helper()
	var out []string
	for _, l := range lines {
		var event struct{ Choices []json.RawMessage }
		text, _ := strings.CutPrefix(l.text, "data: ")
		if text == "[DONE]" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			t.Fatalf("event %s: %v", text, err)
		}
		for _, c := range event.Choices {
			out = append(out, regexp.MustCompile(`"call_[0-9a-z]+"`).ReplaceAllString(string(c), `"call_1"`))
		}
	}
	return out
}

// TestToolCalls: a call streams as its name, then its arguments.
func TestToolCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TokensPerChunk: mustLength(t, "3")})
		lines, err := r.stream(chatPath, chatWith(`,"stream":true,"tool_choice":"required","tools":[`+weatherTool+`]`))
		if err != nil {
			t.Fatal(err)
		}
		const rest = `,"logprobs":null,"finish_reason":null}`
		want := []string{
			`{"index":0,"delta":{"role":"assistant","content":""}` + rest,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]}` + rest,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city"}}]}` + rest,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\": \""}}]}` + rest,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"Oslo\","}}]}` + rest,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" \"days\""}}]}` + rest,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":": 3}"}}]}` + rest,
			`{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null}`,
		}
		if diff := cmp.Diff(want, deltas(t, lines)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if truth := r.lastTruth(); truth.FinishReason != "tool_calls" || truth.OutputTokens != 16 {
			t.Errorf("truth %+v", truth)
		}
	})
}

// message is the part of a whole answer that tests check.
type message struct {
	Content   *string
	Refusal   *string
	ToolCalls []struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (r *rig) message(body string) (m message, finish string) {
	r.t.Helper()
	a := r.post(chatPath, body)
	var doc struct {
		Choices []struct {
			Message message
			Finish  string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || len(doc.Choices) == 0 {
		r.t.Fatalf("answer %d %s: %v", a.status, a.body, err)
	}
	return doc.Choices[0].Message, doc.Choices[0].Finish
}

func TestToolChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never, always := 0.0, 1.0
		tools := `,"tools":[` + weatherTool + "," + searchTool + `]`
		for _, tt := range []struct {
			name string
			opt  options.Options
			more string
			want []string // names of calls
		}{
			{"required", options.Options{}, tools + `,"tool_choice":"required"`, []string{"get_weather|search"}},
			{"named", options.Options{ToolRate: &never}, tools + `,"tool_choice":{"type":"function","function":{"name":"search"}}`, []string{"search"}},
			{"none", options.Options{ToolRate: &always}, tools + `,"tool_choice":"none"`, nil},
			{"auto never", options.Options{ToolRate: &never}, tools, nil},
			{"auto always", options.Options{ToolRate: &always}, tools, []string{"get_weather|search"}},
			{"parallel", options.Options{ToolRate: &always, ParallelTools: 2}, tools, []string{"get_weather|search", "get_weather|search"}},
			{"not parallel", options.Options{ToolRate: &always, ParallelTools: 2}, tools + `,"parallel_tool_calls":false`, []string{"get_weather|search"}},
			{"parallel as ever", options.Options{ToolRate: &always, ParallelTools: 2}, tools + `,"parallel_tool_calls":null`, []string{"get_weather|search", "get_weather|search"}},
		} {
			r := newRig(t, tt.opt)
			m, finish := r.message(chatWith(tt.more))
			if len(m.ToolCalls) != len(tt.want) || (finish == "tool_calls") != (len(tt.want) > 0) || (m.Content == nil) != (len(tt.want) > 0) {
				t.Errorf("%s: %+v, finish %s, want calls of %v", tt.name, m, finish, tt.want)
				continue
			}
			for i, call := range m.ToolCalls {
				if !strings.Contains(tt.want[i], call.Function.Name) || !json.Valid([]byte(call.Function.Arguments)) || call.ID == "" || call.Type != "function" {
					t.Errorf("%s: call %+v, want %s", tt.name, call, tt.want[i])
				}
			}
			r.stop()
		}
		r := newRig(t, options.Options{ToolRate: &always})
		m, _ := r.message(`{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null},{"role":"tool","content":"7","tool_call_id":"c"}]` + tools + `}`)
		if len(m.ToolCalls) > 0 {
			t.Errorf("after the result of a tool: %+v, want text", m)
		}
		m, finish := r.message(chatWith(tools + `,"max_tokens":3`))
		if finish != "length" || len(m.ToolCalls) != 1 {
			t.Errorf("cut short: %+v, finish %s", m, finish)
		}
	})
}

func TestConstraintErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{})
		tools := `,"tools":[` + weatherTool + `]`
		for more, want := range map[string]string{
			`,"tools":[]`:                    "Input should be a valid non-empty list: tools",
			`,"tools":[{"type":"function"}]`: "Input should be a valid string: tools.function.name",
			tools + `,"tool_choice":"maybe"`: `Input should be 'none', 'auto', 'required' or a named function, got \"maybe\".`,
			tools + `,"tool_choice":{"type":"function","function":{"name":"x"}}`: `The tool \"x\" of tool_choice is not among tools.`,
			`,"response_format":{"type":"xml"}`:                                  `got \"xml\"`,
			`,"response_format":{"type":"json_schema"}`:                          "response_format.json_schema.schema",
			`,"response_format":"json"`:                                          "Input should be a valid dictionary: response_format",
			`,"logprobs":true,"top_logprobs":21`:                                 "top_logprobs must be between 0 and 20, got 21.",
		} {
			if a := r.post(chatPath, chatWith(more)); a.status != 400 || !strings.Contains(a.body, want) {
				t.Errorf("%s: %d %s, want %s", more, a.status, a.body, want)
			}
		}
	})
}

func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{RefusalRate: 1, TokensPerChunk: mustLength(t, "20")})
		m, finish := r.message(chatWith(`,"max_tokens":500`))
		if m.Content != nil || m.Refusal == nil || *m.Refusal != api.RefusalText || finish != "stop" {
			t.Errorf("message %+v, finish %s", m, finish)
		}
		lines, err := r.stream(chatPath, chatWith(`,"stream":true`))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := deltas(t, lines)[1], `{"index":0,"delta":{"refusal":"`+api.RefusalText+`"},"logprobs":null,"finish_reason":null}`; got != want {
			t.Errorf("event %s, want %s", got, want)
		}
		if a := r.post(completionPath, `{"prompt":"x","max_tokens":5}`); strings.Contains(a.body, "sorry") {
			t.Errorf("a completion was refused: %s", a.body)
		}
	})
}

// TestStructuredOutput checks that answers are JSON that conforms to the requested
// schema, for chat and completions, streamed or not, the same for the same request.
func TestStructuredOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{})
		schema := `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["n","s"]}`
		for _, more := range []string{
			`,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + schema + `}}`,
			`,"structured_outputs":{"json":` + schema + `}`,
			`,"guided_json":` + schema,
			fmt.Sprintf(`,"guided_json":%q`, schema),
		} {
			var got struct {
				N *int
				S *string
			}
			m, finish := r.message(chatWith(more + `,"max_tokens":500`))
			if m.Content == nil || json.Unmarshal([]byte(*m.Content), &got) != nil || got.N == nil || got.S == nil || finish != "stop" {
				t.Errorf("%s: %+v, finish %s", more, m, finish)
				continue
			}
			if again, _ := r.message(chatWith(more + `,"max_tokens":500`)); *again.Content != *m.Content {
				t.Errorf("asked again: %s, before %s", *again.Content, *m.Content)
			}
			lines, err := r.stream(chatPath, chatWith(more+`,"max_tokens":500,"stream":true`))
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, d := range deltas(t, lines) {
				var c struct{ Delta struct{ Content string } }
				if err := json.Unmarshal([]byte(d), &c); err != nil {
					t.Fatal(err)
				}
				text.WriteString(c.Delta.Content)
			}
			if text.String() != *m.Content {
				t.Errorf("streamed %s, whole %s", text.String(), *m.Content)
			}
		}
		if m, _ := r.message(chatWith(`,"response_format":{"type":"json_object"}`)); !json.Valid([]byte(*m.Content)) || (*m.Content)[0] != '{' {
			t.Errorf("json_object: %s", *m.Content)
		}
		if m, _ := r.message(chatWith(`,"structured_outputs":{"choice":["yes"]}`)); *m.Content != "yes" {
			t.Errorf("choice: %s", *m.Content)
		}
		if m, finish := r.message(chatWith(`,"response_format":{"type":"json_object"},"max_tokens":4`)); finish != "length" || json.Valid([]byte(*m.Content)) {
			t.Errorf("cut short: %s, finish %s", *m.Content, finish)
		}
		if a := r.post(completionPath, `{"prompt":"x","guided_choice":["no"]}`); !strings.Contains(a.body, `"text":"no"`) {
			t.Errorf("completion: %s", a.body)
		}
	})
}

// TestConform checks generated texts with an independent validator.
func TestConform(t *testing.T) {
	s, err := New(options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{
		`{"type":"object","properties":{"a":{"type":"string","minLength":40,"maxLength":45},"b":{"type":"integer","minimum":-3,"maximum":-1}},"required":["a","b"]}`,
		`{"type":"array","minItems":3,"maxItems":4,"items":{"type":"number","minimum":0.5,"maximum":0.75}}`,
		`{"type":"array","maxItems":0,"items":{"type":"string"}}`,
		`{"type":"integer","multipleOf":7,"minimum":1,"maximum":30}`,
		`{"type":"number","maximum":-1000}`,
		`{"enum":["a","b",3]}`,
		`{"anyOf":[{"type":"boolean"},{"type":"integer","minimum":5,"maximum":6}]}`,
		`{"type":"string","format":"date-time"}`, `{"type":"string","format":"date"}`, `{"type":"string","format":"uuid"}`,
		`{"type":"object","properties":{"x":{"type":"array","items":{"type":"object","properties":{"y":{"type":"boolean"}},"required":["y"]}}},"required":["x"]}`,
		`{"properties":{"only":{"type":"string"}},"required":["only"]}`,
		`{"items":{"type":"boolean"}}`, `{"minimum":4,"maximum":5}`, `{"type":"string","maxLength":0}`,
	} {
		var schema openapi3.Schema
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 20 {
			got := s.model.Conform([]byte(text), random)
			var v any
			if err := json.Unmarshal(got, &v); err != nil {
				t.Errorf("%s: %s: %v", text, got, err)
			} else if err := schema.VisitJSON(v); err != nil {
				t.Errorf("%s: %s: %v", text, got, err)
			}
		}
	}
	for text, want := range map[string]string{
		`{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":5}`: "4",
		`{"const":{"a":[1]}}`:                                 `{"a":[1]}`,
		`{"type":["null","string"]}`:                          "null",
		`{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"const":1}}}`: "1",
		`{"$ref":"#/nowhere"}`:                                "null",
		`{"$ref":"#"}`:                                        "null",
		`no json`:                                             "{}",
		`{"type":"object"}`:                                   "{}",
	} {
		if got := string(s.model.Conform([]byte(text), random)); got != want {
			t.Errorf("conform(%s) = %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{ // schemas that refer to themselves end
		`{"type":"object","properties":{"next":{"$ref":"#"},"n":{"type":"integer"}},"required":["n"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a","b"]}`,
		`{"type":"array","minItems":9,"items":{"$ref":"#"}}`,
		`{"type":"array","minItems":1000000000,"items":{"type":"string"}}`,
		`{"type":"string","minLength":1000000000}`,
	} {
		if got := s.model.Conform([]byte(text), random); !json.Valid(got) || len(got) > 1<<20 {
			t.Errorf("conform(%s) gives %d bytes: %.100s", text, len(got), got)
		}
	}
}

func TestLogprobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Tokenizer: token.Words{}})
		var doc struct {
			Choices []struct {
				Message  struct{ Content string }
				Text     string
				Logprobs struct {
					Content []struct {
						Token   string
						Logprob float64
						Bytes   []byte
						Top     []struct {
							Token   string
							Logprob float64
						} `json:"top_logprobs"`
					}
					Tokens  []string
					Offsets []int                `json:"text_offset"`
					Values  []float64            `json:"token_logprobs"`
					Top     []map[string]float64 `json:"top_logprobs"`
				}
			}
		}
		a := r.post(chatPath, chatWith(`,"max_tokens":5,"logprobs":true,"top_logprobs":2`))
		a.body = regexp.MustCompile(`,"bytes":\[[0-9,]*\]`).ReplaceAllString(a.body, "")
		if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
		c := doc.Choices[0]
		text := ""
		for _, l := range c.Logprobs.Content {
			text += l.Token
			if l.Logprob > 0 || len(l.Top) != 2 || l.Top[0].Token != l.Token || l.Top[0].Logprob != l.Logprob || l.Top[1].Logprob >= l.Logprob || l.Top[1].Token == l.Token {
				t.Errorf("token %+v", l)
			}
		}
		if text != c.Message.Content || len(c.Logprobs.Content) != 5 {
			t.Errorf("%d tokens say %q, the answer is %q", len(c.Logprobs.Content), text, c.Message.Content)
		}
		a = r.post(completionPath, `{"prompt":"x","max_tokens":4,"logprobs":3}`)
		doc.Choices = nil
		if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
		c = doc.Choices[0]
		at := 0
		for i, token := range c.Logprobs.Tokens {
			if c.Logprobs.Offsets[i] != at || len(c.Logprobs.Top[i]) != 3 || c.Logprobs.Top[i][token] != c.Logprobs.Values[i] {
				t.Errorf("token %d: %+v", i, c.Logprobs)
			}
			at += len(token)
		}
		if got := strings.Join(c.Logprobs.Tokens, ""); got != c.Text {
			t.Errorf("tokens say %q, the text is %q", got, c.Text)
		}
		lines, err := r.stream(chatPath, chatWith(`,"max_tokens":2,"logprobs":true,"stream":true`))
		if err != nil {
			t.Fatal(err)
		}
		with := 0
		for _, d := range deltas(t, lines) {
			with += strings.Count(d, `"logprobs":{"content":[{"token":`)
		}
		if with != 2 {
			t.Errorf("%d events have log-probabilities, want 2: %v", with, lines)
		}
	})
}

// FuzzConform checks that no schema makes the generator fail.
func FuzzConform(f *testing.F) {
	for _, text := range []string{`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"anyOf":[{"allOf":[true]}]}`, `{"type":"number","multipleOf":1e-300}`, `[1]`, `{"enum":[]}`} {
		f.Add(text)
	}
	s, err := New(options.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, text string) {
		if got := s.model.Conform([]byte(text), rand.New(rand.NewPCG(1, 2))); !json.Valid(got) {
			t.Errorf("conform(%q) = %q", text, got)
		}
	})
}
