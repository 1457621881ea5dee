package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/run"
)

const (
	plainRows  = `{text: one word}, {texts: [two, more words]}, {text: three}`
	rankedRows = `{texts: [{name: query, contents: [one word]}, {name: passages, contents: [a word, two]}]}, {texts: [{name: query, contents: [x]}, {name: documents, contents: [y]}]}`
)

// TestVectorTypes runs every type whose answers are no generated text against the
// simulator: no errors, exact latencies, the server's input tokens, and no metric of
// output or streams.
func TestVectorTypes(t *testing.T) {
	for _, tt := range []struct {
		kind, rows string
		tokens     float64 // of all six requests, by the server or the client
		items      float64 // vectors and scores of all answers; 0 = there are none
	}{
		{"embeddings", plainRows, 2 * (2 + 3 + 1), 2 * (1 + 2 + 1)},
		{"chat_embeddings", plainRows, 2 * (2 + 3 + 1), 6},
		{"pooling", plainRows, 2 * (2 + 3 + 1), 2 * (1 + 2 + 1)},
		{"score", rankedRows, 3 * (4 + 3 + 2), 3 * (2 + 1)},
		{"rerank", rankedRows, 3 * (4 + 3 + 2), 3 * (2 + 1)},
		{"cohere_rankings", rankedRows, 3 * (4 + 3 + 2), 3 * (2 + 1)},
		{"classify", plainRows, 2 * (2 + 3 + 1), 2 * (1 + 2 + 1)},
		{"tokenize", `{text: one word}, {text: two}`, 3 * (2 + 1), 0},
		{"detokenize", `{text: one word}, {text: two}`, 3 * (2 + 1), 0},
		{"nim_embeddings", plainRows, 2 * (2 + 3 + 1), 2 * (1 + 2 + 1)},
		{"nim_rankings", rankedRows, 3 * (4 + 3 + 2), 3 * (2 + 1)},
		{"hf_tei_rankings", rankedRows, 3 * (4 + 3 + 2), 3 * (2 + 1)},
		{"tei_embed", plainRows, 2 * (2 + 3 + 1), 2 * (1 + 2 + 1)},
		{"ollama_embed", plainRows, 2 * (2 + 3 + 1), 2 * (1 + 2 + 1)},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, 50*time.Millisecond, time.Millisecond), nil)
				id := b.submit(fmt.Sprintf(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem/v1", type: %s, streaming: true}
  dataset: {type: file, format: single_turn, records: [%s]}
  phases: [{name: profiling, kind: profiling, type: concurrency, concurrency: 2, requests: 6}]
`, tt.kind, tt.rows))
				r := b.wait(id)
				if r.State != bench.StateCompleted || r.Summary.Requests != 6 || r.Summary.Errors != 0 || r.Streaming {
					t.Fatalf("state %s, %+v, streaming %v, error %+v\n%s", r.State, r.Summary, r.Streaming, r.Error, b.transcript(id))
				}
				warnings := []string{"not-streaming"}
				if tt.kind == "detokenize" { // its tokens are made by a tokenizer that is not the model's
					warnings = append(warnings, "tokenizer-substituted")
				}
				if got := warningCodes(r); !slices.Equal(got, warnings) {
					t.Errorf("warnings %+v, want %v", r.Warnings, warnings)
				}
				want := map[string]float64{"request_latency": 50, "request_count": 6, "request_throughput": 40, "total_isl": tt.tokens}
				if items := tt.items; items > 0 {
					want["item_throughput"] = items / 0.15
				}
				for tag, value := range want {
					if got := b.value(id, tag, "avg"); math.Abs(got-value) > 1e-9 {
						t.Errorf("%s = %v, want %v", tag, got, value)
					}
				}
				for tag := range b.metrics(id) {
					for _, part := range []string{"output", "osl", "first_token", "inter_", "reasoning", "decode", "completion", "inter_chunk"} {
						if strings.Contains(tag, part) {
							t.Errorf("metric %s has no meaning here", tag)
						}
					}
				}
				b.stop()
			})
		})
	}
}

func warningCodes(r *run.Run) []string {
	var codes []string
	for _, w := range r.Warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

// metrics returns the members of the exported summary that are metrics.
func (b *bed) metrics(id string) map[string]json.RawMessage {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.store.Dir(id), export.NamesFor("").JSON))
	if err != nil {
		b.t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		b.t.Fatal(err)
	}
	for name, raw := range all {
		var block struct{ Unit *string }
		if json.Unmarshal(raw, &block) != nil || block.Unit == nil {
			delete(all, name)
		}
	}
	return all
}

// TestFallbackTokenizer: there is a warning about a substituted tokenizer only if the
// server does not count.
func TestFallbackTokenizer(t *testing.T) {
	for usage, want := range map[string][]string{"": nil, options.UsageNever: {"tokenizer-substituted"}} {
		synctest.Test(t, func(t *testing.T) {
			o := timing(t, 50*time.Millisecond, time.Millisecond)
			o.Usage = usage
			b := newBed(t, o, nil)
			id := b.submit(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: embeddings}
  dataset: {type: file, format: single_turn, records: [{text: two words}]}
  phases: [{name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 3}]
`)
			r := b.wait(id)
			if got := warningCodes(r); !slices.Equal(got, want) || b.value(id, "total_isl", "avg") != 6 {
				t.Errorf("usage %q: warnings %v, want %v", usage, r.Warnings, want)
			}
			b.stop()
		})
	}
}

// TestCountMismatch: answers with too few items count as successes, with a warning.
func TestCountMismatch(t *testing.T) {
	forgetful := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"input":["one"]}`)), -1
			next.ServeHTTP(w, r)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Millisecond, time.Millisecond), forgetful)
		r := b.run(`
benchmark:
  model: m
  endpoint: {url: "http://mem", type: embeddings, useServerTokenCount: true}
  dataset: {type: file, format: single_turn, records: [{texts: [a, b]}, {text: c}]}
  phases: [{name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 4}]
`)
		if len(r.Warnings) != 1 || r.Warnings[0].Code != "count-mismatch" || !strings.HasPrefix(r.Warnings[0].Detail, "2 responses") || r.Summary.Requests != 4 {
			t.Errorf("warnings %+v, %+v; want 2 of 4 answers told", r.Warnings, r.Summary)
		}
		b.stop()
	})
}

// TestImageRetrieval: the simulator understands the requests of the type, and the type
// its responses.
func TestImageRetrieval(t *testing.T) {
	k, _ := endpoint.Lookup("image_retrieval")
	img := bench.Media{MIME: "image/png", Data: []byte("not really")}
	body, err := k.Body(nil, &endpoint.Request{Turn: bench.Turn{Images: []bench.Media{img, img}}, Settings: &endpoint.Settings{}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := mock.New(mock.Options{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w := httptest.NewRecorder()
	server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, k.Path, strings.NewReader(string(body))))
	a := k.Decode(&bench.Response{Status: w.Code, Framing: bench.FramingJSON, Body: w.Body.Bytes(), BodyAt: 1}, false)
	if a.Failure != nil || len(a.Ranks) != 2 || a.Ranks[1].Index != 1 {
		t.Errorf("ranks %+v, failure %v: %s", a.Ranks, a.Failure, w.Body)
	}
}

// TestNoSystemMessage: a system message that the type does not support is refused.
func TestNoSystemMessage(t *testing.T) {
	for member, value := range map[string]string{"systemPrompt": "S", "prefixPrompts": "{sharedSystemLength: 5}"} {
		d, _, err := config.Load([]byte(fmt.Sprintf(`
benchmark:
  model: m
  endpoint: {url: "http://mem", type: embeddings}
  dataset: {type: synthetic, entries: 2, %s: %s}
  phases: [{name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 1}]
`, member, value)), config.LoadOptions{Choices: plan.Choices()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Compile(d)
		if err == nil || !strings.Contains(err.Error(), "embeddings takes neither a system message nor a context") {
			t.Errorf("%s: %v, want a conflict", member, err)
		}
	}
}

// TestMissingQuery: data that the API cannot express ends the run before it begins.
func TestMissingQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, mock.Options{}, nil)
		r := b.run(strings.ReplaceAll(document("type: concurrency, concurrency: 1, requests: 1", fileData), "type: chat", "type: rerank"))
		if r.State != bench.StateFailed || r.Error == nil || !strings.Contains(r.Error.Message, "rerank needs a text named query") {
			t.Errorf("state %s, error %+v", r.State, r.Error)
		}
		if diff := cmp.Diff(0, len(b.server.Truth())); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		b.stop()
	})
}
