package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/results"
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
type answer = results.AnswerHead

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
func (s *session) same(ctx context.Context) (text string, err error) {
	verdicts, err := s.judged(ctx, "pair", func(ctx context.Context, worker, i int) (*answer, error) {
		server, err := s.server(worker, 10)
		if err != nil {
			return nil, err
		}
		var folders []string
		for side := range 2 {
			folder := filepath.Join(s.dir, fmt.Sprintf("pair-%d-%d", i, side))
			file := folder + ".yaml"
			seed := s.seed*1000 + uint64(2*i+side)
			if err := os.WriteFile(file, []byte(document(server.Addr, s.length, seed)), 0o600); err != nil {
				return nil, err
			}
			if _, err := s.run(ctx, nil, "profile", "--config", file, "--artifact-dir", folder, "--ui", "none"); err != nil {
				return nil, err
			}
			folders = append(folders, folder)
		}
		return s.compared(ctx, folders...)
	})
	alarms := verdicts["worse"] + verdicts["better"]
	text = fmt.Sprintf("%d alarms in %d pairs (%s)", alarms, s.trials, verdicts)
	switch {
	case err != nil:
		return text, err
	case verdicts.without() > 0:
		return text, fmt.Errorf("%d pairs have no verdict: the machine is not idle", verdicts.without())
	case 20*alarms > s.trials:
		return text, fmt.Errorf("%d alarms of %d pairs, want at most one of 20", alarms, s.trials)
	}
	return text, nil
}

// slower compares a server with one whose steps take 5 % longer, by five interleaved runs of each.
func (s *session) slower(ctx context.Context) (text string, err error) {
	verdicts, err := s.judged(ctx, "trial", func(ctx context.Context, worker, i int) (*answer, error) {
		folder := filepath.Join(s.dir, fmt.Sprintf("trial-%d", i))
		args := []string{"--run"}
		for side, factor := range []float64{10, 10.5} {
			server, err := s.server(worker, factor)
			if err != nil {
				return nil, err
			}
			file := fmt.Sprintf("%s-%d.yaml", folder, side)
			if err := os.WriteFile(file, []byte(document(server.Addr, s.length, 0)), 0o600); err != nil {
				return nil, err
			}
			args = append(args, file)
		}
		a, err := s.compared(ctx, append(args, "--repeats", "5", "--output-dir", folder)...)
		if err != nil {
			return nil, err
		}
		return a, os.RemoveAll(folder)
	})
	text = fmt.Sprintf("worse in %d of %d trials (%s)", verdicts["worse"], s.trials, verdicts)
	switch {
	case err != nil:
		return text, err
	case 10*verdicts["worse"] < 9*s.trials:
		return text, fmt.Errorf("worse in %d of %d trials, want 9 of 10", verdicts["worse"], s.trials)
	}
	return text, nil
}

// verdicts are how often each was given.
type verdicts map[string]int

func (v verdicts) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		out = append(out, fmt.Sprintf("%d %s", v[name], name))
	}
	return strings.Join(out, ", ")
}

// without is how many answers say nothing of the servers.
func (v verdicts) without() int { return v["invalid"] + v["not_comparable"] }

// trial is one measurement of a worker, the ith of all.
type trial func(ctx context.Context, worker, i int) (*answer, error)

// judged performs the trials, some at a time, and prints a line for each. An error ends the others.
func (s *session) judged(ctx context.Context, what string, perform trial) (verdicts, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mutex sync.Mutex
	out, done, began := verdicts{}, 0, time.Now() // under mutex
	var group sync.WaitGroup
	next := make(chan int)
	for worker := range min(s.parallel, s.trials) {
		group.Go(func() {
			for i := range next {
				a, err := perform(ctx, worker, i)
				if err != nil {
					cancel(fmt.Errorf("%s %d: %w", what, i+1, err))
					return
				}
				mutex.Lock()
				out[string(a.Verdict)]++
				done++
				took := time.Since(began).Round(time.Second)
				fmt.Printf("%s %d (%d of %d, %s): %s\n", what, i+1, done, s.trials, took, a.Sentences[0])
				mutex.Unlock()
			}
		})
	}
	for i := range s.trials {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return out, context.Cause(ctx)
}
