package compare

import (
	"math"

	"aiperfd/internal/engine/stat"
)

// Regression is the outcome of a limit on how much worse B may be.
type Regression string

// The outcomes.
const (
	Passed    Regression = "pass"
	Failed    Regression = "fail"
	Undecided Regression = "undecided"
)

// Regressed judges the limit that no metric is worse than in A by share or more: it fails if a
// metric is worse by at least share and surely not equal, passes if every interval ends below
// share, and is undecided otherwise. The level is shared among the metrics (Holm).
func (a *Answer) Regressed(share float64) (Regression, []*MetricAnswer) {
	var tested, failed, open []*MetricAnswer
	for i := range a.Metrics {
		switch m := &a.Metrics[i]; {
		case m.Verdict == IsWorse && m.P == nil:
			failed = append(failed, m) // it fell to 0, or rose from it
		case m.Verdict == NotTested:
		case m.P == nil:
			open = append(open, m)
		default:
			tested = append(tested, m)
		}
	}
	for _, m := range tested {
		limit := math.Log1p(share)
		worse, beyond := m.difference.Estimate, m.difference.Above
		if m.Better == Higher {
			limit, worse, beyond = -math.Log1p(-share), -m.difference.Estimate, m.difference.Below
		}
		if m.Points {
			limit = 100 * share
		}
		switch level := (1 - stat.Level) / float64(len(tested)); {
		case worse >= limit && m.byInstrument():
			open = append(open, m)
		case worse >= limit && *m.P < 1-stat.Level:
			failed = append(failed, m)
		case worse+stat.Student(1-level/2, m.difference.Freedom)*beyond >= limit:
			open = append(open, m)
		}
	}
	switch {
	case failed != nil:
		return Failed, failed
	case open != nil || len(tested) == 0:
		return Undecided, open
	}
	return Passed, nil
}
