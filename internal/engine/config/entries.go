package config

import (
	"math"
	"slices"
)

const (
	// defaultEntries is AIPerf's number of conversations if nothing suggests one.
	defaultEntries = 100
	// openEntries is the number of conversations of phases whose number of requests is
	// not known before: the conversations are made when they are needed, so that many
	// cost nothing.
	openEntries = 100_000
	// maxEntries is the largest number of conversations that a document can give.
	maxEntries = 10_000_000
)

// entriesDefault sets the number of conversations that are made: as many as the phases
// need, so that the run does not repeat them.
func (f filler) entriesDefault(d *Dataset, path string) {
	if f.has(path + ".entries") {
		return
	}
	var reason string
	if f.numbered(d) {
		d.Entries, reason = f.firstNumber()
	} else {
		d.Entries, reason = f.allNumbers(d)
	}
	f.infer(path+".entries", d.Entries, reason)
}

// numbered reports whether the conversations depend on their number: an order that is drawn
// over all of them, and the lengths and prompts of other tools.
func (f filler) numbered(d *Dataset) bool {
	return d.Type != "synthetic" || d.Sampling != "" && d.Sampling != "sequential" ||
		d.Prompts.RandomRangeRatio != nil || d.Prompts.Corpus == "random"
}

// firstNumber returns the number of sessions or requests of the first profiling phase that
// has one, as AIPerf does.
func (f filler) firstNumber() (n int, reason string) {
	for i, p := range f.doc.Benchmark.Phases {
		if p.Kind != "profiling" || f.inferred(PhasePath(i)+".requests") {
			continue
		}
		if n, why := givenNumber(p); n > 0 {
			return n, why
		}
	}
	return defaultEntries, "no number of sessions or requests is given"
}

// allNumbers returns how many conversations all phases need together.
func (f filler) allNumbers(d *Dataset) (n int, reason string) {
	given, least := 0, 1
	for i, p := range f.doc.Benchmark.Phases {
		if f.inferred(PhasePath(i) + ".requests") {
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

// expectedNumber is the number of conversations that a phase with a duration needs. Random
// arrivals are more than their mean by at most four standard deviations.
func expectedNumber(p Phase) (int, string) {
	var rates []float64
	for _, rate := range []*float64{p.Rate, p.SessionRate} {
		if rate != nil {
			rates = append(rates, *rate)
		}
	}
	if p.RateSeries != nil {
		for _, point := range p.RateSeries.Points {
			rates = append(rates, point.QPS)
		}
	}
	switch {
	case p.Duration == nil:
		return 0, ""
	case len(rates) == 0:
		return openEntries, "the number of requests depends on the server"
	}
	burst := 1.0
	if p.Smoothness != nil && *p.Smoothness > 0 {
		burst = max(1, 1 / *p.Smoothness)
	}
	mean := slices.Max(rates) * p.Duration.Duration().Seconds()
	return int(min(math.Ceil(mean+4*math.Sqrt(mean*burst)), maxEntries)), "the rate times the duration, with room for chance"
}
