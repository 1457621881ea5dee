package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
)

// TestLengthWarnings: a result warns of lengths that differ from those requested.
func TestLengthWarnings(t *testing.T) {
	making := func(tokens string) func(http.Handler) http.Handler { // a server that makes so many, not 3
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				body = bytes.Replace(body, []byte(`"max_completion_tokens":3`), []byte(`"max_completion_tokens":`+tokens), 1)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				next.ServeHTTP(w, r)
			})
		}
	}
	for _, test := range []struct {
		name, usage string
		extra       string
		wrap        func(http.Handler) http.Handler
		want        map[string]string // code → part of the text
	}{
		{"as asked", "", "", nil, nil},
		{"no usage", "never", "", nil, map[string]string{
			"server-usage-missing": "4 of 4 responses had no usage block",
		}},
		{"too long", "", "", making("9"), map[string]string{"output-length": "--use-legacy-max-tokens"}},
		{"too short", "", "", making("1"), map[string]string{"output-length": "--osl-exact"}},
		{"too short although it was told", "", "ignore_eos: true", making("1"), map[string]string{"output-length": "ignore_eos is set: the server ignores it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, 100*time.Millisecond, 10*time.Millisecond)
				o.Usage = test.usage
				b := newBed(t, o, test.wrap)
				r := b.run(strings.Replace(document("type: concurrency, concurrency: 2, requests: 4", fileData),
					"useServerTokenCount: true", "useServerTokenCount: true, extra: {"+test.extra+"}", 1))
				got := map[string]string{}
				for _, w := range r.Warnings {
					if w.Code == "server-usage-missing" || w.Code == "output-length" || w.Code == "usage-discrepancy" {
						got[w.Code] = w.Detail
					}
				}
				if len(got) != len(test.want) {
					t.Errorf("warnings = %q", got)
				}
				for code, text := range test.want {
					if !strings.Contains(got[code], text) {
						t.Errorf("%s = %q, want %q in it", code, got[code], text)
					}
				}
				b.stop()
			})
		})
	}
}

// TestInputWarnings: APIs without output warn, too, if the server does not count tokens.
func TestInputWarnings(t *testing.T) {
	for _, test := range []struct {
		name   string
		factor int // of the server's own count
		want   string
	}{
		{"tokens", 1, ""},
		{"another vocabulary", 2, "the server's token counts differ from the client's by more than 10 % in 2 of 2 responses: they use different tokenizers"},
		{"characters", 4, "they are 300 % apart on average, as if the server counted something other than tokens, for example characters; lengths and token rates use the server's counts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := func(http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if _, err := io.Copy(io.Discard, r.Body); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Millisecond)
						w.Header().Set("Content-Type", "application/json")
						fmt.Fprintf(w, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":%[1]d,"total_tokens":%[1]d}}`, 10*test.factor)
					})
				}
				b := newBed(t, timing(t, time.Millisecond, time.Millisecond), answer)
				r := b.run(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: embeddings}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, prompts: {isl: 10}, entries: 2}
  phases: {type: concurrency, concurrency: 1, requests: 2}
`)
				if r.State != bench.StateCompleted {
					t.Fatalf("the run is %s: %+v", r.State, r.Error)
				}
				got := ""
				for _, w := range r.Warnings {
					if w.Code == "usage-discrepancy" {
						got = w.Detail
					}
				}
				if test.want == "" && got != "" || !strings.Contains(got, test.want) {
					t.Errorf("usage-discrepancy = %q, want %q in it", got, test.want)
				}
				b.stop()
			})
		})
	}
}
