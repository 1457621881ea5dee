package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/capacity"
	"aiperfd/internal/study/cell"
)

// Findings returns what a search found, in sentences; what it recommends comes first.
func (s *Search) Findings(done []cell.Outcome) []string {
	if l, ok := s.Planner.(Load); ok && len(done) > 0 {
		return l.sentences(done)
	}
	sum := s.Summarize(done)
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case !slices.ContainsFunc(done, func(o cell.Outcome) bool { return len(o.Successful()) > 0 }):
		add("Nothing was found: no probe has a result.")
	case s.Options.Algorithm == Bayesian:
		out = s.optimum(&sum)
	case len(sum.Tiers) > 0:
		for _, t := range sum.Tiers {
			add("%s: %s", t.Label, t.Boundary.sentence(t.Status))
		}
	case sum.Boundary != nil:
		add("%s", sum.Boundary.sentence(sum.Reason))
	}
	tooShort := 0
	for i := range sum.Iterations {
		if slices.ContainsFunc(sum.Iterations[i].Verdict.Readings, func(r Reading) bool { return r.Unsupported }) {
			tooShort++
		}
	}
	if tooShort > 0 {
		add("%d of %d probes had too few requests for a percentile with a limit.", tooShort, len(done))
	}
	return out
}

// Ending says why the search ended, in a sentence; none if it goes on, or if that is not known.
func (s *Search) Ending(done []cell.Outcome) []string {
	if text := ReasonText(s.Summarize(done).Reason); text != "" {
		return []string{"The search ended: " + text + "."}
	}
	return nil
}

// ReasonText returns in words why a search ended; empty = the reason is not known.
func ReasonText(reason string) string {
	for end, text := range capacity.Reasons() {
		if reason == string(end) {
			return text
		}
	}
	for _, r := range []struct {
		end  stop
		text string
	}{
		{noPass, "no value of the search is within the limits"},
		{noFailure, "the largest value of the search is within the limits"},
		{precise, "the values on both sides of the boundary are as close as the search asks"},
		{exhausted, "the largest number of values was measured"},
		{impatient, "the last values did not improve the objective"},
		{plateau, "the objective no longer changed"},
		{complete, "every value of the search was measured"},
	} {
		if strings.HasSuffix(reason, string(r.end)) {
			return r.text
		}
	}
	return ""
}

// sentence describes a boundary, and what makes it doubtful.
func (b *Boundary) sentence(reason string) string {
	if b == nil {
		return "nothing was measured."
	}
	return b.place(reason) + b.doubt()
}

// place says where a boundary is.
func (b *Boundary) place(reason string) string {
	name := sweep.Name(b.Path)
	switch {
	case b.Pass == nil:
		return fmt.Sprintf("No measured %s is within the limits (%s).", name, b.Fail.violation())
	case b.Fail == nil && strings.HasSuffix(reason, string(noFailure)):
		return fmt.Sprintf("Highest %s within the limits: %v, the largest value of the search.", name, b.Pass.Value)
	case b.Fail == nil:
		return fmt.Sprintf("Highest %s within the limits: %v, the largest value measured.", name, b.Pass.Value)
	}
	text := fmt.Sprintf("Highest %s within the limits: %v (%s).", name, b.Pass.Value, b.Fail.violation())
	if b.Interval != nil {
		text += fmt.Sprintf(" 95 %% confidence interval of the boundary: %s to %s.", short(b.Interval[0]), short(b.Interval[1]))
	}
	return text
}

// violation says why a value is not within the limits.
func (e *Edge) violation() string {
	switch {
	case e.Failed:
		return fmt.Sprintf("at %v: no request succeeded", e.Value)
	case e.Breach == nil:
		return fmt.Sprintf("%v is not", e.Value)
	}
	r := e.Breach
	return fmt.Sprintf("at %v: %s %s %s, limit %s", e.Value, r.MetricTag, r.Stat, r.observed(), r.condition())
}

// doubt names a limit that the load generator leaves open, or one for whose percentile there were too few
// requests; empty = none.
func (b *Boundary) doubt() string {
	for _, e := range []*Edge{b.Fail, b.Pass} {
		if e != nil && e.Unsure != "" {
			return fmt.Sprintf(" Load generator verdict invalid for %s at %v: "+
				"the boundary may be that of the load generator, not of the server.", e.Unsure, e.Value)
		}
	}
	for _, e := range []*Edge{b.Fail, b.Pass} {
		if r := e.short(); r != nil {
			return fmt.Sprintf(" Not decided: at %v there were too few requests for %s %s.", e.Value, r.MetricTag, r.Stat)
		}
	}
	return ""
}

// short returns a reading of too few requests that decides on which side of the boundary a value is; nil if
// there is none. A value is beyond the limits if it breaks one of them.
func (e *Edge) short() *Reading {
	if e == nil {
		return nil
	}
	var few *Reading
	broken := false
	for i := range e.Readings {
		r := &e.Readings[i]
		met := r.Observed != nil && r.Holds(*r.Observed)
		switch {
		case !met && !r.Unsupported:
			return nil
		case r.Unsupported && (few == nil || !met && !broken):
			few = r
		}
		broken = broken || !met
	}
	return few
}

// sentence describes a condition and what was measured.
func (r *Reading) sentence() string {
	return fmt.Sprintf("%s %s %s (%s)", r.MetricTag, r.Stat, r.condition(), r.observed())
}

func (r *Reading) condition() string {
	op := map[string]string{"lt": "<", "le": "<=", "gt": ">", "ge": ">="}[r.Op]
	return strings.TrimSpace(op + " " + short(r.Threshold) + " " + r.Unit)
}

func (r *Reading) observed() string {
	if r.Observed == nil {
		return "not measured"
	}
	return strings.TrimSpace(short(*r.Observed) + " " + r.Unit)
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
