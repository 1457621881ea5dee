package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/mock/token"
)

// bodies records the bodies of requests, in their order.
type bodies struct {
	mu  sync.Mutex
	all []string // guarded by mu
}

func (b *bodies) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			b.mu.Lock()
			b.all = append(b.all, string(body))
			b.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// sent runs a document of one connection and returns the bodies of its requests.
func sent(t *testing.T, dataset, warmup string) (out []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var got bodies
		b := newBed(t, timing(t, time.Millisecond, time.Millisecond), got.record)
		r := b.run(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: chat}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 4, prompts: {isl: 20, osl: 2}` + dataset + `}
  phases:
` + warmup + `    - {name: profiling, type: concurrency, concurrency: 1, requests: 6}
`)
		if r.State != bench.StateCompleted {
			t.Fatalf("the run is %s: %+v", r.State, r.Error)
		}
		out = got.all
		b.stop()
	})
	return out
}

// TestSeparateWarmup: a warm-up with data of its own sends nothing that is measured, and
// what is measured does not depend on it.
func TestSeparateWarmup(t *testing.T) {
	const three = "    - {name: warmup, type: concurrency, concurrency: 1, requests: 3}\n"
	alone := sent(t, "", "")
	separate, shared := sent(t, ", warmup: separate", three), sent(t, ", warmup: shared", three)
	if !slices.Equal(separate[3:], alone) {
		t.Errorf("the profiling phase sends %q, without a warm-up %q", separate[3:], alone)
	}
	for _, body := range separate[:3] {
		if slices.Contains(alone, body) {
			t.Errorf("the warm-up sends %q, which is measured", body)
		}
	}
	if !slices.Equal(shared[:3], alone[:3]) || shared[3] != alone[3] {
		t.Errorf("a shared warm-up sends %q, want the first entries", shared)
	}
}

// TestCalibratedLengths: the server counts the requested length, whatever it adds.
func TestCalibratedLengths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := timing(t, time.Millisecond, time.Millisecond)
		o.Tokenizer = token.FromCodec(tokenizer.Builtin())
		var counts []int // of the server; one request at a time
		server := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					next.ServeHTTP(w, r)
					return
				}
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				prompt := strings.Repeat("<|>", 4) + "\n\n" + body["prompt"].(string) // a template
				body["prompt"] = prompt
				counts = append(counts, tokenizer.Builtin().Count(prompt))
				changed, err := json.Marshal(body)
				if err != nil {
					t.Error(err)
				}
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
				next.ServeHTTP(w, r)
			})
		}
		b := newBed(t, o, server)
		r := b.run(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: completions}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 5, prompts: {isl: 60, osl: 2, islCalibrate: true}}
  phases: {type: concurrency, concurrency: 1, requests: 5}
`)
		if r.State != bench.StateCompleted {
			t.Fatalf("the run is %s: %+v", r.State, r.Error)
		}
		if len(counts) != 7 {
			t.Fatalf("the server counts %v, want two probes and five requests", counts)
		}
		for _, n := range counts[2:] {
			if n < 59 || n > 61 { // the template and the prompt may meet in one token
				t.Errorf("the server counts %v, want 60 for every request", counts[2:])
			}
		}
		i := slices.IndexFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "isl-calibrated" })
		if want := fmt.Sprintf("the server adds %d tokens to each prompt (usage: ", counts[0]-1); i < 0 || !strings.HasPrefix(r.Warnings[i].Detail, want) {
			t.Errorf("warnings %v, want one with %q", r.Warnings, want)
		}
		b.stop()
	})
}
