package export

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
)

// repeated returns repeats with these values of the request latency, each with a margin; 0 = the run failed, negative =
// the load generator distorted it.
func repeated(ends *sweep.Convergence, margin float64, values ...float64) *Report {
	r := &Report{
		Run: &run.Run{ID: "p", State: bench.StateCompleted, Origin: run.Origin{Version: "v"}},
		Study: &config.Study{
			MultiRun: sweep.MultiRun{NumRuns: len(values), ConfidenceLevel: 0.95, Convergence: ends}, Seed: 42,
		},
	}
	o := cell.Outcome{Variation: vary.Variation{Label: "base"}}
	for i, v := range values {
		t := cell.Trial{RunID: fmt.Sprint(i), Label: fmt.Sprintf("run_%04d", i+1)}
		m := cell.Metric{
			Tag: "request_latency", Unit: "ms", Stats: map[string]float64{"avg": max(v, -v)}, Margins: map[string]float64{"avg": margin},
		}
		switch {
		case v == 0:
			t.Failure = "refused"
		case v < 0:
			m.Doubt = &cell.Doubt{Invalid: true}
		}
		if v != 0 {
			t.Metrics = []cell.Metric{m}
		}
		o.Trials = append(o.Trials, t)
	}
	r.Outcomes = []cell.Outcome{o}
	return r
}

// having returns a report after a change of each of its trials.
func having(r *Report, change func(i int, t *cell.Trial)) *Report {
	for i := range r.Outcomes[0].Trials {
		change(i, &r.Outcomes[0].Trials[i])
	}
	return r
}

// TestRepeatsAnswer: what repeats say, how precise that is, and what would make it more precise.
func TestRepeatsAnswer(t *testing.T) {
	ends := func(precision float64) *sweep.Convergence {
		return &sweep.Convergence{Metric: "request_latency", Stat: "avg", Mode: sweep.Precise, Threshold: &precision, MinRuns: 3}
	}
	for _, c := range []struct {
		name    string
		r       *Report
		verdict results.Verdict
		want    string // sentences and notes
	}{
		{
			"runs that differ", repeated(nil, 0.1, 100, 102, 98, 101, 99), "estimated",
			`Request Latency, mean: 99.99 ms. The true value of this configuration probably lies between 98.0 and 102 (95 % interval over 5 runs).
So the value is known to ± 2 %.
Runs differ by 1.6 % of the value beyond chance within a run, so that a single run can be off by as much: more runs help, longer ones hardly do.
The measurement ended: all 5 runs have ended.
What would narrow it: about 13 runs in all for half the width of the interval.`,
		},
		{
			"runs that agree", repeated(nil, 10, 100, 102, 98), "estimated",
			`Most of what is unsure comes from chance within the runs: longer runs help as much as more of them.`,
		},
		{
			"precise enough", repeated(ends(0.05), 0.1, 100, 102, 98, 101, 99), "estimated",
			`So the value is known to ± 2.7 %, and ± 5 % was asked: reached.`,
		},
		{
			"not precise enough", repeated(ends(0.01), 0.1, 100, 102, 98, 101, 99), "inconclusive",
			`Less precise than asked: Request Latency, mean: 99.99 ms. The true value of this configuration probably lies between 97.4 and 103 (98 % interval over 5 runs).
So the value is known to ± 2.7 %, and ± 1 % was asked: not reached.
Runs differ by 1.6 % of the value beyond chance within a run, so that a single run can be off by as much: more runs help, longer ones hardly do.
The measurement ended: all 5 runs have ended.
What would decide it: about 17 runs in all, if they differ as these do, for ± 1 %.`,
		},
		{
			"two runs", repeated(nil, 0.1, 100, 102), "inconclusive",
			`What would decide it: at least 3 runs that count (--num-profile-runs).
Doubt: two runs hardly show how much runs differ among themselves.`,
		},
		{
			"one run that counts", repeated(nil, 0.1, 100, 0, 0), "inconclusive",
			`Not decided: how precisely Request Latency, mean is known cannot be said, because fewer than two of its runs count.
The measurement ended: all 3 runs have ended.
What would decide it: 3 runs or more that have a value of it.
Doubt: 2 runs failed, so that the others may be the easier ones.`,
		},
		{
			"distorted in all", repeated(nil, 0.1, -100, -102, -98), "invalid",
			`No answer: the load generator distorted Request Latency, mean in every run.
The measurement ended: all 3 runs have ended.
What would decide it: give the load generator a machine or cores of its own, and measure again.`,
		},
		{
			"distorted in one", repeated(nil, 0.1, 100, 102, 98, -300), "estimated",
			`Doubt: 1 run left out, because the load generator distorted it there: give it a machine or cores of its own.`,
		},
		{
			"a trend", repeated(nil, 0.1, 100, 101, 102, 103, 104, 105, 106), "estimated",
			`Doubt: the values rise or fall with the order of the runs: the server or its machine changed, or a cache filled, while it was measured.`,
		},
		{
			"equal prompts", having(repeated(nil, 0.1, 100, 90, 91), func(_ int, t *cell.Trial) { t.Prompts = "42 " }), "estimated",
			`Doubt: the runs sent the same prompts, and the server does not report cached tokens: a prefix cache would make all but the ` +
				`first one faster; give each run prompts of its own (--vary-seed-per-trial), or use --cache-bust.`,
		},
		{
			"a warmer cache", having(repeated(nil, 0.1, 100, 90, 91), func(i int, t *cell.Trial) {
				t.Prompts, t.Cached = "42 ", new(0.03*float64(i))
			}), "estimated",
			`Doubt: servers had cached 0.0 % of the prompt tokens of the first run, and 3.0 % of those of run_0002.`,
		},
		{
			"the start of a run takes long", having(repeated(nil, 1, 100, 102, 98, 101, 99), func(_ int, t *cell.Trial) {
				t.Requests, t.Load, t.Whole = 400, 40*time.Second, 640*time.Second
			}), "estimated",
			"Runs of about 528 requests make the interval narrow at the least cost of time, given what the start of a run takes.",
		},
	} {
		a := c.r.Answer()
		got := strings.Join(append(a.Sentences, a.Notes()...), "\n")
		if a.Verdict != c.verdict || !a.Final || !strings.Contains(got, c.want) || len(a.Evidence) != len(c.r.Outcomes[0].Trials) {
			t.Errorf("%s: %s, final %v, %d runs:\n%s\nwant %s:\n%s", c.name, a.Verdict, a.Final, len(a.Evidence), got, c.verdict, c.want)
		}
	}
	if a := report(&sweep.Block{Type: sweep.Grid}, 3).Answer(); a != nil {
		t.Errorf("a sweep has the answer %+v", a)
	}
	going := repeated(nil, 0.1, 100, 102, 98)
	going.Run.State, going.Study.MultiRun.NumRuns = bench.StateRunning, 10
	if a := going.Answer(); a.Final || a.Stop.Reason != "" || a.Stop.Budget != 0.3 {
		t.Errorf("repeats that go on: final %v, %+v", a.Final, a.Stop)
	}
}
