package plan

import (
	"cmp"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/load/spec"
)

// forever is what no limit is as a duration.
const forever = 1<<63 - 1

// compileLanes makes a phase of recorded sessions, or that of their primers, which follows from the phase behind it.
func compileLanes(c *compiler, i int, ph *spec.Phase) {
	at := fmt.Sprintf("phases/%d/type", i)
	if len(c.b.Datasets) != 1 || !recordedSessions(&c.b.Datasets[0]) {
		c.problem(at, "conflict", "%s plays recorded sessions; give a dataset of the format %s", config.AgenticReplay, agentic.FormatWeka)
	}
	measured := i
	for c.b.Phases[measured].Kind == "warmup" {
		if measured++; measured == len(c.b.Phases) {
			return // it is reported
		}
	}
	d, warming := &c.b.Phases[measured], config.IsCacheWarmup(c.b.Phases, i)
	ph.Concurrency, ph.Once = max(1, given(d.Concurrency)), false
	ph.Lanes = &spec.Lanes{
		Seed: *c.doc.RandomSeed, From: given(d.TrajectoryStartMinRatio), To: given(d.TrajectoryStartMaxRatio),
		Start:   spec.LaneStart(c.choice(fmt.Sprintf("phases/%d/laneStart", i), d.LaneStart, spec.LaneStarts())),
		Primers: ph.Kind == bench.Warmup && !warming, Burst: d.BurstPhaseStarts,
		CacheWarmup: warming, Resumed: i > 0 && !warming && config.IsCacheWarmup(c.b.Phases, i-1),
		Idle: given(d.SystemIdleGapCap).Duration(), TreeIdle: given(d.TreeIdleGapCap).Duration(),
	}
	if data := &c.b.Datasets[0]; !newCacheBust(data.CacheBust.Target).On() && (d.Duration != nil || d.Requests != nil || d.Sessions != nil) {
		ph.Lanes.Apart = data.Synthesis == nil || !data.Synthesis.AllowDatasetWrap
	}
	if warming {
		ph.Lanes.Start = spec.BurstLanes
		if grace := given(d.AgenticWarmupGrace).Duration(); grace < forever {
			ph.Grace = grace
		}
		ph.Requests = int64(given(d.WarmupRequestsPerLane)) * int64(ph.Concurrency)
		ph.Duration = cmp.Or(given(d.AgenticCacheWarmup).Duration(), config.CacheWarmupLimit*time.Second)
		ph.Load = fmt.Sprintf("%d lanes without pauses, answers of one token", ph.Concurrency)
		return
	}
	if ph.Lanes.Primers {
		ph.Sessions = int64(ph.Concurrency)
		ph.Load = fmt.Sprintf("primers of %d lanes", ph.Concurrency)
		return
	}
	if ph.Lanes.Start == spec.RampLanes {
		ph.Lanes.Ramp = cmp.Or(given(d.LaneRamp).Duration(), config.DefaultLaneRamp*time.Second)
	}
	ph.Load = fmt.Sprintf("%d lanes from %v to %v of their sessions, %s", ph.Concurrency, ph.Lanes.From, ph.Lanes.To, d.LaneStart)
	if ph.Lanes.Start == spec.RampLanes {
		ph.Load += fmt.Sprintf(" of %v", ph.Lanes.Ramp)
	}
	if ph.Lanes.Idle > 0 {
		ph.Load += fmt.Sprintf(", idle at most %v", ph.Lanes.Idle)
	}
	if ph.Lanes.TreeIdle > 0 {
		ph.Load += fmt.Sprintf(", each session idle at most %v", ph.Lanes.TreeIdle)
	}
}
