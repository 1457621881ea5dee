package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"aiperfd/scripts/lab"
)

// probes is the budget of a search.
const probes = 6

// search returns the document of a search for a capacity.
func search(url string, window time.Duration, seed uint64) string {
	return fmt.Sprintf(`randomSeed: %d
benchmark:
  models: [tiny]
  endpoint: {url: "http://%s", streaming: true}
  tokenizer: {name: builtin}
  datasets: [{name: prompts, type: synthetic, prompts: {isl: 128, osl: 32}}]
  slos: {time_to_first_token: 200}
  phases: [{name: profiling, type: poisson, rate: 60, duration: %g}]
sweep:
  type: adaptive_search
  planner: capacity
  searchSpace: [{path: phases.profiling.rate, lo: 40, hi: 400, kind: real}]
  searchStart: 60
  slaWarmupSeconds: 0.5
  cooldownSeconds: 0.2
  maxIterations: %d
`, seed, url, window.Seconds(), probes)
}

// child is a probe as the daemon lists it.
type child struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Cell  struct {
		Index  int                `json:"variation_index"`
		Values map[string]float64 `json:"variation_values"`
	} `json:"cell"`
}

// finding is an answer about a capacity.
type finding struct {
	Final    bool             `json:"final"`
	Verdict  string           `json:"verdict"`
	Estimate map[string]any   `json:"estimate"`
	Evidence []map[string]any `json:"evidence"`
}

// state is what a daemon says of a search.
type state struct {
	children []child
	answer   *finding // nil = there is none yet
}

// killed kills a daemon with SIGKILL in each of several searches, at a random moment: what was measured
// and said before must be there afterwards, the probe that was cut is measured again at its level, and
// the answer at the end is the same after one more kill.
func (s *session) killed(ctx context.Context) (text string, err error) {
	_, err = s.judged(ctx, "search", func(ctx context.Context, worker, i int) (*answer, error) {
		server, err := s.server(worker, 4)
		if err != nil {
			return nil, err
		}
		seed := s.seed + uint64(i)
		random := rand.New(rand.NewPCG(seed, 1))
		said, err := s.kill(ctx, search(server.Addr, s.length, seed), i%probes, random)
		return &answer{Verdict: "same", Sentences: []string{said}}, err
	})
	return fmt.Sprintf("%d kills, no probe lost, the same levels and answers", s.trials), err
}

// longest is about how long a probe at the least load takes: 500 requests.
const longest = 14 * time.Second

// kill performs one search, whose daemon is killed at a random moment after a number of probes, and says what happened.
func (s *session) kill(ctx context.Context, doc string, done int, random *rand.Rand) (text string, err error) {
	dir, err := os.MkdirTemp(s.dir, "daemon-")
	if err != nil {
		return "", err
	}
	daemon, err := s.serve(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { daemon.Kill() }()
	var parent struct{ ID string }
	if err := daemon.Ask(ctx, http.MethodPost, "/api/runs", doc, http.StatusCreated, &parent); err != nil {
		return "", err
	}
	if err := measured(ctx, daemon, parent.ID, done); err != nil {
		return "", err
	}
	after := time.Duration(random.Int64N(int64(longest)))
	lab.Pause(ctx, after)
	before, err := read(ctx, daemon, parent.ID)
	if err != nil {
		return "", err
	}
	daemon.Kill()
	if daemon, err = s.serve(ctx, dir); err != nil {
		return "", err
	}
	if err := ended(ctx, daemon, parent.ID, 20*time.Minute); err != nil {
		return "", err
	}
	last, err := read(ctx, daemon, parent.ID)
	if err != nil {
		return "", err
	}
	if err := check(before, last); err != nil {
		return "", err
	}
	daemon.Kill()
	if daemon, err = s.serve(ctx, dir); err != nil {
		return "", err
	}
	again, err := read(ctx, daemon, parent.ID)
	if err != nil {
		return "", err
	}
	if !reflect.DeepEqual(last, again) {
		return "", errors.New("the answer of a search that has ended is another one after a kill")
	}
	said := 0
	if before.answer != nil {
		said = len(before.answer.Evidence)
	}
	return fmt.Sprintf("killed %.1f s after probe %d with %d probes measured, then %d: %s %v", after.Seconds(), done, said,
		len(last.answer.Evidence), last.answer.Verdict, last.answer.Estimate["value"]), os.RemoveAll(dir)
}

// measured waits until a search has measured a number of probes, or has ended before that.
func measured(ctx context.Context, daemon *lab.Program, id string, probes int) error {
	for end := time.Now().Add(20 * time.Minute); ctx.Err() == nil; lab.Pause(ctx, 100*time.Millisecond) {
		now, err := read(ctx, daemon, id)
		if err != nil {
			return err
		}
		if probes == 0 || now.answer != nil && (len(now.answer.Evidence) >= probes || now.answer.Final) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d probes were not measured in time", probes)
		}
	}
	return ctx.Err()
}

func (s *session) serve(ctx context.Context, dir string) (*lab.Program, error) {
	daemon, err := lab.Start(s.bin, dir, "serve", "--api-port", "0", "--data-dir", filepath.Join(dir, "data"), "--log-level", "error")
	if err != nil {
		return nil, err
	}
	if err := daemon.Until(ctx, "/readyz"); err != nil {
		daemon.Kill()
		return nil, err
	}
	return daemon, nil
}

// read returns what a daemon says of a search.
func read(ctx context.Context, daemon *lab.Program, id string) (*state, error) {
	var list struct{ Items []child }
	if err := daemon.Get(ctx, "/api/runs/"+id+"/children?limit=500", &list); err != nil {
		return nil, err
	}
	out := &state{children: list.Items}
	status, _, err := daemon.Call(ctx, http.MethodGet, "/api/runs/"+id+"/answer", "")
	if err != nil || status != http.StatusOK {
		return out, err
	}
	out.answer = &finding{}
	return out, daemon.Get(ctx, "/api/runs/"+id+"/answer", out.answer)
}

// ended waits until a search has ended by itself.
func ended(ctx context.Context, daemon *lab.Program, id string, limit time.Duration) error {
	var r struct{ State string }
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; lab.Pause(ctx, 100*time.Millisecond) {
		if err := daemon.Get(ctx, "/api/runs/"+id, &r); err != nil {
			return err
		}
		switch {
		case r.State == "completed":
			return nil
		case lab.Terminal(r.State):
			return fmt.Errorf("it is %s after the kill", r.State)
		}
	}
	return fmt.Errorf("it is still %s %v after the kill", r.State, limit)
}

// check compares a search that has ended with what it was before the kill.
func check(before, last *state) error {
	if last.answer == nil || !last.answer.Final {
		return errors.New("the search has ended without a final answer")
	}
	measured := map[string]bool{} // by the ids of runs
	for _, e := range last.answer.Evidence {
		id := fmt.Sprint(e["run_id"])
		if measured[id] {
			return fmt.Errorf("run %s is twice in the evidence", id)
		}
		measured[id] = true
	}
	if n := len(last.answer.Evidence); n > probes {
		return fmt.Errorf("%d probes, the budget is %d", n, probes)
	}
	if before.answer != nil {
		for i, e := range before.answer.Evidence {
			if i >= len(last.answer.Evidence) || e["x"] != last.answer.Evidence[i]["x"] || e["value"] != last.answer.Evidence[i]["value"] ||
				e["run_id"] != last.answer.Evidence[i]["run_id"] {
				return fmt.Errorf("probe %d was %v before the kill, and is lost or another one after it", i+1, e)
			}
		}
	}
	levels := map[int]map[string]float64{}
	for _, c := range last.children {
		if measured[c.ID] { // or ended early, because the server was overloaded
			levels[c.Cell.Index] = c.Cell.Values
		}
	}
	for _, c := range before.children {
		switch level, measured := levels[c.Cell.Index]; {
		case !measured:
			return fmt.Errorf("probe %d, %s before the kill, has no result after it", c.Cell.Index+1, c.State)
		case !reflect.DeepEqual(level, c.Cell.Values):
			return fmt.Errorf("probe %d was at %v before the kill, and is at %v after it", c.Cell.Index+1, c.Cell.Values, level)
		}
	}
	return nil
}
