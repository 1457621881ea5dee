package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
)

// TestTextAPIs drives each API of text against the simulator: requests have exactly the
// documented shape, and responses are timed to the nanosecond.
func TestTextAPIs(t *testing.T) {
	const bearer = "Authorization: Bearer sk-1"
	for _, tt := range []struct {
		name, endpoint, system string
		headers                []string
		bodies                 string
	}{
		{
			"responses", "type: responses, streaming: true, useServerTokenCount: true", "", []string{bearer, "Accept: text/event-stream"}, `
/v1/responses {"model":"m","input":[{"type":"message","role":"user","content":"one"}],"stream":true,"max_output_tokens":3,"stream_options":{"include_usage":true}}
/v1/responses {"model":"m","input":[{"type":"message","role":"user","content":"two"}],"stream":true,"max_output_tokens":3,"stream_options":{"include_usage":true}}`,
		},
		{
			"responses with a system prompt and extra inputs",
			"type: responses, streaming: true, useServerTokenCount: true, streamUsage: false, extra: {temperature: 0.7, ignore_eos: true}", "Be brief.", []string{bearer}, `
/v1/responses {"model":"m","input":[{"type":"message","role":"user","content":"one"}],"stream":true,"max_output_tokens":3,"instructions":"Be brief.","temperature":0.7,"ignore_eos":true}
/v1/responses {"model":"m","input":[{"type":"message","role":"user","content":"two"}],"stream":true,"max_output_tokens":3,"instructions":"Be brief.","temperature":0.7,"ignore_eos":true}`,
		},
		{
			"messages", "type: anthropic, streaming: true, useServerTokenCount: true, extra: {stop: END}", "Be brief.",
			[]string{bearer, "X-Api-Key: sk-1", "Anthropic-Version: 2023-06-01", "Accept: text/event-stream"}, `
/v1/messages {"model":"m","messages":[{"role":"user","content":"one"}],"stream":true,"max_tokens":3,"system":"Be brief.","stop_sequences":["END"]}
/v1/messages {"model":"m","messages":[{"role":"user","content":"two"}],"stream":true,"max_tokens":3,"system":"Be brief.","stop_sequences":["END"]}`,
		},
		{
			"messages under a version of the user's, with a key of its own", `type: messages, streaming: true, useServerTokenCount: true, headers: {anthropic-version: "2024-01-01", X-Api-Key: mine}`, "",
			[]string{bearer, "X-Api-Key: mine", "Anthropic-Version: 2024-01-01"}, `
/v1/messages {"model":"m","messages":[{"role":"user","content":"one"}],"stream":true,"max_tokens":3}
/v1/messages {"model":"m","messages":[{"role":"user","content":"two"}],"stream":true,"max_tokens":3}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, 200*time.Millisecond, 20*time.Millisecond)
				o.APIKey = "sk-1"
				seen := &sentBodies{}
				b := newBed(t, o, seen.wrap)
				data := fileData
				if tt.system != "" {
					data = strings.Replace(data, "type: file,", "type: file, systemPrompt: "+tt.system+",", 1)
				}
				r := b.run(textDocument(tt.endpoint, data))
				if r.State != bench.StateCompleted {
					t.Fatalf("run %s: %+v", r.State, r.Error)
				}
				// columns: phase session.turn start-end ttft latency osl
				check(t, b.transcript(r.ID, "time_to_first_token", "request_latency", "output_sequence_length"), `
profiling s0.0 0s-240ms 200 240 3
profiling s1.0 240ms-480ms 200 240 3
`)
				check(t, strings.Join(seen.bodies, "\n"), tt.bodies)
				for _, want := range tt.headers {
					name, value, _ := strings.Cut(want, ": ")
					if got := seen.header.Get(name); got != value {
						t.Errorf("header %s is %q, want %q", name, got, value)
					}
				}
			})
		})
	}
}

// TestTextAPICalls: calls of tools in a response are timed like text, come out with
// their names and arguments, and are in the history of the next turn.
func TestTextAPICalls(t *testing.T) {
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprint("streaming ", streaming), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, 200*time.Millisecond, 20*time.Millisecond)
				o.APIKey, o.ParallelTools = "sk-1", 2
				seen := &sentBodies{}
				b := newBed(t, o, seen.wrap)
				r := b.run(textDocument(fmt.Sprintf(`type: responses, streaming: %t, useServerTokenCount: true, extra: {tool_choice: required, tools: `+
					`[{type: web_search}, {type: function, name: f, parameters: {type: object, properties: {city: {type: string, enum: [Oslo]}}, required: [city]}}]}`, streaming),
					"  dataset: {type: synthetic, entries: 1, isl: 16, osl: 40, turns: 2}"))
				if r.State != bench.StateCompleted {
					t.Fatalf("run %s: %+v", r.State, r.Error)
				}
				first := "200"
				if !streaming {
					first = "-"
				}
				// Two calls: of each the name, and nine tokens of arguments.
				check(t, b.transcript(r.ID, "time_to_first_token", "request_latency", "output_sequence_length"), strings.ReplaceAll(`
profiling s0.0 0s-580ms FIRST 580 20
profiling s0.1 580ms-1.16s FIRST 580 20
`, "FIRST", first))
				call := regexp.MustCompile(`{"type":"function_call","call_id":"call_[0-9a-z]+","name":"f","arguments":"{\\"city\\": \\"Oslo\\"}"}`)
				if len(seen.bodies) != 2 || len(call.FindAllString(seen.bodies[0], -1)) != 0 || len(call.FindAllString(seen.bodies[1], -1)) != 2 {
					t.Errorf("want the two calls of the first answer in the second body:\n%s", strings.Join(seen.bodies, "\n"))
				}
			})
		})
	}
}

// TestTextAPIErrors: refusals and breakdowns of these APIs are failures, by class.
func TestTextAPIErrors(t *testing.T) {
	for _, kind := range []string{"responses", "messages"} {
		for _, tt := range []struct{ fault, want string }{
			{"status:529", "overloaded"},
			{"stream_error:after_tokens:1,message=boom", "stream_error"},
			{"close:after_tokens:2", "connection_reset"},
			{"empty:output", "empty_output"},
		} {
			t.Run(kind+" "+tt.fault, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := timing(t, 200*time.Millisecond, 20*time.Millisecond)
					fault, err := mock.ParseFault(tt.fault)
					if err != nil {
						t.Fatal(err)
					}
					o.Faults = []mock.Fault{fault}
					b := newBed(t, o, nil)
					r := b.run(textDocument("type: "+kind+", streaming: true, useServerTokenCount: true", fileData))
					for _, l := range b.records(r.ID) {
						if l.Error == nil || l.Error.Type != tt.want {
							t.Errorf("error = %+v, want %q", l.Error, tt.want)
						}
					}
				})
			})
		}
	}
}

// textDocument is a benchmark of two requests, one after the other.
func textDocument(endpoint, data string) string {
	return `
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", apiKey: sk-1, ` + endpoint + `}
` + data + `
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 2}
`
}

// sentBodies records the bodies that a server receives.
type sentBodies struct {
	mu     sync.Mutex
	bodies []string
	header http.Header // of the last request
}

func (s *sentBodies) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Method == http.MethodPost { // requests for the list of models have another method
			s.mu.Lock()
			s.bodies = append(s.bodies, r.URL.Path+" "+string(body))
			s.header = r.Header.Clone()
			s.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
