package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/agents"
)

// sessionTrace is a trace whose answers took a second each: two turns, a sub-agent that starts
// while the second is answered, a turn that waited for it, and one after an edit.
const sessionTrace = `{"id": "A", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [
  {"t": 0, "type": "s", "model": "m", "in": 128, "out": 1, "hash_ids": [1, 2], "api_time": 1},
  {"t": 1.5, "type": "s", "model": "m", "in": 200, "out": 1, "hash_ids": [1, 2, 3], "api_time": 1},
  {"t": 2.6, "type": "subagent", "agent_id": "x", "subagent_type": "Explore", "status": "completed", "models": ["m"], "requests": [
    {"t": 2.7, "type": "s", "model": "m", "in": 100, "out": 1, "hash_ids": [1], "api_time": 1},
    {"t": 4, "type": "s", "model": "m", "in": 170, "out": 1, "hash_ids": [1, 9], "api_time": 1}]},
  {"t": 5.25, "type": "s", "model": "m", "in": 256, "out": 1, "hash_ids": [1, 2, 3, 4], "api_time": 1},
  {"t": 26.25, "type": "s", "model": "m", "in": 130, "out": 1, "hash_ids": [1, 5], "api_time": 1}]}`

// A server that is as fast as the recorded one gets every request of a session at its recorded
// time, and the slot is free when the whole session has ended.
func TestSessionReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		data := "  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, records: [" + sessionTrace + "]}"
		r := b.run(document("type: concurrency, concurrency: 1, sessions: 2", data))
		const pass = `profiling s0.0 0s-1s
profiling s0.1 1.5s-2.5s
profiling s0.0 2.7s-3.7s
profiling s0.1 4s-5s
profiling s0.2 5.25s-6.25s
profiling s0.3 26.25s-27.25s
`
		got := b.transcript(r.ID)
		if !strings.HasPrefix(got, pass) || !strings.Contains(got, "profiling s1.0 27.25s-28.25s\n") {
			t.Errorf("requests:\n%s\nwant, twice:\n%s", got, pass)
		}
		// The second play finds the first one in the cache, of which the last token of each prompt is computed anew.
		// Prompts of the recording have 2, 3, 1, 2, 4, 2 blocks, of which 0, 2, 1, 1, 3, 1 had been sent.
		var report agents.Report
		if err := json.Unmarshal([]byte(b.file(r.ID, "agent_summary.json")), &report); err != nil {
			t.Fatal(err)
		}
		var summary struct {
			Expected struct{ Count, Sum float64 } `json:"expected_prefix_cache_hit"`
		}
		if err := json.Unmarshal([]byte(b.file(r.ID, "profile_export_aiperf.json")), &summary); err != nil {
			t.Fatal(err)
		}
		first := 0 + 128 + 64 + 64 + 192 + 64
		again := 112 + 192 + 96 + 160 + 240 + 128
		if summary.Expected.Sum != float64(first+again) {
			t.Errorf("%v tokens are expected to be cached, want %d", summary.Expected.Sum, first+again)
		}
		want := agents.Report{
			Trees: 2, Completed: 2, CompletionTime: &agents.Times{Count: 2, P50: new(27250.0), P90: new(27250.0)},
			Dilation: even(2, 1), Inflation: even(2, 1), Makespan: even(2, 27250), JoinWait: even(2, 2500),
			Path:     &agents.Shares{Prefill: 6 / 27.25, Gap: 21.25 / 27.25},
			WorkRate: new(1.0), JobsPerHour: new(2 * 3600 / 54.5), JobsPerHourPerUser: new(3600 / 27.25),
			IdleShare: new(0.0), ByTree: agents.ByTree{TTFT: even(2, 1000), Latency: even(2, 1000)},
			Hits: agents.Hits{Theoretical: new(8 / 14.0), Expected: new(float64(first+again) / summary.Expected.Count)},
		}
		if diff := cmp.Diff(want, report, cmpopts.EquateApprox(0, 1e-9),
			cmpopts.IgnoreFields(agents.Report{}, "ByContext", "ByUncached", "Plan")); diff != "" {
			t.Errorf("agents (-want +got):\n%s", diff)
		}
		if lines := strings.Count(b.file(r.ID, "trees.jsonl"), "\n"); lines != 2 {
			t.Errorf("%d lines of trees, want 2", lines)
		}
		b.stop()
	})
}

// even is the distribution of n equal values.
func even(n int, v float64) *agents.Spread {
	return &agents.Spread{Count: n, Mean: v, P50: v, P90: v, Max: v}
}

// A session ends with the first prompt that is too long for the server.
func TestSessionReplayFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := timing(t, time.Second, 0)
		o.MaxModelLen = 200 // its tokens are shorter
		b := newBed(t, o, nil)
		data := "  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, ignoreTraceDelays: true, records: [" + sessionTrace + "]}"
		r := b.run(document("type: concurrency, concurrency: 1, sessions: 1", data))
		if r.Summary.Requests != 1 || r.Summary.Errors != 1 {
			t.Errorf("%d requests, %d failed; want 1, and the first one that is too long\n%s", r.Summary.Requests, r.Summary.Errors, b.transcript(r.ID))
		}
		b.stop()
	})
}

// Lanes enter their first sessions in their middle, after primers, and play the others from their
// beginning. The prompts of a play have one marker, also that of its primers.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		data := "  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, cacheBust: {target: first_turn_prefix}, records: [" + sessionTrace + "]}"
		r := b.run(document("type: agentic_replay, concurrency: 1, sessions: 2, laneStart: spread, trajectoryStartMinRatio: 0.1, trajectoryStartMaxRatio: 0.15", data))
		const want = `primers s0.1 0s-1s
primers s0.0 1.2s-2.2s
profiling s0.1 3.486731501s-4.486731501s
profiling s0.2 4.736731501s-5.736731501s
profiling s0.3 25.736731501s-26.736731501s
profiling s1.0 26.736731501s-27.736731501s
profiling s1.1 28.236731501s-29.236731501s
profiling s1.0 29.436731501s-30.436731501s
profiling s1.1 30.736731501s-31.736731501s
profiling s1.2 31.986731501s-32.986731501s
profiling s1.3 52.986731501s-53.986731501s
`
		if got := b.transcript(r.ID); got != want {
			t.Errorf("requests:\n%s\nwant:\n%s", got, want)
		}
		b.stop()
	})
}

// Each play of a session has one marker, in every prompt of all its streams and in its primers, and no other play has it.
func TestOneMarkerPerPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard bodyRecorder
		b := newBed(t, timing(t, time.Second, 0), heard.wrap)
		data := "  tokenizer: {name: builtin}\n" +
			"  dataset: {type: file, format: weka_trace, cacheBust: {target: first_turn_prefix}, records: [" + sessionTrace + "]}"
		b.run(document("type: agentic_replay, concurrency: 1, sessions: 2, laneStart: spread, trajectoryStartMinRatio: 0.1, trajectoryStartMaxRatio: 0.15", data))
		marker := regexp.MustCompile(`\[rid:[0-9a-f]{12}\]`)
		requests := map[string]int{}
		for _, body := range heard.bodies {
			found := marker.FindAllString(body, -1)
			if len(found) != 1 {
				t.Fatalf("markers %q in %.200s", found, body)
			}
			requests[found[0]]++
		}
		var plays []int
		for _, n := range requests {
			plays = append(plays, n)
		}
		slices.Sort(plays)
		if want := []int{5, 6}; !slices.Equal(plays, want) { // two primers and what was left of the first play; the second one
			t.Errorf("requests by marker: %v, want %v", plays, want)
		}
		b.stop()
	})
}

// After a crash, the plays of sessions and the beginnings of lanes are computed again from the records: the same ones.
func TestRecoveredJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		data := "  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, cacheBust: {target: first_turn_prefix}, records: [" + sessionTrace + "]}"
		r := b.run(document("type: agentic_replay, concurrency: 1, sessions: 2, laneStart: spread, systemIdleGapCapSeconds: 3, "+
			"trajectoryStartMinRatio: 0.1, trajectoryStartMaxRatio: 0.15", data))
		b.stop()
		before := map[string]string{}
		for _, name := range []string{"trees.jsonl", "lanes.jsonl", "agent_summary.json"} {
			before[name] = b.file(r.ID, name)
			if err := os.Remove(filepath.Join(b.store.Dir(r.ID), name)); err != nil {
				t.Fatal(err)
			}
		}
		left := *r
		left.State, left.Summary, left.Error = bench.StateRunning, nil, nil
		if err := b.store.Put(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
		restarted(t, b.store, r.ID)
		for _, name := range []string{"trees.jsonl", "lanes.jsonl"} {
			if diff := cmp.Diff(before[name], b.file(r.ID, name)); diff != "" {
				t.Errorf("%s (-before +recovered):\n%s", name, diff)
			}
		}
		var was, is agents.Report
		if err := errors.Join(json.Unmarshal([]byte(before["agent_summary.json"]), &was), json.Unmarshal([]byte(b.file(r.ID, "agent_summary.json")), &is)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(was, is, cmpopts.IgnoreFields(agents.Report{}, "JobsPerHour", "Hits")); diff != "" || is.Plan == "" {
			t.Errorf("agent_summary.json (-before +recovered):\n%s", diff)
		}
	})
}

// Each lane begins with the session and at the instant that lanes.jsonl has.
func TestLanesFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		data := "  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, cacheBust: {target: first_turn_prefix}, records: [" + sessionTrace + "]}"
		r := b.run(document("type: agentic_replay, concurrency: 1, sessions: 2, laneStart: spread, trajectoryStartMinRatio: 0.1, trajectoryStartMaxRatio: 0.15", data))
		b.stop()
		lines := strings.Split(strings.TrimSpace(b.file(r.ID, "lanes.jsonl")), "\n")
		var lane agents.Lane
		if len(lines) != 1 {
			t.Fatalf("%d lines, want 1:\n%s", len(lines), lines)
		} else if err := json.Unmarshal([]byte(lines[0]), &lane); err != nil {
			t.Fatal(err)
		}
		// The primers are the second request of the main stream, sent at 1.5 s of the recording, and the first one of the
		// sub-agent at 2.7 s. Its second one at 4 s is the first that is measured, 1.286731501 s after the instant.
		want := agents.Lane{
			Lane: 1, Play: 0, Trace: "A", Entered: 2713.268499,
			Streams: []agents.Entry{{Stream: "A", Turn: 2, Due: lane.Primers[0].Due + 4736.731501}, {Stream: "A::sa:x", Turn: 1, Due: lane.Primers[0].Due + 3486.731501}},
			Primers: []agents.Entry{{Stream: "A", Turn: 1, Due: lane.Primers[0].Due}, {Stream: "A::sa:x", Turn: 0, Due: lane.Primers[0].Due + 1200}},
		}
		if diff := cmp.Diff(want, lane, cmpopts.EquateApprox(0, 1e-3), cmpopts.IgnoreFields(agents.Lane{}, "Digest")); diff != "" || len(lane.Digest) != 64 {
			t.Errorf("lanes.jsonl (-want +got):\n%s", diff)
		}
	})
}

// More lanes than sessions would send the same prompts at the same time, unless they have markers.
func TestMoreLanesThanSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct{ set, want string }{
			{"", "2 lanes need as many sessions, and there are 1: "},
			{"synthesis: {allowDatasetWrap: true}, ", ""},
			{"cacheBust: {target: first_turn_prefix}, ", ""},
		} {
			b := newBed(t, timing(t, time.Second, 0), nil)
			data := "  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, " + tt.set + "records: [" + sessionTrace + "]}"
			r := b.run(document("type: agentic_replay, concurrency: 2, sessions: 3", data))
			failure := ""
			if r.Error != nil {
				failure = r.Error.Message
			}
			if (tt.want == "") != (failure == "") || !strings.Contains(failure, tt.want) {
				t.Errorf("%s: %q, want %q", tt.set, failure, tt.want)
			}
			b.stop()
		}
	})
}

// Idle time that limits left out counts as if it had passed: a server as fast as the recorded one takes as long as recorded.
func TestIdleTimeInJobs(t *testing.T) {
	for _, limit := range []string{"systemIdleGapCapSeconds: 3", "treeIdleGapCapSeconds: 3"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, timing(t, time.Second, 0), nil)
			data := "  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, records: [" + sessionTrace + "]}"
			r := b.run(document("type: agentic_replay, concurrency: 1, sessions: 1, trajectoryStartMinRatio: 0, trajectoryStartMaxRatio: 0, "+limit, data))
			var report agents.Report
			if err := json.Unmarshal([]byte(b.file(r.ID, "agent_summary.json")), &report); err != nil {
				t.Fatal(err)
			}
			if report.Dilation.Mean != 1 || report.IdleSkipped != 17000 || report.WorkRate == nil || *report.WorkRate != 1 {
				t.Errorf("%s: %.9f × as long as recorded, %v ms left out", limit, report.Dilation.Mean, report.IdleSkipped)
			}
			if !slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "think-time-cut" }) {
				t.Errorf("%s: no warning that most of the pauses were left out: %v", limit, r.Warnings)
			}
			b.stop()
		})
	}
}
