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

// compileLanes makes a phase of recorded sessions, or that of their primers, which follows from the phase behind it.
func compileLanes(c *compiler, i int, ph *spec.Phase) {
	at := fmt.Sprintf("phases/%d/type", i)
	if len(c.b.Datasets) != 1 || !recordedSessions(&c.b.Datasets[0]) {
		c.problem(at, "conflict", "%s plays recorded sessions; give a dataset of the format %s", config.AgenticReplay, agentic.FormatWeka)
	}
	d := &c.b.Phases[i]
	if ph.Kind == bench.Warmup {
		if i+1 == len(c.b.Phases) {
			return // it is reported
		}
		d = &c.b.Phases[i+1]
	}
	ph.Concurrency, ph.Once = max(1, given(d.Concurrency)), false
	ph.Lanes = &spec.Lanes{
		Seed: *c.doc.RandomSeed, From: given(d.TrajectoryStartMinRatio), To: given(d.TrajectoryStartMaxRatio),
		Start:   spec.LaneStart(c.choice(fmt.Sprintf("phases/%d/laneStart", i), d.LaneStart, spec.LaneStarts())),
		Primers: ph.Kind == bench.Warmup, Burst: d.BurstPhaseStarts,
		Idle: given(d.SystemIdleGapCap).Duration(),
	}
	if data := &c.b.Datasets[0]; !newCacheBust(data.CacheBust.Target).On() && (d.Duration != nil || d.Requests != nil || d.Sessions != nil) {
		ph.Lanes.Apart = data.Synthesis == nil || !data.Synthesis.AllowDatasetWrap
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
}
