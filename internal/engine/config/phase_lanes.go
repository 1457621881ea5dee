package config

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// DefaultLaneRamp is in which time the lanes of a phase send their first requests unless the document says
// otherwise, in seconds.
const DefaultLaneRamp = 60

// laneFields are the fields that only phases of recorded sessions have.
func laneFields() []string {
	return []string{"trajectoryStartMinRatio", "trajectoryStartMaxRatio", "systemIdleGapCapSeconds",
		"laneStart", "laneRamp", "treeIdleGapCapSeconds", "agenticCacheWarmupDuration", "warmupRequestsPerLane", "agenticWarmupGracePeriod"}
}

// isLaneWarmup reports whether a phase prepares the phase of recorded sessions that follows it: the first one sends its
// primers, the second one plays its sessions without pauses.
func isLaneWarmup(p *Phase) bool { return p.Type == AgenticReplay && phaseKind(p) == "warmup" }

// Names of the warm-ups that no document gives.
const (
	primerName      = "primers"
	cacheWarmupName = "cache-warmup"
)

// CacheWarmupLimit bounds a cache warm-up that has only a number of requests, in seconds.
const CacheWarmupLimit = 1800

// IsCacheWarmup reports whether a phase plays the sessions of the phase behind it without pauses, before they are
// measured.
func IsCacheWarmup(phases []Phase, i int) bool {
	return i > 0 && isLaneWarmup(&phases[i]) && isLaneWarmup(&phases[i-1])
}

// hasCacheWarmup reports whether a phase of recorded sessions wants a cache warm-up.
func (p *Phase) hasCacheWarmup() bool {
	return p.AgenticCacheWarmup != nil || p.WarmupRequestsPerLane != nil
}

// addLaneWarmups puts a phase of primers in front of the first phase of recorded sessions, and a cache warm-up if it is
// asked for, unless they are there.
func addLaneWarmups(root *tree.Node) {
	benchmark := root.Get("benchmark")
	if benchmark == nil || benchmark.Shape != tree.Object {
		return
	}
	phases := benchmark.Get("phases")
	if phases == nil || phases.Shape != tree.List {
		return
	}
	names := []string{primerName, cacheWarmupName}
	for i, p := range phases.Items {
		if p.Shape != tree.Object || scalarOf(p, "type") != AgenticReplay {
			continue
		}
		if len(names) > 0 && (scalarOf(p, "kind") == "warmup" || scalarOf(p, "name") == "warmup") {
			names = names[1:]
			continue
		}
		if p.Get("agenticCacheWarmupDuration") == nil && p.Get("warmupRequestsPerLane") == nil && len(names) > 0 {
			names = names[:len(names)-1]
		}
		for n, name := range names {
			warmup := tree.ObjectNode(
				tree.Member{Name: "name", Value: tree.TextNode(name)}, tree.Member{Name: "kind", Value: tree.TextNode("warmup")},
				tree.Member{Name: "type", Value: tree.TextNode(AgenticReplay)},
			)
			phases.Items = slices.Insert(slices.Clip(phases.Items), i+n, warmup)
			warmup.Locate(CanonicalPointer(PhasePath(i + n)))
		}
		return
	}
}

// scalarOf returns the text of a member; empty = it is absent, or no text.
func scalarOf(n *tree.Node, name string) string {
	if m := n.Get(name); m != nil && m.Shape == tree.Text {
		return m.Scalar
	}
	return ""
}

// fillLanes fills in the defaults of a phase of recorded sessions. Those of its primers are its own.
func fillLanes(in *input, p *Phase, path string) {
	if isLaneWarmup(p) {
		return
	}
	fillConcurrency(in, p, path)
	if p.hasCacheWarmup() && p.AgenticWarmupGrace == nil {
		p.AgenticWarmupGrace = new(Seconds(math.Inf(1)))
		reason := "the cache warm-up has no duration"
		if d := p.AgenticCacheWarmup; d != nil {
			*p.AgenticWarmupGrace = min(*d, 300)
			if p.GracePeriod != nil {
				*p.AgenticWarmupGrace = max(*p.AgenticWarmupGrace, *p.GracePeriod)
			}
			reason = "as in AIPerf: gracePeriod, or the duration of the cache warm-up up to 300"
		}
		in.infer(path+".agenticWarmupGracePeriod", *p.AgenticWarmupGrace, reason)
	}
	if p.TrajectoryStartMinRatio == nil {
		p.TrajectoryStartMinRatio = new(min(0.25, given(p.TrajectoryStartMaxRatio, 1)))
		in.infer(path+".trajectoryStartMinRatio", *p.TrajectoryStartMinRatio, "as in AIPerf")
	}
	if p.TrajectoryStartMaxRatio == nil {
		p.TrajectoryStartMaxRatio = new(max(0.75, *p.TrajectoryStartMinRatio))
		in.infer(path+".trajectoryStartMaxRatio", *p.TrajectoryStartMaxRatio, "as in AIPerf")
	}
	if p.LaneStart == "" {
		reason := "so that the server is not asked for everything at once"
		if p.LaneStart = "ramp"; p.BurstPhaseStarts {
			p.LaneStart, reason = "burst", "burstPhaseStarts is given"
		}
		in.infer(path+".laneStart", p.LaneStart, reason)
	}
	if p.LaneStart == "ramp" && p.LaneRamp == nil {
		p.LaneRamp = new(Seconds(DefaultLaneRamp))
		in.infer(path+".laneRamp", *p.LaneRamp, "none is given")
	}
}

// given returns a value, or another one if there is none.
func given(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}

// checkLanes checks a phase of recorded sessions.
func checkLanes(in *input, p *Phase, path string) {
	for _, field := range []string{"rate", "sessionRate", "rateSeries", "rateRamp", "concurrencyRamp", "saturation"} {
		if in.Has(path + "." + field) {
			in.Conflict(path+"."+field, "a phase of type "+AgenticReplay+" plays a number of sessions at a time, its concurrency; "+
				"laneStart says how they begin")
		}
	}
	if isLaneWarmup(p) {
		checkLaneWarmup(in, path)
		return
	}
	if in.Has(path+".agenticWarmupGracePeriod") && !p.hasCacheWarmup() {
		in.Conflict(path+".agenticWarmupGracePeriod", "needs agenticCacheWarmupDuration or warmupRequestsPerLane")
	}
	checkPrimerMarkers(in)
	if low, high := p.TrajectoryStartMinRatio, p.TrajectoryStartMaxRatio; low != nil && high != nil && *low > *high {
		in.Conflict(path+".trajectoryStartMinRatio", fmt.Sprintf("%v is more than trajectoryStartMaxRatio, %v", *low, *high))
	}
	if p.BurstPhaseStarts && p.LaneStart != "" && p.LaneStart != "burst" {
		in.Conflict(path+".burstPhaseStarts", "excludes the laneStart "+p.LaneStart)
	}
	if in.Has(path+".laneRamp") && p.LaneStart != "ramp" {
		in.Conflict(path+".laneRamp", "needs the laneStart ramp, not "+p.LaneStart)
	}
}

// checkPrimerMarkers reports a marker that only the warm-up has: primers would bring other prompts into the caches than
// those that follow.
func checkPrimerMarkers(in *input) {
	for i := range in.doc.Benchmark.Datasets {
		target := in.doc.Benchmark.Datasets[i].CacheBust.Target
		if at := datasetPath(i) + ".cacheBust.target"; strings.HasPrefix(target, "warmup_isolation_") && in.Has(at) {
			in.Conflict(at, target+" gives the warm-up prompts of its own, so that the primers of the type "+AgenticReplay+
				" would bring none of the sessions into the caches; use first_turn_prefix, which gives each play of a session a marker")
		}
	}
}

// checkLaneWarmup checks a warm-up of recorded sessions, which is what the phase that follows it makes it.
func checkLaneWarmup(in *input, path string) {
	for _, field := range append(laneFields(), "burstPhaseStarts", "requests", "sessions", "duration", "concurrency") {
		if in.Has(path+"."+field) && !isFalse(in.At(path+"."+field)) {
			in.Conflict(path+"."+field,
				"a warm-up of type "+AgenticReplay+" prepares the phase that follows it; give that phase the field")
		}
	}
	phases := in.doc.Benchmark.Phases
	for i := range phases[:len(phases)-1] {
		if next := &phases[i+1]; PhasePath(i) != path || next.Type != AgenticReplay {
			continue
		} else if warming := IsCacheWarmup(phases, i); !warming || !isLaneWarmup(next) && next.hasCacheWarmup() {
			return
		}
		in.Fail(in.At(path+".type").Place, problem.CodeConflict,
			"a second warm-up of type %s plays the sessions before they are measured: "+
				"the phase behind it needs agenticCacheWarmupDuration or warmupRequestsPerLane", AgenticReplay)
		return
	}
	in.Fail(in.At(path+".type").Place, problem.CodeConflict, "a warm-up of type %s needs a profiling phase of this type behind it", AgenticReplay)
}
