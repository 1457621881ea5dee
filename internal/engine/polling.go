package engine

import (
	"fmt"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
)

// pollWarnings returns how polling affects the numbers.
func pollWarnings(p *plan.Plan) []bench.Warning {
	if p.Kind.Job == nil {
		return nil
	}
	detail := "answers were fetched by polling, so their times are those of the answers to polls"
	if every := p.Settings.Job.Interval; every > 0 {
		detail += fmt.Sprintf(", one every %v", every)
	}
	var out warnings
	out.add("poll-resolution", detail+"; times between tokens are left out")
	if text := overQuota(p); text != "" {
		out.add("poll-quota", text)
	}
	return out
}

// overQuota returns the warning if polls alone would use up the quota of Runpod.
func overQuota(p *plan.Plan) string {
	const perSecond = 200 // 2,000 calls in 10 s of /status and /stream together
	every := p.Settings.Job.Interval
	if every == 0 {
		every = time.Second // the longest default interval of polls
	}
	for _, target := range p.Targets {
		if !strings.HasSuffix("."+target.URL.Hostname(), ".runpod.ai") {
			continue
		}
		for i := range p.Phases {
			if n := p.Phases[i].Concurrency; float64(n)/every.Seconds() > perSecond {
				return fmt.Sprintf("%d jobs at a time, polled every %v, are more than the %d polls per second "+
					"that Runpod allows: expect HTTP 429", n, every, perSecond)
			}
		}
	}
	return ""
}
