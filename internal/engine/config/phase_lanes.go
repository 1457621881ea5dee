package config

import (
	"fmt"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// DefaultLaneRamp is in which time the lanes of a phase send their first requests unless the document says
// otherwise, in seconds.
const DefaultLaneRamp = 60

// laneFields are the fields that only phases of recorded sessions have.
func laneFields() []string {
	return []string{"trajectoryStartMinRatio", "trajectoryStartMaxRatio", "systemIdleGapCapSeconds", "laneStart", "laneRamp"}
}

// isPrimer reports whether a phase sends the primers of the phase of recorded sessions that follows it.
func isPrimer(p *Phase) bool { return p.Type == AgenticReplay && phaseKind(p) == "warmup" }

// primerName is the name of a phase of primers that no document gives.
const primerName = "primers"

// addPrimers puts a phase of primers in front of the first phase of recorded sessions, unless there is one.
func addPrimers(root *tree.Node) {
	benchmark := root.Get("benchmark")
	if benchmark == nil || benchmark.Shape != tree.Object {
		return
	}
	phases := benchmark.Get("phases")
	if phases == nil || phases.Shape != tree.List {
		return
	}
	for i, p := range phases.Items {
		if p.Shape != tree.Object || scalarOf(p, "type") != AgenticReplay {
			continue
		}
		if scalarOf(p, "kind") == "warmup" || scalarOf(p, "name") == "warmup" {
			return
		}
		primers := tree.ObjectNode(
			tree.Member{Name: "name", Value: tree.TextNode(primerName)}, tree.Member{Name: "kind", Value: tree.TextNode("warmup")},
			tree.Member{Name: "type", Value: tree.TextNode(AgenticReplay)},
		)
		phases.Items = append(phases.Items[:i:i], append([]*tree.Node{primers}, phases.Items[i:]...)...)
		primers.Locate(CanonicalPointer(PhasePath(i)))
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
	if isPrimer(p) {
		return
	}
	fillConcurrency(in, p, path)
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
	if isPrimer(p) {
		checkPrimers(in, path)
		return
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

// checkPrimers checks a warm-up of recorded sessions, which is what the phase that follows it makes it.
func checkPrimers(in *input, path string) {
	for _, field := range append(laneFields(), "burstPhaseStarts", "requests", "sessions", "duration", "concurrency") {
		if in.Has(path+"."+field) && !isFalse(in.At(path+"."+field)) {
			in.Conflict(path+"."+field, "a warm-up of type "+AgenticReplay+" sends the primers of the phase that follows it; give that phase the field")
		}
	}
	for i := range in.doc.Benchmark.Phases[:len(in.doc.Benchmark.Phases)-1] {
		next := &in.doc.Benchmark.Phases[i+1]
		if PhasePath(i) == path && next.Type == AgenticReplay && !isPrimer(next) {
			return
		}
	}
	in.Fail(in.At(path+".type").Place, problem.CodeConflict, "a warm-up of type %s needs a profiling phase of this type behind it", AgenticReplay)
}
