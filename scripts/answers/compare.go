package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// rate is the load in requests per second, a third of what the server can serve.
const rate = 10

// document returns a benchmark of a server; the seed 0 leaves the choice to the program.
func document(url string, length time.Duration, seed uint64) string {
	text := fmt.Sprintf(`benchmark:
  models: [tiny]
  endpoint: {url: "http://%s", streaming: true}
  tokenizer: {name: builtin}
  datasets: [{name: prompts, type: synthetic, prompts: {isl: 128, osl: 32}}]
  phases: [{name: profiling, type: poisson, rate: %d, duration: %g}]
`, url, rate, length.Seconds())
	if seed > 0 {
		text = fmt.Sprintf("randomSeed: %d\n%s", seed, text)
	}
	return text
}

// answer is what the measurements read of an answer of compare.
type answer struct {
	Verdict string `json:"verdict"`
	Summary string `json:"summary"`
	Doubts  []struct {
		Code string `json:"code"`
	} `json:"doubts"`
}

// alarm reports whether an answer says that something changed.
func (a *answer) alarm() bool { return a.Verdict == "worse" || a.Verdict == "better" }

// compared runs aiperfd compare.
func (s *session) compared(ctx context.Context, args ...string) (*answer, error) {
	out, err := s.run(ctx, nil, append([]string{"compare", "--format", "json"}, args...)...)
	if err != nil {
		return nil, err
	}
	a := &answer{}
	if err := json.Unmarshal(out, a); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return a, nil
}

// same measures one server twice, with different prompts and arrivals, and counts alarms.
func (s *session) same(ctx context.Context) error {
	server, err := s.server(10)
	if err != nil {
		return err
	}
	defer server.Kill()
	verdicts := map[string]int{}
	alarms := 0
	for i := range s.trials {
		var folders []string
		for side := range 2 {
			folder := filepath.Join(s.dir, fmt.Sprintf("pair-%d-%d", i, side))
			file := folder + ".yaml"
			seed := s.seed*1000 + uint64(2*i+side)
			if err := os.WriteFile(file, []byte(document(server.Addr, s.length, seed)), 0o600); err != nil {
				return err
			}
			if _, err := s.run(ctx, nil, "profile", "--config", file, "--artifact-dir", folder, "--ui", "none"); err != nil {
				return err
			}
			folders = append(folders, folder)
		}
		a, err := s.compared(ctx, folders...)
		if err != nil {
			return err
		}
		fmt.Printf("pair %d: %s\n", i+1, a.Summary)
		verdicts[a.Verdict]++
		if a.alarm() {
			alarms++
		}
	}
	fmt.Printf("%d pairs, %d alarms: %v\n", s.trials, alarms, verdicts)
	switch {
	case verdicts["invalid"]+verdicts["not_comparable"] > 0:
		return fmt.Errorf("%d pairs have no verdict: the machine is not idle", verdicts["invalid"]+verdicts["not_comparable"])
	case 20*alarms > s.trials:
		return fmt.Errorf("%d alarms of %d pairs, want at most one of 20", alarms, s.trials)
	}
	return nil
}

// slower compares a server with one whose steps take 5 % longer, by five interleaved runs of each.
func (s *session) slower(ctx context.Context) error {
	var files []string
	for i, factor := range []float64{10, 10.5} {
		server, err := s.server(factor)
		if err != nil {
			return err
		}
		defer server.Kill()
		file := filepath.Join(s.dir, fmt.Sprintf("side-%d.yaml", i))
		if err := os.WriteFile(file, []byte(document(server.Addr, s.length, 0)), 0o600); err != nil {
			return err
		}
		files = append(files, file)
	}
	worse := 0
	for i := range s.trials {
		folder := filepath.Join(s.dir, fmt.Sprintf("trial-%d", i))
		a, err := s.compared(ctx, "--run", files[0], files[1], "--repeats", "5", "--output-dir", folder)
		if err != nil {
			return err
		}
		fmt.Printf("trial %d: %s\n", i+1, a.Summary)
		if a.Verdict == "worse" {
			worse++
		}
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	fmt.Printf("%d trials, worse in %d\n", s.trials, worse)
	if 10*worse < 9*s.trials {
		return fmt.Errorf("worse in %d of %d trials, want 9 of 10", worse, s.trials)
	}
	return nil
}
