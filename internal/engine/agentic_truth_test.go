package engine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/token"
)

// smallCorpus returns generated sessions with agents, of at most 4,096 tokens per prompt.
func smallCorpus(t *testing.T, traces int) string {
	t.Helper()
	var text bytes.Buffer
	if err := (&agentic.Corpus{Traces: traces, Requests: 6, Context: 4096, Seed: 5}).Generate(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// corpusFile returns the path of a file with a corpus.
func corpusFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a run expects a prefix cache to have of each prompt is what the cache of the server has, and prompts have the tokens
// of the recording. With a cache that is too small, the server has less.
func TestExpectedCacheAgainstServer(t *testing.T) {
	path := corpusFile(t, smallCorpus(t, 4))
	for _, tt := range []struct {
		name   string
		lanes  int
		blocks int // of the server's cache; 0 = as many as the accelerator has
	}{{"one lane", 1, 0}, {"four lanes", 4, 0}, {"a small cache", 4, 512}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				preset, err := options.Preset("h100-8b")
				if err != nil {
					t.Fatal(err)
				}
				gpu := *preset
				gpu.BlockSize = agents.CacheBlock
				if tt.blocks > 0 {
					gpu.Blocks = tt.blocks
				}
				b := newBed(t, mock.Options{Accelerator: &gpu, Tokenizer: token.FromCodec(tokenizer.Builtin())}, nil)
				text := document(fmt.Sprintf("type: agentic_replay, concurrency: %d, sessions: 4, trajectoryStartMinRatio: 0, trajectoryStartMaxRatio: 0", tt.lanes),
					"  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, cacheBust: {target: first_turn_prefix}, path: "+path+"}")
				r := b.run(strings.Replace(text, "useServerTokenCount: true", "useServerTokenCount: false", 1))
				if r.State != bench.StateCompleted || r.Summary.Errors != 0 {
					t.Fatalf("%s, %d errors, %+v", r.State, r.Summary.Errors, r.Error)
				}
				synctest.Wait()           // a request ends a moment after its answer
				template := map[int]int{} // prompts by the tokens that the server counts more than there are
				var equal, above, all int
				for _, l := range b.records(r.ID) {
					gap, err := strconv.ParseFloat(l.metric("cache_hit_gap"), 64)
					if err != nil {
						t.Fatalf("%v: %v", l, err)
					}
					all++
					switch {
					case gap == 0:
						equal++
					case gap > 0:
						above++
					}
					template[int(l.number(t, "usage_prompt_tokens")-l.number(t, "input_sequence_length"))]++
				}
				if len(template) != 1 {
					t.Errorf("the server counts more tokens than the recording has, by how many: prompts %v", template)
				}
				if tt.blocks > 0 {
					if above == 0 {
						t.Errorf("the small cache had all of %d prompts that it could have", all)
					}
					return
				}
				if above > 0 || float64(equal) < 0.99*float64(all) {
					t.Errorf("of %d prompts, %d have what is expected in the cache of the server, and %d have less", all, equal, above)
				}
			})
		})
	}
}

// number returns a metric of a record.
func (l *line) number(t *testing.T, tag string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(l.metric(tag), 64)
	if err != nil {
		t.Fatalf("metric %s: %v", tag, err)
	}
	return v
}

// A server that takes twice as long as the recorded one makes a session without pauses take twice as long.
func TestDilation(t *testing.T) {
	const dense = `{"id": "D", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [
  {"t": 0, "type": "s", "model": "m", "in": 128, "out": 1, "hash_ids": [1, 2], "api_time": 1},
  {"t": 1, "type": "subagent", "agent_id": "x", "subagent_type": "Explore", "status": "completed", "models": ["m"], "requests": [
    {"t": 1, "type": "s", "model": "m", "in": 100, "out": 1, "hash_ids": [1], "api_time": 1},
    {"t": 2, "type": "s", "model": "m", "in": 170, "out": 1, "hash_ids": [1, 9], "api_time": 1}]},
  {"t": 3, "type": "s", "model": "m", "in": 200, "out": 1, "hash_ids": [1, 2, 3], "api_time": 1},
  {"t": 4, "type": "s", "model": "m", "in": 256, "out": 1, "hash_ids": [1, 2, 3, 4], "api_time": 1}]}`
	for takes, want := range map[time.Duration]float64{time.Second: 1, 2 * time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, timing(t, takes, 0), nil)
			r := b.run(document("type: concurrency, concurrency: 1, sessions: 2",
				"  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, records: ["+dense+"]}"))
			var report agents.Report
			if err := json.Unmarshal([]byte(b.file(r.ID, "agent_summary.json")), &report); err != nil {
				t.Fatal(err)
			}
			if d, i := report.Dilation, report.Inflation; d == nil || i == nil || d.Mean != want || i.Mean != want {
				t.Errorf("answers of %v: dilation %+v, inflation %+v; want %v", takes, d, i, want)
			}
			b.stop()
		})
	}
}

// bodyDigests notes the digests of the bodies that a server gets.
type bodyDigests struct {
	mu   sync.Mutex
	list []string // guarded by mu
}

func (d *bodyDigests) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodPost {
			d.mu.Lock()
			d.list = append(d.list, fmt.Sprintf("%x", sha256.Sum256(body)))
			d.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// Two runs with one seed send the same bodies and have the same plan, on any number of processors. With other numbers of
// lanes the bodies of the sessions are the same, and each lane begins where it begins with fewer lanes.
func TestSameSeedSameBodies(t *testing.T) {
	path := corpusFile(t, smallCorpus(t, 3))
	// perform returns the digests of the bodies, the digest of the plan, and the lines of lanes.
	perform := func(processors, lanes int, ratio string) (digests []string, plan string, begins []agents.Lane) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		synctest.Test(t, func(t *testing.T) {
			var heard bodyDigests
			b := newBed(t, timing(t, 300*time.Millisecond, time.Millisecond), heard.wrap)
			r := b.run(document(fmt.Sprintf("type: agentic_replay, concurrency: %d, sessions: 3, laneStart: burst, %s", lanes, ratio),
				"  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, cacheBust: {target: first_turn_prefix, salt: x}, path: "+path+"}"))
			if r.State != bench.StateCompleted || r.Summary.Errors != 0 {
				t.Fatalf("%s, %d errors, %+v", r.State, r.Summary.Errors, r.Error)
			}
			b.stop()
			var report agents.Report
			if err := json.Unmarshal([]byte(b.file(r.ID, "agent_summary.json")), &report); err != nil {
				t.Fatal(err)
			}
			for text := range strings.Lines(b.file(r.ID, "lanes.jsonl")) {
				var lane agents.Lane
				if err := json.Unmarshal([]byte(text), &lane); err != nil {
					t.Fatal(err)
				}
				lane.Streams, lane.Primers = nil, nil
				begins = append(begins, lane)
			}
			digests, plan = slices.Sorted(slices.Values(heard.list)), report.Plan
		})
		return digests, plan, begins
	}
	const middle, beginning = "trajectoryStartMinRatio: 0.1, trajectoryStartMaxRatio: 0.9", "trajectoryStartMinRatio: 0, trajectoryStartMaxRatio: 0"
	want, plan, lanes := perform(1, 3, middle)
	if len(want) < 10 || len(plan) != 64 || len(lanes) != 3 {
		t.Fatalf("%d requests, plan %q, %d lanes", len(want), plan, len(lanes))
	}
	for _, processors := range []int{2, 8} {
		got, again, _ := perform(processors, 3, middle)
		if !slices.Equal(got, want) || again != plan {
			t.Errorf("%d processors: %d bodies, plan %s; with one processor %d, %s", processors, len(got), again, len(want), plan)
		}
	}
	if _, _, few := perform(2, 2, middle); !cmp.Equal(few, lanes[:2]) {
		t.Errorf("two lanes begin otherwise than the first two of three:\n%s", cmp.Diff(lanes[:2], few))
	}
	whole, _, _ := perform(2, 1, beginning)
	for _, lanes := range []int{3} {
		if got, _, _ := perform(2, lanes, beginning); !slices.Equal(got, whole) {
			t.Errorf("%d lanes: %d bodies, not the %d of one lane", lanes, len(got), len(whole))
		}
	}
}
