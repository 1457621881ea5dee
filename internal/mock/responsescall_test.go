package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

const (
	flatWeather = `{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{` +
		`"city":{"type":"string","enum":["Oslo"]},"days":{"type":"integer","minimum":3,"maximum":3}},"required":["city"]},"strict":true}`
	flatSearch = `{"type":"function","name":"search"}`
	webSearch  = `{"type":"web_search"}`
)

func responseWith(more string) string {
	return `{"model":"m","input":"What now?"` + more + `}`
}

// numbered replaces the ids of calls by c1, c2, … in the order in which they come.
func numbered(text string) string {
	seen := map[string]string{}
	return regexp.MustCompile(`:"(fc|call)_[0-9a-z]+"`).ReplaceAllStringFunc(text, func(id string) string {
		kind, rest, _ := strings.Cut(strings.Trim(id, `:"`), "_")
		if seen[rest] == "" {
			seen[rest] = fmt.Sprintf("c%d", len(seen)+1)
		}
		return `:"` + kind + "_" + seen[rest] + `"`
	})
}

// withoutResponses removes the events that contain a whole response.
func withoutResponses(text string) string {
	var out strings.Builder
	for event := range strings.SplitAfterSeq(text, "\n\n") {
		if !strings.Contains(event, `"response":{`) {
			out.WriteString(event)
		}
	}
	return out.String()
}

const (
	weatherArguments = `"{\"city\": \"Oslo\", \"days\": 3}"`
	weatherOpen      = `{"id":"fc_c1","type":"function_call","call_id":"call_c1","name":"get_weather","arguments":"","status":"in_progress"}`
	weatherCall      = `{"id":"fc_c1","type":"function_call","call_id":"call_c1","name":"get_weather","arguments":` + weatherArguments + `,"status":"completed"}`
)

// TestResponseCallEvents: a call is added with its name, gets its arguments, is done.
func TestResponseCallEvents(t *testing.T) {
	ask := `,"stream":true,"tool_choice":"required","tools":[` + flatWeather + `]`
	got := numbered(wireText(t, options.Options{TokensPerChunk: mustLength(t, "8")}, responsesPath, responseWith(ask)))
	const at = `,"item_id":"fc_c1","output_index":0,`
	want := asEvents(
		`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":`+weatherOpen+`}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":3`+at+`"delta":"{\"city\": \"Oslo\""}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":4`+at+`"delta":", \"days\": 3}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":5`+at+`"name":"get_weather","arguments":`+weatherArguments+`}`,
		`{"type":"response.output_item.done","sequence_number":6,"output_index":0,"item":`+weatherCall+`}`,
	)
	if diff := cmp.Diff(want, withoutResponses(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, end := range []string{`"status":"completed","error":null`, `"output":[` + weatherCall + `]`, `"output_tokens":16,`} {
		if _, last, _ := strings.Cut(got, "event: response.completed"); !strings.Contains(last, end) {
			t.Errorf("%s is missing in the last event %s", end, last)
		}
	}
}

// TestResponseCallsInTurn: several calls stream one after the other, behind the
// thoughts.
func TestResponseCallsInTurn(t *testing.T) {
	ask := `,"stream":true,"tool_choice":"required","tools":[` + flatSearch + `]`
	got := numbered(wireText(t, options.Options{ParallelTools: 2, ReasoningTokens: 1, TokensPerChunk: mustLength(t, "2")}, responsesPath, responseWith(ask)))
	_, got, _ = strings.Cut(withoutResponses(got), "event: response.reasoning_text.done\n")
	item := func(call int, arguments, status string) string {
		return fmt.Sprintf(`{"id":"fc_c%d","type":"function_call","call_id":"call_c%[1]d","name":"search","arguments":"%s","status":"%s"}`, call, arguments, status)
	}
	const thought = `{"type":"reasoning_text","text":"On"}`
	want := asEvents(
		`{"type":"response.reasoning_text.done","sequence_number":5,"item_id":"rs_r1","output_index":0,"content_index":0,"text":"On"}`,
		`{"type":"response.content_part.done","sequence_number":6,"item_id":"rs_r1","output_index":0,"content_index":0,"part":`+thought+`}`,
		`{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"rs_r1","type":"reasoning","summary":[],"content":[`+thought+`],"status":"completed"}}`,
		`{"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":`+item(1, "", "in_progress")+`}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":9,"item_id":"fc_c1","output_index":1,"delta":"{}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":10,"item_id":"fc_c1","output_index":1,"name":"search","arguments":"{}"}`,
		`{"type":"response.output_item.done","sequence_number":11,"output_index":1,"item":`+item(1, "{}", "completed")+`}`,
		`{"type":"response.output_item.added","sequence_number":12,"output_index":2,"item":`+item(2, "", "in_progress")+`}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":13,"item_id":"fc_c2","output_index":2,"delta":"{}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":14,"item_id":"fc_c2","output_index":2,"name":"search","arguments":"{}"}`,
		`{"type":"response.output_item.done","sequence_number":15,"output_index":2,"item":`+item(2, "{}", "completed")+`}`,
	)
	if diff := cmp.Diff(want, "event: response.reasoning_text.done\n"+got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestResponseCallTruth: the name and the pieces of the arguments are the content
// events, each when it is due, as they are in a chat.
func TestResponseCallTruth(t *testing.T) {
	for path, body := range map[string]string{
		responsesPath: responseWith(`,"stream":true,"tool_choice":"required","tools":[` + flatWeather + `]`),
		chatPath:      chatWith(`,"stream":true,"tool_choice":"required","tools":[` + weatherTool + `]`),
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, options.Options{TTFT: random.ConstDelay(100 * ms), ITL: random.ConstDelay(10 * ms), TokensPerChunk: mustLength(t, "5"), TruthChunks: true})
			if got := r.post(path, body); got.status != http.StatusOK {
				t.Fatalf("%s: status %d, %s", path, got.status, got.body)
			}
			record := r.lastTruth()
			var due []time.Duration
			for _, ns := range record.ChunkNs {
				due = append(due, time.Duration(ns-record.AcceptNs))
			}
			// The name, and three times five of the fifteen tokens of the arguments.
			if diff := cmp.Diff([]time.Duration{100 * ms, 150 * ms, 200 * ms, 250 * ms}, due); diff != "" {
				t.Errorf("%s: content events (-want +got):\n%s", path, diff)
			}
			if record.OutputTokens != 16 || record.FinishReason != "tool_calls" || record.Outcome != api.OutcomeOK {
				t.Errorf("%s: record %+v", path, record)
			}
		})
	}
}

// callItem has the members of an item of a response that tests check.
type callItem struct {
	ID, Type, Name, Arguments, Status string
	CallID                            string `json:"call_id"`
}

func (r *rig) response(body string) (output []callItem, status string) {
	r.t.Helper()
	a := r.post(responsesPath, body)
	var doc struct {
		Output []callItem
		Status string
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != http.StatusOK {
		r.t.Fatalf("answer %d %s: %v", a.status, a.body, err)
	}
	return doc.Output, doc.Status
}

func TestResponseToolChoice(t *testing.T) {
	never, always := 0.0, 1.0
	tools := `,"tools":[` + webSearch + "," + flatWeather + "," + flatSearch + `]`
	const either = "get_weather|search"
	for _, tt := range []struct {
		name string
		opt  options.Options
		more string
		want []string // names of calls; nil = a message
	}{
		{"required", options.Options{ToolRate: &never}, tools + `,"tool_choice":"required"`, []string{either}},
		{"named", options.Options{ToolRate: &never, ParallelTools: 2}, tools + `,"tool_choice":{"type":"function","name":"search"}`, []string{"search"}},
		{"none", options.Options{ToolRate: &always}, tools + `,"tool_choice":"none"`, nil},
		{"auto never", options.Options{ToolRate: &never}, tools + `,"tool_choice":"auto"`, nil},
		{"auto always", options.Options{ToolRate: &always}, tools, []string{either}},
		{"parallel", options.Options{ToolRate: &always, ParallelTools: 3}, tools + `,"parallel_tool_calls":true`, []string{either, either, either}},
		{"not parallel", options.Options{ToolRate: &always, ParallelTools: 3}, tools + `,"parallel_tool_calls":false`, []string{either}},
		{"no tools", options.Options{ToolRate: &always}, `,"tools":[]`, nil},
		{"only tools of other types", options.Options{ToolRate: &always}, `,"tools":[` + webSearch + `],"tool_choice":"required"`, nil},
		{"a tool of another type is chosen", options.Options{ToolRate: &always}, tools + `,"tool_choice":` + webSearch, nil},
		{"a call, not the format", options.Options{ToolRate: &always}, tools + `,"text":{"format":{"type":"json_object"}}`, []string{either}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.opt)
				output, status := r.response(responseWith(tt.more))
				if tt.want == nil {
					if len(output) != 1 || output[0].Type != "message" {
						t.Errorf("%+v, want a message", output)
					}
					return
				}
				if len(output) != len(tt.want) || status != "completed" {
					t.Fatalf("%+v, status %s, want calls of %v", output, status, tt.want)
				}
				ids := map[string]bool{}
				for i, call := range output {
					ids[call.ID], ids[call.CallID] = true, true
					if call.Type != "function_call" || call.Status != "completed" || !strings.Contains(tt.want[i], call.Name) || !json.Valid([]byte(call.Arguments)) {
						t.Errorf("call %+v, want %s", call, tt.want[i])
					}
				}
				if len(ids) != 2*len(output) {
					t.Errorf("the ids of %+v are not all different", output)
				}
			})
		})
	}
}

// TestResponseAfterCall checks that the result of a tool is answered with text, and that
// a truncated call is marked as incomplete.
func TestResponseAfterCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{ParallelTools: 2})
		must := `,"tool_choice":"required","tools":[` + flatWeather + `]`
		for _, kind := range []string{"function_call_output", "custom_tool_call_output"} {
			output, _ := r.response(`{"input":[{"role":"user","content":"x"},{"type":"` + kind + `","call_id":"c","output":"7"}]` + must + `}`)
			if len(output) != 1 || output[0].Type != "message" {
				t.Errorf("after %s: %+v, want a message", kind, output)
			}
		}
		output, _ := r.response(`{"input":[{"type":"function_call_output","call_id":"c","output":"7"},{"role":"user","content":"x"}]` + must + `}`)
		if len(output) != 2 || output[0].Type != "function_call" {
			t.Errorf("after another question: %+v, want two calls", output)
		}
		output, status := r.response(responseWith(must + `,"max_output_tokens":19`))
		want := []string{"completed", "incomplete"}
		if len(output) != 2 || output[0].Status != want[0] || output[1].Status != want[1] || output[1].Arguments != `{"` || status != "incomplete" {
			t.Errorf("cut short: %+v, status %s, want calls that are %v", output, status, want)
		}
		output, status = r.response(responseWith(must + `,"max_output_tokens":16`))
		if len(output) != 1 || output[0].Status != "completed" || status != "incomplete" {
			t.Errorf("cut between the calls: %+v, status %s, want the first", output, status)
		}
	})
}

func TestResponseToolErrors(t *testing.T) {
	tools := `,"tools":[` + flatWeather + `]`
	for _, tt := range []struct{ more, param, message string }{
		{`,"tools":"all"`, "tools", "Input should be a valid non-empty list: tools"},
		{`,"tools":[1]`, "tools.name", "Input should be a valid string: tools.name"},
		{`,"tools":[{"type":"function"}]`, "tools.name", "Input should be a valid string: tools.name"},
		{`,"tools":[` + weatherTool + `]`, "tools.name", "Input should be a valid string: tools.name"},
		{tools + `,"tool_choice":"maybe"`, "tool_choice", `Input should be 'none', 'auto', 'required' or a named function, got "maybe".`},
		{tools + `,"tool_choice":{"type":"function","name":"x"}`, "tool_choice", `The tool "x" of tool_choice is not among tools.`},
		{tools + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"get_weather"}]}`, "tool_choice", "tool_choice of type 'allowed_tools' is not simulated."},
		{tools + `,"parallel_tool_calls":"no"`, "parallel_tool_calls", "Input should be a valid boolean: parallel_tool_calls"},
	} {
		synctest.Test(t, func(t *testing.T) {
			want := fmt.Sprintf(`{"error":{"message":%q,"type":"BadRequestError","param":%q,"code":400}}`, tt.message, tt.param)
			if a := newRig(t, options.Options{}).post(responsesPath, responseWith(tt.more)); a.status != http.StatusBadRequest || a.body != want {
				t.Errorf("%s: %d %s, want %s", tt.more, a.status, a.body, want)
			}
		})
	}
}
