package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"

	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
)

// TestSpeculation checks that a run reports what the server counted, in the form of each server,
// streamed and in one piece, and that the numbers are those of the categories.
func TestSpeculation(t *testing.T) {
	for _, tt := range []struct{ report, kind, more string }{
		{"summary", "chat", ""},
		{"detailed", "completions", ""},
		{"sglang", "chat", ", extra: {return_spec_tokens_details: true}"},
		{"sglang", "sglang_generate", ""},
		{"trtllm", "chat", ""},
		{"none", "chat", ""},
	} {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %s %v", tt.report, tt.kind, streaming), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t, mock.Options{Spec: options.SpecOptions{
						Tokens: 3, Report: tt.report, Acceptance: []options.Acceptance{{Text: "code", Rate: 1}, {Text: "story", Rate: 0}},
					}}, nil)
					r := b.run(fmt.Sprintf(speculationRun, tt.kind, streaming, tt.more))
					tags := map[string]string{
						"total_spec_decode_steps": "num_drafts", "total_draft_tokens": "num_draft_tokens",
						"total_accepted_draft_tokens": "num_accepted_tokens",
					}
					if tt.report == "none" {
						clear(tags)
					}
					for tag, name := range tags {
						want := counterOf(t, b.server, "vllm:spec_decode_"+name+"_total")
						if got := b.value(r.ID, tag, "avg"); got != want {
							t.Errorf("%s = %v, the server counted %v", tag, got, want)
						}
					}
					for _, c := range r.Summary.ByCategory {
						want := map[string]float64{"coding": 4, "writing": 1}[c.Category]
						switch {
						case tt.report == "none":
							if c.AcceptanceLength != nil {
								t.Errorf("%s: length %v without a report", c.Category, *c.AcceptanceLength)
							}
						case c.AcceptanceLength == nil || *c.AcceptanceLength != want || c.Requests != 3:
							t.Errorf("%s: %+v, want the length %v of 3 requests", c.Category, c, want)
						}
					}
					if len(r.Summary.ByCategory) != 2 {
						t.Errorf("categories %+v, want two", r.Summary.ByCategory)
					}
				})
			})
		}
	}
}

const speculationRun = `
benchmark:
  model: m
  endpoint: {url: "http://mem", type: %s, streaming: %v%s}
  dataset:
    type: file
    format: speed_bench
    osl: 41
    records:
      - {question_id: a, category: coding, messages: [{role: user, content: write code}]}
      - {question_id: b, category: writing, messages: [{role: user, content: write a story}]}
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: 2, requests: 6}
`

// counterOf returns a counter of the page of metrics of a server.
func counterOf(t *testing.T, server *mock.Server, name string) float64 {
	t.Helper()
	w := httptest.NewRecorder()
	server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	page, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + `\{.*\} (.*)$`).FindSubmatch(page)
	if found == nil {
		t.Fatalf("no %s", name)
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
