package postprocess

import (
	"fmt"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/cell"
)

// Findings returns what the file of a sweep says in a sentence; none if p is nil, if the
// file is a table or if it could not be derived.
func Findings(p *sweep.PostProcess, done []cell.Outcome) []string {
	if p == nil {
		return nil
	}
	content, err := Content(p, done)
	if err != nil {
		return nil
	}
	found, ok := content.(object)
	if !ok {
		return nil
	}
	if text := finding(p, found); text != "" {
		return []string{text}
	}
	return nil
}

func finding(p *sweep.PostProcess, found object) string {
	name := sweep.Name(p.Params.SweptParam)
	switch p.Handler {
	case sweep.DegradationKnee:
		metric := p.Params.MetricTag + " " + p.Params.Stat
		share := fmt.Sprintf("%.4g %%", 100*p.Params.ThresholdPct)
		if at, is := found["knee_"+name], found["knee_"+p.Params.Stat]; at != nil {
			return fmt.Sprintf("Knee: from %s %v on, %s is more than %s above its baseline (%.4g, baseline %.4g)",
				name, at, metric, share, is, found["baseline_"+p.Params.Stat])
		}
		return fmt.Sprintf("No knee: %s stays within %s of its baseline", metric, share)
	case sweep.SLABreach:
		holds, breaks := found["max_passing_"+name], found["first_failing_"+name]
		switch {
		case breaks == nil:
			return fmt.Sprintf("The SLA filters hold up to %s %v, the largest value measured", name, holds)
		case holds == nil:
			return fmt.Sprintf("The SLA filters hold at no value of %s", name)
		}
		return fmt.Sprintf("The SLA filters hold up to %s %v and are first broken at %v", name, holds, breaks)
	}
	return ""
}
