package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/search"
)

// searchDocument is a search on a server whose queue begins at 6 sessions.
const searchDocument = `
randomSeed: 7
sweep:
  type: adaptive_search
  autoRequests: true
  slaPrecision: coarse
  searchSpace: [{path: phases.profiling.concurrency, lo: 1, hi: 24, kind: int, prior: log-uniform}]
  slaFilters: [{metricTag: time_to_first_token, stat: p95, op: lt, threshold: 140}]
`

const searchedBenchmark = `
benchmark:
  model: m
  endpoint: {url: http://mock.test, type: chat, streaming: true, useServerTokenCount: true}
  datasets: [{name: main, type: synthetic, prompts: {isl: 128, osl: 8}}]
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 1}]
`

// perform performs the runs of a study one after the other and returns the outcomes with
// the number of requests that they took.
func (b *bed) perform(document string) (study *config.Study, done []cell.Outcome, requests int64) {
	b.t.Helper()
	d, _, err := config.Load([]byte(document), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		b.t.Fatal(err)
	}
	study = d.Study()
	for {
		v, more := search.PlannerOf(study).Next(done)
		if !more {
			return study, done, requests
		}
		one, _, err := study.Cell(&v, 0)
		if err != nil {
			b.t.Fatal(err)
		}
		r, err := b.engine.Submit(b.t.Context(), one, run.Submission{Via: "api"})
		if err != nil {
			b.t.Fatal(err)
		}
		r = b.wait(r.ID)
		if r.State != bench.StateCompleted {
			b.t.Fatalf("run = %s: %v", r.State, r.Error)
		}
		requests += r.Summary.Requests
		done = append(done, cell.Outcome{Variation: v, Trials: []cell.Trial{b.trial(r.ID)}})
	}
}

// trial reads the metrics of a run from its summary.
func (b *bed) trial(id string) cell.Trial {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.store.Dir(id), export.NamesFor("").JSON))
	if err != nil {
		b.t.Fatal(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		b.t.Fatal(err)
	}
	t := cell.Trial{RunID: id, Label: "run_0001"}
	for _, tag := range []string{"time_to_first_token", "output_token_throughput"} {
		var stats map[string]any
		if err := json.Unmarshal(file[tag], &stats); err != nil {
			b.t.Fatal(err)
		}
		m := cell.Metric{Tag: tag, Stats: make(map[string]float64)}
		for name, v := range stats {
			if x, ok := v.(float64); ok {
				m.Stats[name] = x
			}
		}
		t.Metrics = append(t.Metrics, m)
	}
	return t
}

// searched performs a study on a server that batches, in virtual time.
func searched(t *testing.T, document string) (study *config.Study, done []cell.Outcome, requests int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		preset, err := options.Preset("h100-8b")
		if err != nil {
			t.Fatal(err)
		}
		preset.MaxSequences = 6
		study, done, requests = newBed(t, mock.Options{Accelerator: preset}, nil).perform(document + searchedBenchmark)
	})
	return study, done, requests
}

// TestSearchAgainstAccelerator: on a server that batches, the searches for a boundary
// choose the concurrency that a sweep over all values chooses, and the Bayesian one a
// concurrency with the same throughput, with at most 40 % of the sweep's requests.
func TestSearchAgainstAccelerator(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing here is concurrent that other tests do not run")
	}
	_, all, most := searched(t, `
randomSeed: 7
sweep:
  type: grid
  autoRequests: true
  slaPrecision: coarse
  parameters: {phases.profiling.concurrency: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]}
`)
	highest, throughput := 0.0, 0.0
	for i := range all {
		trial := &all[i].Trials[0]
		if p95, _ := trial.Stat("time_to_first_token", "p95"); p95 < 140 {
			highest = float64(i + 1)
			tokens, _ := trial.Stat("output_token_throughput", "avg")
			throughput = max(throughput, tokens)
		}
	}
	check := func(name, more string, good func(s search.Summary) bool) {
		study, done, requests := searched(t, searchDocument+more)
		s := search.Of(study).Summarize(done)
		share := float64(requests) / float64(most)
		t.Logf("%s: %d probes, %.0f %% of %d requests (%s)", name, len(done), 100*share, most, s.Reason)
		if !good(s) || share > 0.4 {
			t.Errorf("%s: best iterations %v, boundary %+v, %.0f %% of the requests; the sweep found %v with %.1f tokens/s",
				name, s.Best, s.Boundary, 100*share, highest, throughput)
		}
		if h := search.Of(study).History(done); len(h.Iterations) != len(done) || h.Iterations[0].Runs[0].ID == "" {
			t.Errorf("%s: history of %d iterations", name, len(h.Iterations))
		}
	}
	for _, planner := range []string{"smooth_isotonic", "monotonic_sla"} {
		check(planner, "  maxIterations: 20\n  planner: "+planner+"\n", func(s search.Summary) bool { return s.Boundary.Pass.Value == highest })
	}
	check("bayesian", "  maxIterations: 9\n  objectives: [{metric: output_token_throughput, direction: maximize}]\n", func(s search.Summary) bool {
		best := s.Iterations[s.Best[0]]
		return best.Verdict.Pass && *best.Objectives[0] > 0.98*throughput
	})
}
