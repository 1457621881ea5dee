package export

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
	content, err := derive(p, done)
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

// leastForKnee is the number of values from which on there is a sentence about the knee: two
// make the baseline, and two show what comes after it.
const leastForKnee = 4

// backBelow returns the first value above the knee at which the statistic is not above the
// threshold; nil = it stays above.
func backBelow(all []object, p *sweep.PostProcess, knee, baseline any) any {
	name, limit := sweep.Name(p.Params.SweptParam), baseline.(float64)*(1+p.Params.ThresholdPct)
	for _, point := range all {
		if point[name].(float64) > knee.(float64) && point[p.Params.Stat].(float64) <= limit {
			return point[name]
		}
	}
	return nil
}

func finding(p *sweep.PostProcess, found object) string {
	name := sweep.Name(p.Params.SweptParam)
	switch p.Handler {
	case sweep.DegradationKnee:
		metric := p.Params.MetricTag + " " + p.Params.Stat
		share := fmt.Sprintf("%.4g %%", 100*p.Params.ThresholdPct)
		all := found["all_points"].([]object)
		if len(all) < leastForKnee {
			return fmt.Sprintf("Not enough values for a knee: %s was measured at %d values of %s; %d are needed, two of them for the baseline", metric, len(all), name, leastForKnee)
		}
		if found["knee_"+name] == all[1][name] {
			return fmt.Sprintf("No knee: %s differs by more than %s between the two lowest values of %s (%.4g and %.4g), which are the baseline; send more requests, or repeat the runs (--num-profile-runs)",
				metric, share, name, all[0][p.Params.Stat], all[1][p.Params.Stat])
		}
		if at, is := found["knee_"+name], found["knee_"+p.Params.Stat]; at != nil {
			if below := backBelow(all, p, at, found["baseline_"+p.Params.Stat]); below != nil {
				return fmt.Sprintf("No clear knee: %s is more than %s above its baseline at %s %v, but not at %v; "+
					"send more requests, or repeat the runs (--num-profile-runs)", metric, share, name, at, below)
			}
			return fmt.Sprintf("Knee: from %s %v on, %s is more than %s above its baseline (%.4g, baseline %.4g)",
				name, at, metric, share, is, found["baseline_"+p.Params.Stat])
		}
		return fmt.Sprintf("No knee up to %s %v, the largest value measured: %s stays within %s of its baseline", name, all[len(all)-1][name], metric, share)
	case sweep.SLABreach:
		holds, breaks := found["max_passing_"+name], found["first_failing_"+name]
		switch {
		case breaks == nil:
			return fmt.Sprintf("SLA filters met up to %s %v, the largest value measured", name, holds)
		case holds == nil:
			return fmt.Sprintf("SLA filters met at no value of %s", name)
		}
		return fmt.Sprintf("SLA filters met up to %s %v, first violated at %v", name, holds, breaks)
	}
	return ""
}
