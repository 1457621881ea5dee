package mock

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

const (
	anyWeather = `{"name":"get_weather","description":"Weather.","input_schema":{"type":"object","properties":{` +
		`"city":{"type":"string","enum":["Oslo"]},"days":{"type":"integer","minimum":3,"maximum":3}},"required":["city"]}}`
	anySearch  = `{"type":"custom","name":"search","input_schema":{"type":"object"}}`
	serverTool = `{"type":"web_search_20250305","name":"web_search","max_uses":5}`
)

func messageWith(more string) string {
	return `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"What now?"}]` + more + `}`
}

// TestMessageCallEvents checks that a tool call is a separate block whose input is sent
// in pieces of JSON.
func TestMessageCallEvents(t *testing.T) {
	ask := `,"stream":true,"tool_choice":{"type":"any"},"tools":[` + anyWeather + `]`
	got := wireText(t, options.Options{ReasoningTokens: 1, TokensPerChunk: mustLength(t, "8")}, messagesPath, messageWith(ask))
	got = regexp.MustCompile(`toolu_[0-9a-z]+`).ReplaceAllString(got, "toolu_1")
	_, got, _ = strings.Cut(got, `data: {"type":"ping"}`+"\n\n")
	want := asEvents(
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"The"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"`+text.Signature+`"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Oslo\""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":", \"days\": 3}"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":3,"cache_creation_input_tokens":0,`+
			`"cache_read_input_tokens":0,"output_tokens":17,"output_tokens_details":{"thinking_tokens":1}}}`,
		`{"type":"message_stop"}`,
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMessageCallTruth: the name and the pieces of the input are the content events.
func TestMessageCallTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TTFT: random.ConstDelay(100 * ms), ITL: random.ConstDelay(10 * ms), TokensPerChunk: mustLength(t, "5"), TruthChunks: true})
		r.post(messagesPath, messageWith(`,"stream":true,"tool_choice":{"type":"any"},"tools":[`+anyWeather+`]`))
		truth := r.lastTruth()
		var due []time.Duration
		for _, ns := range truth.ChunkNs {
			due = append(due, time.Duration(ns-truth.AcceptNs))
		}
		if diff := cmp.Diff([]time.Duration{100 * ms, 150 * ms, 200 * ms, 250 * ms}, due); diff != "" {
			t.Errorf("content events (-want +got):\n%s", diff)
		}
	})
}

// block has the members of a content block that tests check.
type block struct {
	Type, Name, Text, ID string
	Input                json.RawMessage
}

func (r *rig) contentBlocks(body string) (content []block, stop string) {
	r.t.Helper()
	a := r.post(messagesPath, body)
	var doc struct {
		Content    []block
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != http.StatusOK {
		r.t.Fatalf("answer %d %s: %v", a.status, a.body, err)
	}
	return doc.Content, doc.StopReason
}

func TestMessageToolChoice(t *testing.T) {
	never, always := 0.0, 1.0
	tools := `,"tools":[` + serverTool + "," + anyWeather + "," + anySearch + `]`
	const either = "get_weather|search"
	for _, tt := range []struct {
		name string
		opt  options.Options
		more string
		want []string // names of calls; nil = text
	}{
		{"any", options.Options{ToolRate: &never}, tools + `,"tool_choice":{"type":"any"}`, []string{either}},
		{"named", options.Options{ToolRate: &never, ParallelTools: 2}, tools + `,"tool_choice":{"type":"tool","name":"search"}`, []string{"search"}},
		{"none", options.Options{ToolRate: &always}, tools + `,"tool_choice":{"type":"none"}`, nil},
		{"auto never", options.Options{ToolRate: &never}, tools + `,"tool_choice":{"type":"auto"}`, nil},
		{"auto always", options.Options{ToolRate: &always}, tools, []string{either}},
		{"parallel", options.Options{ToolRate: &always, ParallelTools: 3}, tools, []string{either, either, either}},
		{"not parallel", options.Options{ToolRate: &always, ParallelTools: 3}, tools + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, []string{either}},
		{"no tools", options.Options{ToolRate: &always}, `,"tools":[]`, nil},
		{"only tools of the server", options.Options{ToolRate: &always}, `,"tools":[` + serverTool + `]`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				content, stop := newRig(t, tt.opt).contentBlocks(messageWith(tt.more))
				if tt.want == nil {
					if len(content) != 1 || content[0].Type != "text" || stop == "tool_use" {
						t.Errorf("%+v, stop reason %s, want text", content, stop)
					}
					return
				}
				if len(content) != len(tt.want) || stop != "tool_use" {
					t.Fatalf("%+v, stop reason %s, want calls of %v", content, stop, tt.want)
				}
				for i, b := range content {
					if b.Type != "tool_use" || !strings.Contains(tt.want[i], b.Name) || len(b.Input) == 0 || b.Input[0] != '{' || !strings.HasPrefix(b.ID, "toolu_") {
						t.Errorf("block %+v, want a call of %s", b, tt.want[i])
					}
				}
			})
		})
	}
}

// TestMessageAfterCall checks that the result of a tool is answered with text, and that a
// truncated call has no input.
func TestMessageAfterCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{})
		must := `,"tool_choice":{"type":"any"},"tools":[` + anyWeather + `]`
		result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"7"}]}`
		content, _ := r.contentBlocks(`{"max_tokens":9,"messages":[{"role":"user","content":"x"},` + result + `]` + must + `}`)
		if len(content) != 1 || content[0].Type != "text" {
			t.Errorf("after a result: %+v, want text", content)
		}
		content, stop := r.contentBlocks(`{"max_tokens":3,"messages":[{"role":"user","content":"x"}]` + must + `}`)
		if len(content) != 1 || content[0].Type != "tool_use" || string(content[0].Input) != "{}" || stop != "max_tokens" {
			t.Errorf("cut short: %+v, stop reason %s", content, stop)
		}
	})
}

func TestMessageToolErrors(t *testing.T) {
	tools := `,"tools":[` + anyWeather + `]`
	for _, tt := range []struct{ more, message string }{
		{`,"tools":"all"`, "Input should be a valid list: tools"},
		{`,"tools":[{"input_schema":{}}]`, "Input should be a valid string: tools.name"},
		{tools + `,"tool_choice":"any"`, "Input should be a valid dictionary: tool_choice"},
		{tools + `,"tool_choice":{"type":"required"}`, `tool_choice: type should be 'auto', 'any', 'tool' or 'none', got "required".`},
		{tools + `,"tool_choice":{"type":"tool","name":"x"}`, `The tool "x" of tool_choice is not among tools.`},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newRig(t, options.Options{}).post(messagesPath, messageWith(tt.more))
			if a.status != http.StatusBadRequest || !strings.Contains(a.body, string(api.AppendString(nil, tt.message))) {
				t.Errorf("%s: %d %s, want %s", tt.more, a.status, a.body, tt.message)
			}
		})
	}
}
