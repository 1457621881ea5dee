package config

import ()

// defaultEntries is AIPerf's number of conversations if nothing suggests one.
const defaultEntries = 100

// entriesDefault sets the number of conversations that are made: as many as the phases
// need, so that the run does not repeat them.
func entriesDefault(in *input, d *Dataset, path string) {
	if in.Has(path + ".entries") {
		return
	}
	var reason string
	if numbered(in, d) {
		d.Entries, reason = firstNumber(in)
	} else {
		d.Entries, reason = allNumbers(in, d)
	}
	in.infer(path+".entries", d.Entries, reason)
}

// numbered reports whether the conversations depend on their number: an order that is drawn
// over all of them, and the lengths and prompts of other tools.
func numbered(in *input, d *Dataset) bool {
	return d.Type != "synthetic" || d.Sampling != "" && d.Sampling != "sequential" ||
		d.Prompts.RandomRangeRatio != nil || d.Prompts.Corpus == "random"
}

// firstNumber returns the number of sessions or requests of the first profiling phase that
// has one, as AIPerf does.
func firstNumber(in *input) (n int, reason string) {
	for i, p := range in.doc.Benchmark.Phases {
		if p.Kind != "profiling" || in.inferred(PhasePath(i)+".requests") {
			continue
		}
		if n, why := givenNumber(p); n > 0 {
			return n, why
		}
	}
	return defaultEntries, "no number of sessions or requests is given"
}

// allNumbers returns how many conversations all phases need together.
func allNumbers(in *input, d *Dataset) (n int, reason string) {
	given, least := 0, 1
	for i, p := range in.doc.Benchmark.Phases {
		if in.inferred(PhasePath(i) + ".requests") {
			least = defaultEntries // more than such a phase needs
			continue
		}
		if p.Kind == "warmup" && d.Warmup == "separate" {
			continue
		}
		size, why := givenNumber(p)
		if size == 0 {
			size, why = expectedNumber(p)
		}
		if size == 0 {
			continue
		}
		n += size
		reason = "the numbers of sessions or requests of all phases"
		if given++; given == 1 {
			reason = why
		}
	}
	if given == 0 {
		return defaultEntries, "no number of sessions or requests is given"
	}
	if n < least {
		return least, "no number of sessions or requests is given"
	}
	return min(n, maxEntries), reason
}

// givenNumber is the number of conversations that a phase needs at most, if it is given.
func givenNumber(p Phase) (int, string) {
	switch {
	case p.Sessions != nil:
		return int(min(*p.Sessions, maxEntries)), "the number of sessions"
	case p.Requests != nil:
		return int(min(*p.Requests, maxEntries)), "the number of requests"
	}
	return 0, ""
}
