package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/client"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/run"
)

// A watcher prints a line for each state, goes on after the daemon was away, and ends with
// the exit code of the run.
func TestWatch(t *testing.T) {
	const running = `{"id":"01","state":"running","revision":3,"progress":{"phase":"profiling","percent":50,"requests_completed":5,"in_flight":1}}`
	for _, tt := range []struct {
		name    string
		answers []string // to one request after the other; the last one stays, and "" is a broken connection
		json    bool
		out     string
		err     string
		code    int
	}{
		{"completed", []string{`{"id":"01","state":"starting"}`, running, running, `{"id":"01","state":"completed","started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:05Z","summary":{"requests":10}}`}, false,
			"01 queued #1\n01 starting\n01 running profiling\nrun 01 completed in 5.0s  10 requests, 0 errors\naiperfd ctl results 01 prints the results\n", "", 0},
		{"lost", []string{running, "", "", "", "", "", running, `{"id":"01","state":"cancelled","state_reason":"why"}`}, false,
			"01 queued #1\n01 running profiling\nrun 01 cancelled\n", "connection lost, trying again: cannot reach http://d: EOF\nconnected again\n", exitInterrupted},
		{"objective", []string{`{"id":"01","state":"completed","verdict":"fail"}`}, false, "01 queued #1\nrun 01 completed\naiperfd ctl results 01 prints the results\n", "", exitSLO},
		{"failed, as JSON", []string{running, running, `{"id":"01","state":"failed","revision":4}`}, true,
			`{"id":"01","state":"queued","queue_position":1}` + "\n" + running + "\n" + `{"id":"01","state":"failed","revision":4}` + "\n", "", exitFailed},
		{"timeout", []string{`{"id":"01","state":"starting"}`}, false, "01 queued #1\n01 starting\nrun 01 is still running; stop it with aiperfd ctl cancel\n", "", exitTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := memnet.Listen()
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/metrics") {
						fmt.Fprint(w, "{}")
						return
					}
					answer := tt.answers[0]
					if len(tt.answers) > 1 {
						tt.answers = tt.answers[1:]
					}
					if answer == "" {
						panic(http.ErrAbortHandler)
					}
					fmt.Fprint(w, answer)
				})}
				ended := make(chan error, 1)
				go func() { ended <- server.Serve(listener) }()
				defer func() { _ = server.Close(); <-ended }()
				c, err := client.New(client.Options{Server: "d", Dial: listener.DialContext})
				if err != nil {
					t.Fatal(err)
				}
				var out, faults bytes.Buffer
				cmd := &cobra.Command{}
				cmd.SetOut(&out)
				g := &globals{timeout: time.Minute}
				ctx, cancel := context.WithTimeout(t.Context(), g.timeout)
				defer cancel()
				first := &client.Run{JSON: []byte(`{"id":"01","state":"queued","queue_position":1}`)}
				first.ID, first.State, first.QueuePosition = "01", "queued", new(1)
				w := newWatcher(&session{globals: g, Client: c, cmd: cmd, out: &out, err: &faults}, &out)
				w.json = tt.json
				err = g.explain(ctx, t.Context(), w.follow(ctx, first))
				code := 0
				if exit, ok := errors.AsType[*ExitError](err); ok {
					code = exit.Code
				}
				if code != tt.code {
					t.Errorf("exit code %d (%v), want %d", code, err, tt.code)
				}
				if diff := cmp.Diff(tt.out, out.String()); diff != "" {
					t.Errorf("output (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.err, faults.String()); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The exit code of a sweep is that of its runs, and the error says which missed an objective.
func TestOutcomeOfSweep(t *testing.T) {
	r := &client.Run{Run: wire.Run{
		RunState: wire.RunState{State: bench.StateCompleted, Verdict: new("fail")},
		Progress: &wire.RunProgress{Objectives: []run.StudyObjective{
			{Objective: "ttft < 1ms", Runs: 2, Missed: 1, MissedBy: []string{"concurrency 2"}}, {Objective: "itl < 9ms", Runs: 2},
		}},
	}}
	exit, ok := errors.AsType[*ExitError](outcome(r))
	if !ok || exit.Code != exitSLO {
		t.Fatalf("outcome = %v, want exit code %d", outcome(r), exitSLO)
	}
	if got, want := exit.Error(), "a run missed an objective\n  SLO ttft < 1ms: missed by 1 of 2 runs (concurrency 2)"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}
