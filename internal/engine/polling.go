package engine

import (
	"fmt"
	"strings"
	"time"
)

// warnOfPolls warns how polling affects the numbers.
func (x *preparation) warnOfPolls() {
	if x.plan.Kind.Job == nil {
		return
	}
	detail := "answers were fetched by polling, so their times are those of the answers to polls"
	if every := x.plan.Settings.Job.Interval; every > 0 {
		detail += fmt.Sprintf(", one every %v", every)
	}
	x.warn("poll-resolution", detail+"; times between tokens are left out")
	x.warnOfQuota()
}

// warnOfQuota warns if polls alone would use up the quota of Runpod.
func (x *preparation) warnOfQuota() {
	const perSecond = 200 // 2,000 calls in 10 s of /status and /stream together
	every := x.plan.Settings.Job.Interval
	if every == 0 {
		every = time.Second // the longest default interval of polls
	}
	for _, target := range x.plan.Targets {
		if !strings.HasSuffix("."+target.URL.Hostname(), ".runpod.ai") {
			continue
		}
		for i := range x.plan.Phases {
			if n := x.plan.Phases[i].Concurrency; float64(n)/every.Seconds() > perSecond {
				x.warn("poll-quota", fmt.Sprintf("%d jobs at a time, polled every %v, are more than the %d polls per second that Runpod allows: expect HTTP 429",
					n, every, perSecond))
				return
			}
		}
	}
}
