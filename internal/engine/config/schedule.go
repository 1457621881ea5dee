package config

import (
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// FixedSchedule is the type of phases that send conversations at the times of their
// dataset.
const FixedSchedule = "fixed_schedule"

// followTrace makes profiling phases without a type a replay of the dataset, if it is a
// trace whose first record has a time. A phase over a trace needs no bound: ten requests
// of a command line without one are dropped, since it is one pass over the trace. It
// runs when the format of the dataset is known, and before the types of phases are set.
func (f filler) followTrace() {
	b := &f.doc.Benchmark
	if !f.isTrace() {
		return
	}
	replayed := f.timed && !f.noSchedule
	for i := range b.Phases {
		p, path := &b.Phases[i], PhasePath(i)
		if p.Kind != "profiling" {
			continue
		}
		if f.inferred(path+".requests") && (replayed || f.isOnce()) {
			f.forget(path + ".requests")
			p.Requests = nil
		}
		if replayed {
			f.replayTrace(p, path)
		}
	}
}

// replayTrace makes a phase a replay, unless the document gives its type.
func (f filler) replayTrace(p *Phase, path string) {
	if f.failed[path+".type"] || p.Type != "" && f.at(path+".type").Flag == "" {
		return
	}
	if p.Type == FixedSchedule {
		return
	}
	conflicts := false
	for _, field := range []string{"rate", "sessionRate", "rateSeries", "rateRamp", "smoothness", "type"} {
		if f.has(path + "." + field) {
			conflicts = true
			f.conflict(path+"."+field, "the dataset is a trace with timestamps, which are replayed; remove it, or "+f.otherwise(path+"."+field))
		}
	}
	if !conflicts {
		p.Type = FixedSchedule
		f.infer(path+".type", p.Type, "the dataset is a trace with timestamps")
	}
}

// otherwise says how a trace is sent without its timestamps.
func (f filler) otherwise(path string) string {
	if f.flagFor != nil && f.at(path).Flag != "" {
		return "add --no-fixed-schedule"
	}
	return "give the phase another type than " + FixedSchedule
}

// forget drops a value that was chosen.
func (l *loader) forget(path string) {
	at := CanonicalPointer(path)
	l.doc.defaulted = slices.DeleteFunc(l.doc.defaulted, func(d Default) bool { return d.Pointer == at })
	delete(l.given, path)
}

// isTrace reports whether the dataset is a trace.
func (l *loader) isTrace() bool {
	if len(l.doc.Benchmark.Datasets) != 1 {
		return false
	}
	set := &l.doc.Benchmark.Datasets[0]
	return set.Type == "file" && slices.Contains(l.options.Choices.Traces, set.Format)
}

// isOnce reports whether a phase without a bound is one pass over the dataset: a trace
// that is read in its order.
func (l *loader) isOnce() bool {
	return l.isTrace() && l.doc.Benchmark.Datasets[0].Sampling == "sequential"
}

// checkSchedule checks the fields of a replay, and that only a replay has them. It needs
// the type that the phase has got.
func (c phaseRules) checkSchedule() {
	p, path := c.phase, c.path
	fields := []string{"autoOffset", "startOffset", "endOffset"}
	if p.Type != FixedSchedule {
		if p.Type == "" {
			return // it is reported
		}
		for _, field := range fields {
			if c.has(path + "." + field) {
				c.conflict(path+"."+field, "only valid for the type "+FixedSchedule)
			}
		}
		return
	}
	if c.has(path+".rate") && c.has(path+".type") {
		c.conflict(path+".rate", "a phase of type "+FixedSchedule+" has the times of its dataset, and no rate")
	}
	if p.AutoOffset != nil && *p.AutoOffset && p.StartOffset != nil {
		c.conflict(path+".startOffset", "excludes an automatic offset, which starts with the first timestamp")
	}
	if p.StartOffset != nil && p.EndOffset != nil && *p.StartOffset > *p.EndOffset {
		c.FailValue(c.at(path+".endOffset"), problem.CodeOutOfRange, "must not be less than the start offset "+schema.FormatNumber(float64(*p.StartOffset)))
	}
	if len(c.doc.Benchmark.Datasets) != 1 {
		return
	}
	if d := &c.doc.Benchmark.Datasets[0]; d.Type == "synthetic" && !c.failed["benchmark.datasets.0.type"] {
		at := path + ".type"
		if !c.has(at) {
			at = path
		}
		c.conflict(at, "needs a dataset with timestamps; synthetic data has none")
	} else if d.Sampling != "sequential" && !c.failed["benchmark.datasets.0.sampling"] {
		c.conflict("benchmark.datasets.0.sampling", "a phase of type "+FixedSchedule+" reads the dataset in its order; use sequential")
	}
}

// checkFixed checks the phases once their types are known.
func (c documentRules) checkFixed() {
	if n := c.at("benchmark.phases"); n == nil || n.Shape != tree.List {
		return
	}
	for i := range c.doc.Benchmark.Phases {
		at := PhasePath(i)
		if c.at(at).Shape != tree.Object {
			continue
		}
		rules := phaseRules{c.loader, &c.doc.Benchmark.Phases[i], at}
		rules.checkBounds()
		rules.checkSchedule()
		arrivalRules{rules}.check()
		rules.checkRamps()
	}
}
