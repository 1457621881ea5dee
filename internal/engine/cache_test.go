package engine_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// caching is a run against a server with a prefix cache.
type caching struct {
	run    *run.Run
	cache  verdict.Cache
	cached float64   // share of the prompt tokens of the profiling phase that the server had cached, by its own record
	raw    []rawLine // if the document asks for them, in the order of the requests
}

// rawLine holds the members of a raw record that these tests read.
type rawLine struct {
	Metadata struct {
		Phase   string `json:"benchmark_phase"`
		Session int    `json:"session_num"`
		Turn    int    `json:"turn_index"`
	}
	Payload struct {
		Messages []struct{ Role, Content string }
	}
	Marker string `json:"cache_bust_marker"`
	Target string `json:"cache_bust_target"`
}

// cachingRun performs a run against a server with blocks of 16 tokens and much memory. Its
// last requests are those of the profiling phase.
func cachingRun(t *testing.T, requests int, document string) (out caching) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		preset, err := options.Preset("h100-8b")
		if err != nil {
			t.Fatal(err)
		}
		b := newBed(t, mock.Options{Accelerator: preset}, nil)
		out.run = b.run("benchmark:\n  model: m\n  endpoint: {url: http://mock.test, type: chat, streaming: true, useServerTokenCount: true" + document)
		if out.run.State != bench.StateCompleted || out.run.Summary.Errors != 0 {
			t.Fatalf("run = %s with %d errors: %v", out.run.State, out.run.Summary.Errors, out.run.Error)
		}
		synctest.Wait() // a request ends a moment after its answer
		truth := b.server.Truth()
		slices.SortFunc(truth, func(a, b mock.Truth) int { return int(a.Seq - b.Seq) })
		var cached, prompt int
		for _, r := range truth[len(truth)-requests:] {
			cached, prompt = cached+r.Batch.CachedTokens, prompt+r.PromptTokens
		}
		out.cached = float64(cached) / float64(prompt)
		data, err := os.ReadFile(filepath.Join(b.store.Dir(out.run.ID), export.NamesFor("").JSON))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Cache *verdict.Cache }
		if err := json.Unmarshal(data, &file); err != nil || file.Cache == nil {
			t.Fatalf("the summary has no cache: %v", err)
		}
		out.cache = *file.Cache
		out.raw = rawLines(t, filepath.Join(b.store.Dir(out.run.ID), export.NamesFor("").Raw))
		b.stop()
	})
	return out
}

func rawLines(t *testing.T, path string) (lines []rawLine) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var l rawLine
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", sc.Bytes(), err)
		}
		lines = append(lines, l)
	}
	return lines
}

// TestRepeatedPrompts: prompts that are sent ten times are in the cache nine times; the
// result says so, and agrees with the server. Long prompts, because a server caches whole
// blocks of 16 tokens, and never the last token.
func TestRepeatedPrompts(t *testing.T) {
	const lost = 17.0 / 12000 // at most, of a prompt
	r := cachingRun(t, 50, `}
  dataset: {prompts: {isl: 12000, osl: 2}, entries: 5}
  phases: [{name: profiling, kind: profiling, requests: 50}]
`)
	c := r.cache
	if c.RepeatedPrompts != 0.9 || math.Abs(c.RepeatedInput-0.9) > 1e-6 {
		t.Errorf("repeated: %v of prompts, %v of input; want 0.9", c.RepeatedPrompts, c.RepeatedInput)
	}
	if c.Cached == nil || math.Abs(*c.Cached-r.cached) > 1e-6 || math.Abs(*c.Cached-c.RepeatedInput) > lost {
		t.Errorf("cached: %v; the server says %v", deref(c.Cached), r.cached)
	}
	if c.State != verdict.Warm || c.Basis != "server" || !strings.Contains(c.Message, " % of prompt tokens cached, 90 % of prompts repeated") {
		t.Errorf("cache = %s by %s: %s", c.State, c.Basis, c.Message)
	}
	if got := codes(r.run.Warnings); !slices.Contains(got, "repeated-prompts") || slices.Contains(got, "cache-not-cold") {
		t.Errorf("warnings %v, want repeated-prompts", got)
	}
}

// TestSameSeedTwice: the second run of a seed finds the prompts of the first in the cache of the server; what
// both repeat of their own is nothing, so the cache is not what they are meant to find.
func TestSameSeedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		preset, err := options.Preset("h100-8b")
		if err != nil {
			t.Fatal(err)
		}
		b := newBed(t, mock.Options{Accelerator: preset}, nil)
		for i, want := range []struct {
			verdict verdict.Agreement
			state   verdict.CacheState
			warned  bool
		}{{verdict.Consistent, verdict.Cold, false}, {verdict.Contradicted, verdict.Warm, true}} {
			r := b.run(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: http://mock.test, type: chat, streaming: true, useServerTokenCount: true}
  dataset: {prompts: {isl: 320, osl: 2}}
  phases: [{name: profiling, kind: profiling, requests: 20, concurrency: 2}]
`)
			rep, _, err := results.Open(b.store.Dir(r.ID), "").Report()
			if err != nil {
				t.Fatal(err)
			}
			c := rep.PrefixCache()
			if c.Declared != verdict.Cold || c.Verdict != want.verdict || c.State != want.state || c.RepeatedPrompts != 0 {
				t.Errorf("run %d: cache = %+v, want %s and %s", i, c, want.verdict, want.state)
			}
			if got := slices.Contains(codes(r.Warnings), "cache-not-cold"); got != want.warned {
				t.Errorf("run %d: warnings %v", i, codes(r.Warnings))
			}
		}
		b.stop()
	})
}

// TestCacheBustAgainstCache: what the server finds in its cache, by target, in a warm-up
// that sends all of the data and a profiling phase that sends it again.
func TestCacheBustAgainstCache(t *testing.T) {
	const cold, some = 0.0, -1
	tests := []struct {
		target string
		turns  int
		cached float64 // share
		state  verdict.CacheState
		unique float64
		codes  []string
	}{
		{"none", 1, some, verdict.Warm, 0, []string{"repeated-prompts"}},
		{"first_turn_prefix", 1, cold, verdict.Cold, 1, nil},
		{"system_prefix", 1, cold, verdict.Cold, 1, nil},
		{"first_turn_suffix", 1, some, verdict.Warm, 1, nil},
		{"warmup_isolation_first_turn", 1, cold, verdict.Cold, 1, nil},
		{"per_request", 1, cold, verdict.Cold, 1, nil},
		{"first_turn_prefix", 3, some, verdict.Mixed, 1, nil}, // the history of its own session
		{"per_request", 3, cold, verdict.Cold, 1, nil},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s, %d turns", tt.target, tt.turns), func(t *testing.T) {
			requests := 8 * tt.turns
			r := cachingRun(t, requests, fmt.Sprintf(`}
  dataset: {prompts: {isl: 320, osl: 16, cacheBust: {target: %s}}, entries: 8, turns: %d}
  artifacts: {level: raw}
  phases: [{name: warmup, kind: warmup, sessions: 8, concurrency: 2}, {name: profiling, kind: profiling, sessions: 8, concurrency: 2}]
`, tt.target, tt.turns))
			c := r.cache
			if c.Cached == nil || math.Abs(*c.Cached-r.cached) > 1e-6 || tt.cached == cold && r.cached != 0 || tt.cached == some && r.cached < 0.1 {
				t.Errorf("cached: %v; the server says %v", deref(c.Cached), r.cached)
			}
			if c.State != tt.state || c.RepeatedPrompts != 1-tt.unique {
				t.Errorf("cache = %+v, want %s and %v of prompts repeated", c, tt.state, 1-tt.unique)
			}
			var got []string
			for _, code := range codes(r.run.Warnings) {
				if code == "repeated-prompts" || code == "cache-not-cold" {
					got = append(got, code)
				}
			}
			if !slices.Equal(got, tt.codes) {
				t.Errorf("warnings %v, want %v", got, tt.codes)
			}
			checkMarkers(t, tt.target, r.raw, 2*requests)
		})
	}
}

// checkMarkers checks the markers in raw records: they are in the bodies, the same in all
// turns of a session, and different between sessions.
func checkMarkers(t *testing.T, target string, lines []rawLine, want int) {
	t.Helper()
	if len(lines) != want {
		t.Fatalf("%d raw records, want %d", len(lines), want)
	}
	sessions, all := map[int]string{}, map[string]bool{}
	for i := range lines {
		l := &lines[i]
		isolation := strings.HasPrefix(target, "warmup")
		if marked := target != "none" && (!isolation || l.Metadata.Phase == "warmup"); marked != (l.Marker != "") {
			t.Errorf("%s, session %d: marker %q", l.Metadata.Phase, l.Metadata.Session, l.Marker)
		} else if !marked {
			continue
		}
		first := l.Payload.Messages[0].Content
		in := strings.HasPrefix(first, l.Marker)
		if strings.HasSuffix(target, "suffix") {
			in = strings.HasSuffix(first, l.Marker)
		}
		if !in || l.Target != target {
			t.Errorf("the first message is %.40q…, the marker %q, the target %s", first, l.Marker, l.Target)
		}
		switch earlier, known := sessions[l.Metadata.Session]; {
		case isolation:
		case known && target != "per_request" && earlier != l.Marker:
			t.Errorf("session %d has the markers %q and %q", l.Metadata.Session, earlier, l.Marker)
		case (!known || target == "per_request") && all[l.Marker]:
			t.Errorf("marker %q is used twice", l.Marker)
		}
		sessions[l.Metadata.Session], all[l.Marker] = l.Marker, true
	}
}

// TestResetBeforeProfiling: what a warm-up has left in the cache is gone if the cache is
// emptied before the profiling phase.
func TestResetBeforeProfiling(t *testing.T) {
	for _, tt := range []struct {
		before string
		state  verdict.CacheState
		codes  []string
	}{
		{"run", verdict.Warm, []string{"cache-not-cold"}},
		{"profiling", verdict.Cold, nil},
		{"both", verdict.Cold, nil},
	} {
		t.Run(tt.before, func(t *testing.T) {
			r := cachingRun(t, 8, fmt.Sprintf(`, resetKvCache: {before: %s}}
  dataset: {prompts: {isl: 320, osl: 2}, entries: 8}
  phases: [{name: warmup, kind: warmup, requests: 8}, {name: profiling, kind: profiling, requests: 8}]
`, tt.before))
			if r.cache.State != tt.state || r.cache.RepeatedPrompts != 1 || (r.cached == 0) != (tt.state == verdict.Cold) {
				t.Errorf("cache = %+v, want %s; the server had cached %v", r.cache, tt.state, r.cached)
			}
			got := codes(r.run.Warnings)
			if slices.Contains(got, "repeated-prompts") || slices.Contains(got, "cache-not-cold") != (len(tt.codes) > 0) {
				t.Errorf("warnings %v, want %v", got, tt.codes)
			}
		})
	}
}

// TestResetBetweenPhasesFails: a run whose cache is not emptied before the profiling phase
// has failed.
func TestResetBetweenPhasesFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, mock.Options{}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/reset_prefix_cache" {
					http.Error(w, "requests are running", http.StatusServiceUnavailable)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		r := b.run(`
benchmark:
  model: m
  endpoint: {url: http://mock.test, resetKvCache: {before: profiling}}
  dataset: {prompts: {isl: 20, osl: 2}}
  phases: [{name: warmup, kind: warmup, requests: 3}, {name: measured, kind: profiling, requests: 8}]
`)
		const want = "reset the prefix cache of http://mock.test: POST /reset_prefix_cache: HTTP 503: requests are running"
		if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != run.CacheReset || r.Error.Phase != "measured" || r.Error.Message != want {
			t.Errorf("run = %s, %+v; want %s", r.State, r.Error, want)
		}
		synctest.Wait()
		if n := len(b.server.Truth()); n != 3 {
			t.Errorf("%d requests were sent, want those of the warm-up", n)
		}
		b.stop()
	})
}

func deref(v *float64) any {
	if v == nil {
		return "unknown"
	}
	return *v
}

// TestInferredHits: a server that says nothing of its cache shows by its first tokens that it has one.
func TestInferredHits(t *testing.T) {
	for _, tt := range []struct {
		name     string
		sampling string
		hits     bool
	}{
		{"some prompts again", "random", true},
		{"each prompt once", "sequential", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				preset, err := options.Preset("h100-8b")
				if err != nil {
					t.Fatal(err)
				}
				b := newBed(t, mock.Options{Accelerator: preset, Usage: options.UsageNever}, nil)
				r := b.run(fmt.Sprintf(`benchmark:
  model: m
  endpoint: {url: http://mock.test, type: chat, streaming: true}
  tokenizer: {name: builtin}
  dataset: {prompts: {isl: 4000, osl: 4}, entries: 300, sampling: %s}
  serverMetrics: {enabled: false}
  phases: [{name: profiling, sessions: 300, concurrency: 1}]
`, tt.sampling))
				snap, err := b.engine.Snapshot(t.Context(), r.ID)
				if err != nil || r.State != bench.StateCompleted {
					t.Fatalf("%s: %v, %v", r.State, r.Error, err)
				}
				c := snap.PrefixCache()
				found, truth := 0.0, b.server.Truth()
				for _, q := range truth {
					if 2*q.Batch.CachedTokens > q.PromptTokens {
						found += 1 / float64(len(truth))
					}
				}
				b.stop()
				switch {
				case c == nil || c.Reported() != nil:
					t.Fatalf("cache = %+v", c)
				case !tt.hits && c.Inferred != nil:
					t.Errorf("inferred %v of hits where there are none", *c.Inferred)
				case tt.hits && (c.Inferred == nil || found < 0.1 || math.Abs(*c.Inferred-found) > 0.02):
					t.Errorf("inferred %v, want %v", deref(c.Inferred), found)
				case tt.hits && !strings.Contains(c.Message, " of first tokens came much sooner"):
					t.Errorf("message %q", c.Message)
				}
			})
		})
	}
}
