package compare

import (
	"testing"
	"time"

	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// TestInstrument: a difference that the load generator may have made is no difference of the server, and
// more runs do not decide it.
func TestInstrument(t *testing.T) {
	judged := func(errorA, errorB float64, swap bool) *Answer {
		a := side(t, "a", start, 100, 100.5, 99.5, 100.2, 99.8)
		b := side(t, "b", start.Add(time.Minute), 105, 105.5, 104.5, 105.2, 104.8)
		for _, s := range []struct {
			runs []Input
			p50  float64
		}{{a, errorA}, {b, errorB}} {
			for i := range s.runs {
				s.runs[i].Run.Client = &run.ClientVerdict{
					Bias: []verdict.Bias{{Metric: "time_to_first_token", P50: s.p50, P99: 50, Judged: 50}},
				}
			}
		}
		if swap {
			a, b = b, a
		}
		got, err := Judge(a, b, AnswerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, c := range []struct {
		name   string
		answer *Answer
		want   results.Verdict
	}{
		{"a small error", judged(1, 1, false), IsWorse},
		{"an error of B of 6 ms", judged(1, 6, false), Inconclusive},
		{"only A has one, whose values are smaller", judged(6, 1, false), IsWorse},
		{"B is better by less than the error of A", judged(1, 6, true), Inconclusive},
	} {
		if c.answer.Verdict != c.want {
			t.Errorf("%s: %s, want %s\n%s", c.name, c.answer.Verdict, c.want, lines(c.answer))
		}
		if c.want != Inconclusive {
			continue
		}
		const reason = "the load generator itself may have added 6 ms to the larger value, which is all of the difference"
		if m := c.answer.Metrics[0]; m.Reason != reason || c.answer.Decide.Needs != "" ||
			len(c.answer.Doubts) == 0 || c.answer.Doubts[0].Code != "instrument" {
			t.Errorf("%s: reason %q, decide %q, doubts %v", c.name, m.Reason, c.answer.Decide.Needs, c.answer.Doubts)
		}
	}
}
