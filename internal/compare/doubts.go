package compare

import (
	"fmt"
	"math"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
)

// addDoubts adds the reasons to trust the answer for one cell, which has these metrics, less.
func (a *Answer) addDoubts(c *pair, metrics []MetricAnswer) {
	left, right := c.a, c.b
	both := slices.Concat(left, right)
	for i := range both {
		r := both[i].Run
		if r.Version != both[0].Run.Version {
			a.doubt("version-differs", "the runs were measured by different versions of aiperfd")
		}
		if s := both[i].Snapshot; s != nil && !s.Final {
			a.Final = false
			a.doubt("not-final", "some of the runs have not ended; their results still change")
		}
		if r.Client == nil {
			continue
		}
		for _, m := range metrics {
			if verdict.Of(r.Client.Reasons, m.Tag) == verdict.Suspect {
				a.doubt("client-suspect", "the load generator may have changed "+m.Tag+" in some of the runs")
			}
		}
	}
	for _, tag := range []string{"input_sequence_length", "output_sequence_length"} {
		q := asked{tag: tag, stat: metric.Avg}
		la, lb := meanOf(valuesOf(left, q)), meanOf(valuesOf(right, q))
		const share = 0.01
		if la == nil || lb == nil || math.Abs(*la-*lb) <= share*math.Abs(*la) {
			continue
		}
		a.doubt("lengths-differ", fmt.Sprintf("mean %s is %.4g in A and %.4g in B", tag, *la, *lb))
		if tag == "output_sequence_length" {
			withhold(metrics, "request_latency", "answers of A and B are not equally long")
		}
	}
	if len(left) > 1 && len(right) > 1 && (isBefore(left, right) || isBefore(right, left)) {
		a.doubt("not-interleaved", "all runs of one side were measured before those of the other, "+
			"so a change of the server in time looks like one between A and B")
	}
}

// withhold marks a metric as not tested.
func withhold(metrics []MetricAnswer, tag, reason string) {
	for i := range metrics {
		if m := &metrics[i]; m.Tag == tag && m.Verdict == Inconclusive {
			m.Verdict, m.Reason = NotTested, reason
		}
	}
}

// isBefore reports whether every run of a was created before every one of b.
func isBefore(a, b []Input) bool {
	created := func(x, y Input) int { return x.Run.CreatedAt.Compare(y.Run.CreatedAt) }
	last, first := slices.MaxFunc(a, created), slices.MinFunc(b, created)
	return last.Run.CreatedAt.Before(first.Run.CreatedAt)
}
