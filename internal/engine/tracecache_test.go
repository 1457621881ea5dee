package engine_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/token"
)

// sharingTrace returns a trace of 1,000 requests, one per 2 s on average, whose prompts have
// blocks of 64 tokens: those of one of 20 conversations that have taken place before, and
// then some of their own.
func sharingTrace() (text string, hits, blocks int) {
	var b strings.Builder
	r := rand.New(rand.NewPCG(7, 11))
	known := map[int]bool{}
	at, fresh := 0.0, 10_000
	for range 1000 {
		at += 1000 + 2000*r.Float64()
		var ids []string
		begin := r.IntN(20) * 100
		for i := range 1 + r.IntN(6) {
			ids = append(ids, fmt.Sprint(begin+i))
			if known[begin+i] {
				hits++
			}
			known[begin+i] = true
		}
		for range 1 + r.IntN(3) {
			fresh++
			ids = append(ids, fmt.Sprint(fresh))
		}
		blocks += len(ids)
		fmt.Fprintf(&b, `{"timestamp": %.3f, "input_length": %d, "output_length": 2, "hash_ids": [%s]}`+"\n", at, 64*len(ids), strings.Join(ids, ", "))
	}
	return b.String(), hits, blocks
}

// TestTraceAgainstCache: what the prefix cache of a server finds in the prompts of a trace,
// replayed ten times as fast, is what its hash ids say.
func TestTraceAgainstCache(t *testing.T) {
	text, hits, blocks := sharingTrace()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, phase := range map[string]string{
		"replay":      "type: fixed_schedule",
		"closed loop": "type: concurrency",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				preset, err := options.Preset("h100-8b")
				if err != nil {
					t.Fatal(err)
				}
				b := newBed(t, mock.Options{Accelerator: preset, Tokenizer: token.FromCodec(tokenizer.Builtin())}, nil)
				began := time.Now()
				run := b.run(`
benchmark:
  model: m
  endpoint: {url: http://mock.test, type: completions, streaming: true, useServerTokenCount: true}
  tokenizer: {name: builtin}
  dataset: {type: file, path: ` + path + `, format: mooncake_trace, blockSize: 64, replaySpeedup: 10}
  phases: [{name: profiling, kind: profiling, requests: 1000, ` + phase + `}]
`)
				if run.State != bench.StateCompleted || run.Summary.Errors != 0 {
					t.Fatalf("run = %s with %d errors: %v", run.State, run.Summary.Errors, run.Error)
				}
				if took := time.Since(began); phase == "type: fixed_schedule" && (took < 190*time.Second || took > 215*time.Second) {
					t.Errorf("the replay took %v, want about 200 s", took)
				}
				synctest.Wait() // a request ends a moment after its answer
				var cached, prompt int
				for _, r := range b.server.Truth() {
					cached, prompt = cached+r.Batch.CachedTokens, prompt+r.PromptTokens
				}
				want := float64(hits) / float64(blocks)
				if got := float64(cached) / float64(prompt); prompt != 64*blocks || math.Abs(got-want) > 0.001 {
					t.Errorf("the server had %v of %d prompt tokens in its cache, want %v of %d", got, prompt, want, 64*blocks)
				}
				data, err := os.ReadFile(filepath.Join(b.store.Dir(run.ID), export.NamesFor("").JSON))
				if err != nil {
					t.Fatal(err)
				}
				var file struct{ Cache *verdict.Cache }
				if err := json.Unmarshal(data, &file); err != nil || file.Cache == nil || file.Cache.Theoretical == nil || math.Abs(*file.Cache.Theoretical-want) > 1e-6 {
					t.Errorf("cache = %+v, %v; want a theoretical share of %v", file.Cache, err, want)
				}
				b.stop()
			})
		})
	}
}
