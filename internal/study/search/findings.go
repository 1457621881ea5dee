package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/cell"
)

// Findings returns what a search found, in sentences; what it recommends comes first.
func (s *Search) Findings(done []cell.Outcome) []string {
	sum := s.Summarize(done)
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case s.Options.Algorithm == Bayesian:
		out = s.optimum(&sum)
	case len(sum.Tiers) > 0:
		for _, t := range sum.Tiers {
			add("%s: %s", t.Label, t.Boundary.sentence(t.Status))
		}
	case sum.Boundary != nil:
		add("%s", sum.Boundary.sentence(sum.Reason))
	}
	if sum.Reason == string(exhausted) {
		add("The search ended after %d values, its maximum.", s.Options.Iterations)
	}
	tooShort := 0
	for i := range sum.Iterations {
		it := &sum.Iterations[i]
		if it.ClientLimited && sum.Boundary != nil && sum.Boundary.Fail != nil && sum.Boundary.Fail.Iteration == it.Outcome.Index {
			add("Load generator verdict invalid for the probe that violates a limit: the boundary may be that of the load generator, not of the server.")
		}
		if slices.ContainsFunc(it.Verdict.Readings, func(r Reading) bool { return r.Unsupported }) {
			tooShort++
		}
	}
	if tooShort > 0 {
		add("%d of %d probes had too few requests for a percentile with a limit.", tooShort, len(done))
	}
	return out
}

// sentence describes a boundary.
func (b *Boundary) sentence(reason string) string {
	if b == nil {
		return "nothing was measured."
	}
	name := sweep.Name(b.Path)
	violated := ""
	if b.Fail != nil && b.Fail.Breach != nil {
		violated = fmt.Sprintf("at %v: %s", b.Fail.Value, b.Fail.Breach.violation())
	} else if b.Fail != nil {
		violated = fmt.Sprintf("%v is not", b.Fail.Value)
	}
	switch {
	case b.Pass == nil:
		return fmt.Sprintf("No measured %s is within the limits (%s).", name, violated)
	case b.Fail == nil && strings.HasSuffix(reason, string(noFailure)):
		return fmt.Sprintf("Highest %s within the limits: %v, the largest value of the search.", name, b.Pass.Value)
	case b.Fail == nil:
		return fmt.Sprintf("Highest %s within the limits: %v, the largest value measured.", name, b.Pass.Value)
	}
	text := fmt.Sprintf("Highest %s within the limits: %v (%s).", name, b.Pass.Value, violated)
	if b.Interval != nil {
		text += fmt.Sprintf(" 95 %% confidence interval of the boundary: %s to %s.", short(b.Interval[0]), short(b.Interval[1]))
	}
	return text
}

// violation describes a limit and what was measured.
func (r *Reading) violation() string {
	return fmt.Sprintf("%s %s %s, limit %s", r.MetricTag, r.Stat, r.observed(), r.condition())
}

// sentence describes a condition and what was measured.
func (r *Reading) sentence() string {
	return fmt.Sprintf("%s %s %s (%s)", r.MetricTag, r.Stat, r.condition(), r.observed())
}

func (r *Reading) condition() string {
	op := map[string]string{"lt": "<", "le": "<=", "gt": ">", "ge": ">="}[r.Op]
	return strings.TrimSpace(op + " " + short(r.Threshold) + " " + r.unit)
}

func (r *Reading) observed() string {
	if r.Observed == nil {
		return "not measured"
	}
	return strings.TrimSpace(short(*r.Observed) + " " + r.unit)
}

// short returns a number with four digits.
func short(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// optimum describes the best iterations.
func (s *Search) optimum(sum *Summary) []string {
	var out []string
	for _, i := range sum.Best {
		it := &sum.Iterations[i]
		var values, results []string
		for _, a := range it.Outcome.Values {
			values = append(values, sweep.Name(a.Path)+" "+sweep.Text(a.Value))
		}
		for j, o := range s.Options.Objectives {
			results = append(results, o.Metric+" "+o.Stat+" "+short(*it.Objectives[j]))
		}
		text := "Best: " + strings.Join(values, ", ") + " with " + strings.Join(results, ", ")
		if !it.Verdict.Pass {
			text += "; no probe is within all limits"
		}
		out = append(out, text+".")
	}
	return out
}
