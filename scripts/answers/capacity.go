package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"aiperfd/internal/results"
)

// truth is the rate in requests per second at which 95 % of the answers of tiny with tenfold steps begin within
// 250 ms, computed with the engine of the simulator in virtual time.
const truth = 29.9

// known is the document of a search for it.
const known = `randomSeed: %d
benchmark:
  models: [tiny]
  endpoint: {url: "http://%s", streaming: true}
  tokenizer: {name: builtin}
  dataset: {isl: {mean: 128, stddev: 32}, osl: {mean: 32, stddev: 8}}
  slos: {time_to_first_token: 250}
  phases: [{name: profiling, type: poisson, rate: 8, duration: %g}]
sweep:
  type: adaptive_search
  planner: capacity
  searchSpace: [{path: phases.profiling.rate, lo: 8, hi: 200, kind: real}]
  searchStart: 16
  slaWarmupSeconds: 5
  maxIterations: 16
`

// capacity searches a capacity that is known, and counts the intervals that hold it.
func (s *session) capacity(ctx context.Context) (text string, err error) {
	var held atomic.Int64
	_, err = s.judged(ctx, "search", func(ctx context.Context, worker, i int) (*answer, error) {
		server, err := s.server(worker, 10)
		if err != nil {
			return nil, err
		}
		folder := filepath.Join(s.dir, fmt.Sprintf("search-%d", i))
		file := folder + ".yaml"
		doc := fmt.Sprintf(known, s.seed+uint64(i), server.Addr, s.length.Seconds())
		if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
			return nil, err
		}
		if _, err := s.run(ctx, nil, "capacity", file, "--artifact-dir", folder, "--ui", "none"); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(filepath.Join(folder, results.AnswerFile))
		if err != nil {
			return nil, err
		}
		var found results.Answer
		if err := json.Unmarshal(data, &found); err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		said := fmt.Sprintf("%s after %d probes", found.Verdict, len(found.Evidence))
		if e := found.Estimate; e != nil {
			said += fmt.Sprintf(": %.4g [%.4g, %.4g]", e.Value, e.Low, e.High)
			if found.Verdict == "estimated" && e.Low <= truth && truth <= e.High {
				held.Add(1)
			}
		}
		return &answer{Verdict: found.Verdict, Sentences: []string{said}}, nil
	})
	text = fmt.Sprintf("held in %d of %d", held.Load(), s.trials)
	if err == nil && held.Load() < int64(s.trials) {
		err = fmt.Errorf("the interval held %v requests per second in %d of %d searches", truth, held.Load(), s.trials)
	}
	return text, err
}
