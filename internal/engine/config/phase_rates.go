package config

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// This file has the rules of phases whose sessions are started by arrivals at a rate: constant,
// poisson, gamma.

// noRate says that a type has no rate, and which types have one.
func noRate(in *input, p *Phase) string {
	return "a phase of type " + p.Type + " has no rate; use the type " +
		schema.ChoiceList(schema.ChoiceNames(in.options.Choices.Arrivals))
}

// checkSessionRate checks that a rate of sessions belongs to a phase with arrivals, and
// is its only rate.
func checkSessionRate(in *input, p *Phase, path string) {
	at := path + ".sessionRate"
	switch {
	case !in.Has(at) || p.Type == UserCentric:
	case !in.options.Choices.isArrival(p.Type):
		in.Conflict(at, "a phase of type "+p.Type+" has no rate")
	case in.Has(path + ".rateSeries"), in.Has(path + ".rateRamp"):
		in.Conflict(at, "a rate of sessions does not change in time")
	case in.Has(path + ".rate"):
		in.Conflict(at, "excludes rate, which counts the requests of all turns; sessionRate counts new conversations")
	}
}

// checkSaturation checks that only arrivals that can wait for a slot have a policy for it.
func checkSaturation(in *input, p *Phase, path string) {
	if at := path + ".saturation"; in.Has(at) && !in.Failed[at] && p.Saturation != "queue" {
		switch {
		case p.Type == Concurrency:
			in.Conflict(at, "a phase of type concurrency has no arrivals")
		case p.Concurrency == nil && !in.Failed[path+".concurrency"]:
			in.Conflict(at, "needs a concurrency: without one, no arrival waits for a slot")
		}
	}
	if in.Has(path+".saturationLimit") && p.Saturation != "abort" && !in.Failed[path+".saturation"] {
		in.Conflict(path+".saturationLimit", "needs the saturation abort")
	}
}

// checkSeries checks a series of rates, which it reads from its file.
func checkSeries(in *input, p *Phase, path string) {
	s, at := p.RateSeries, path+".rateSeries"
	if s == nil {
		return
	}
	switch {
	case in.Has(path + ".rate"):
		in.Conflict(in.shown(at), "excludes a fixed rate")
	case in.Has(at+".path") && in.Has(at+".points"):
		in.Conflict(at+".path", "excludes points, which are the same")
	case s.Path != nil:
		readSeries(in, s, at+".path")
	case !in.Failed[at+".points"]:
		checkPoints(in, s.Points, at+".points")
	}
}

// checkPoints checks points in the document.
func checkPoints(in *input, points []Point, path string) {
	if !in.Has(path) {
		in.require(path, "points: a series of rates needs points or a path")
		return
	}
	for i := range points {
		at := path + "." + strconv.Itoa(i)
		for _, name := range []string{"timeS", "qps"} {
			if in.At(at).Shape == tree.Object && !in.Has(at+"."+name) {
				in.require(at+"."+name, tree.SnakeCase(name)+": required")
			}
		}
		if in.Has(at+".timeS") && !in.Failed[at+".timeS"] && !follows(points, i) {
			in.FailValue(in.At(at+".timeS"), problem.CodeOutOfRange, "must be later than the point before")
		}
	}
}

// readSeries reads the file of a series.
func readSeries(in *input, s *RateSeries, path string) {
	data, ok := readWhole(in, path, *s.Path, maxSeriesBytes)
	if !ok {
		return
	}
	var err error
	if s.Points, err = readRates(data); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			in.FailValue(in.At(path), problem.CodeOutOfRange, line)
		}
	}
	s.Path = nil
}

func fillArrivals(in *input, p *Phase, path string) {
	if p.Smoothness == nil && in.options.Choices.IsShaped(p.Type) {
		p.Smoothness = new(1.0)
		in.infer(path+".smoothness", 1.0, "a "+p.Type+" process needs a shape; 1 is Poisson")
	}
	fillSaturation(in, p, path)
}

// fillSaturation sets how many arrivals may wait before the saturation abort ends a run.
func fillSaturation(in *input, p *Phase, path string) {
	if p.Saturation == "abort" && p.SaturationLimit == nil && p.Concurrency != nil {
		p.SaturationLimit = new(max(schema.SaturationLimit, *p.Concurrency))
		in.infer(path+".saturationLimit", *p.SaturationLimit, "the saturation is abort")
	}
}

const (
	// openEntries is the number of conversations of phases whose number of requests is
	// not known before: the conversations are made when they are needed, so that many
	// cost nothing.
	openEntries = 100_000
	// maxEntries is the largest number of conversations that a document can give.
	maxEntries = 10_000_000
)

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
	number := min(math.Ceil(mean+4*math.Sqrt(mean*burst)), maxEntries)
	return int(number), "the rate times the duration, with room for chance"
}
