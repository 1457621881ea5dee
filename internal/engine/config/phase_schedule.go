package config

import (
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
)

// followTrace makes profiling phases without a type a replay of the dataset, if it is a
// trace whose first record has a time. A phase over a trace needs no bound: ten requests
// of a command line without one are dropped, since it is one pass over the trace. It
// runs when the format of the dataset is known, and before the types of phases are set.
func followTrace(in *input) {
	b := &in.doc.Benchmark
	if !isTrace(in) {
		return
	}
	replayed := in.timed && !in.noSchedule
	for i := range b.Phases {
		p, path := &b.Phases[i], PhasePath(i)
		if p.Kind != "profiling" {
			continue
		}
		if p.Type != AgenticReplay && in.inferred(path+".requests") && (replayed || isOnce(in)) {
			in.forget(path + ".requests")
			p.Requests = nil
		}
		if replayed {
			replayTrace(in, p, path)
		}
	}
}

// replayTrace makes a phase a replay, unless the document gives its type.
func replayTrace(in *input, p *Phase, path string) {
	if in.Failed[path+".type"] || p.Type == FixedSchedule || p.Type != "" && in.At(path+".type").Flag == "" {
		return
	}
	conflicts := false
	for _, field := range []string{"rate", "sessionRate", "rateSeries", "rateRamp", "smoothness", "type"} {
		at := path + "." + field
		if !in.Has(at) {
			continue
		}
		conflicts = true
		otherwise := "give the phase another type than " + FixedSchedule
		if in.flagFor != nil && in.At(at).Flag != "" {
			otherwise = "add --no-fixed-schedule"
		}
		in.Conflict(at, "the dataset is a trace with timestamps, which are replayed; remove it, or "+otherwise)
	}
	if !conflicts {
		p.Type = FixedSchedule
		in.infer(path+".type", p.Type, "the dataset is a trace with timestamps")
	}
}

// isTrace reports whether the dataset is a trace.
func isTrace(in *input) bool {
	if len(in.doc.Benchmark.Datasets) != 1 {
		return false
	}
	set := &in.doc.Benchmark.Datasets[0]
	return set.Type == "file" && slices.Contains(in.options.Choices.Traces, set.Format)
}

// isOnce reports whether a phase without a bound is one pass over the dataset: a trace
// that is read in its order.
func isOnce(in *input) bool {
	return isTrace(in) && in.doc.Benchmark.Datasets[0].Sampling == "sequential"
}

func fillSchedule(in *input, p *Phase, path string) {
	fillSaturation(in, p, path)
	if p.AutoOffset != nil {
		return
	}
	auto, reason := true, "no start offset is given"
	if p.StartOffset != nil {
		auto, reason = false, "a start offset is given"
	}
	p.AutoOffset = &auto
	in.infer(path+".autoOffset", auto, reason)
}

func checkSchedule(in *input, p *Phase, path string) {
	if in.Has(path+".rate") && in.Has(path+".type") {
		in.Conflict(path+".rate", "a phase of type "+FixedSchedule+" has the times of its dataset, and no rate")
	}
	if p.AutoOffset != nil && *p.AutoOffset && p.StartOffset != nil {
		in.Conflict(path+".startOffset", "excludes an automatic offset, which starts with the first timestamp")
	}
	if p.StartOffset != nil && p.EndOffset != nil && *p.StartOffset > *p.EndOffset {
		in.FailValue(in.At(path+".endOffset"), problem.CodeOutOfRange,
			"must not be less than the start offset "+schema.FormatNumber(float64(*p.StartOffset)))
	}
	if len(in.doc.Benchmark.Datasets) != 1 {
		return
	}
	if d := &in.doc.Benchmark.Datasets[0]; d.Type == "synthetic" && !in.Failed["benchmark.datasets.0.type"] {
		at := path + ".type"
		if !in.Has(at) {
			at = path
		}
		in.Conflict(at, "needs a dataset with timestamps; synthetic data has none")
	} else if d.Sampling != "sequential" && !in.Failed["benchmark.datasets.0.sampling"] {
		in.Conflict("benchmark.datasets.0.sampling",
			"a phase of type "+FixedSchedule+" reads the dataset in its order; use sequential")
	}
}
