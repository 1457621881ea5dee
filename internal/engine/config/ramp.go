package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// Ramp is how a limit or a rate rises at the start of a phase. In documents it may be
// written as its duration.
type Ramp struct {
	Duration Seconds `json:"duration"`
	Strategy string  `json:"strategy"` // linear (default), exponential, poisson
}

// Decode implements [schema.Decodable]: it reads an object over the default.
func (r *Ramp) Decode(f schema.Target, n *tree.Node) bool {
	schema.Fill(r, f.Path)
	f.Fields(n, r, f.Path)
	return true
}

// RateSeries is a rate that changes in time. In documents it may be written as its
// points, or as its path.
type RateSeries struct {
	Path   *string `json:"path"` // of a JSON file with the points; nil once it was read
	Points []Point `json:"points"`
}

// isRated reports whether arrivals start the sessions of a phase.
func (c phaseRules) isRated() bool {
	return slices.Contains(schema.ChoiceNames(c.options.Choices.Arrivals), c.phase.Type)
}

// checkRamps checks what changes in time. It needs the type that the phase has got.
func (c phaseRules) checkRamps() {
	p, path := c.phase, c.path
	if p.Type == "" {
		return // it is reported
	}
	for _, r := range []struct {
		name    string
		ramp    *Ramp
		allowed bool
		need    string
	}{
		{"concurrencyRamp", p.ConcurrencyRamp, c.has(path + ".concurrency"), "needs a concurrency"},
		{"prefillRamp", p.PrefillRamp, c.has(path + ".prefillConcurrency"), "needs a prefill concurrency"},
		{"rateRamp", p.RateRamp, c.isRated(), "needs a rate or a series of rates"},
	} {
		switch at := path + "." + r.name; {
		case !c.has(at):
		case r.ramp != nil && !c.has(at+".duration"):
			c.require(at+".duration", "duration: required")
		case !r.allowed && r.name == "prefillRamp" && c.where(c.shown(at)).Flag == "": // a template of AIPerf has one
			c.Warn(c.where(at), problem.CodeNoEffect, "%s has no effect without a prefill concurrency", problem.Label(c.where(at)))
		case !r.allowed:
			c.conflict(c.shown(at), r.need)
		}
	}
	c.checkPrefill()
	if at := path + ".rateSeries"; c.has(at) && !c.isRated() {
		c.conflict(c.shown(at), "a phase of type "+p.Type+" has no rate; use the type "+schema.ChoiceList(schema.ChoiceNames(c.options.Choices.Arrivals)))
	}
	if p.ExcludeRamp && (p.Kind == "warmup" || !c.has(path+".concurrencyRamp") && !c.has(path+".prefillRamp") && !c.has(path+".rateRamp")) {
		c.conflict(path+".excludeRamp", "needs a ramp in a profiling phase")
	}
}

// shown returns the path of a value, or that of its first part that an option gave, so
// that problems name the option.
func (c phaseRules) shown(path string) string { return c.deepest(path)[0] }

// checkPrefill checks the limit of requests without a first token.
func (c phaseRules) checkPrefill() {
	p, at := c.phase, c.path+".prefillConcurrency"
	if p.PrefillConcurrency == nil {
		return
	}
	if !c.doc.Benchmark.Endpoint.Streaming && !c.failed["benchmark.endpoint.streaming"] {
		c.conflict(at, "needs streaming, since only streams show when the prefill of a request has ended")
	}
	if p.Concurrency != nil && *p.PrefillConcurrency > *p.Concurrency {
		c.FailValue(c.at(at), problem.CodeOutOfRange, fmt.Sprintf("must be at most the concurrency, %d", *p.Concurrency))
	}
}

// checkSeries checks a series of rates, which it reads from its file.
func (c phaseRules) checkSeries() {
	s, at := c.phase.RateSeries, c.path+".rateSeries"
	if s == nil {
		return
	}
	switch {
	case c.has(c.path + ".rate"):
		c.conflict(c.shown(at), "excludes a fixed rate")
	case c.has(at+".path") && c.has(at+".points"):
		c.conflict(at+".path", "excludes points, which are the same")
	case s.Path != nil:
		c.readSeries(at + ".path")
	case !c.failed[at+".points"]:
		c.checkPoints(at + ".points")
	}
}

// checkPoints checks points in the document.
func (c phaseRules) checkPoints(path string) {
	points := c.phase.RateSeries.Points
	if !c.has(path) {
		c.require(path, "points: a series of rates needs points or a path")
		return
	}
	for i := range points {
		at := path + "." + strconv.Itoa(i)
		for _, name := range []string{"timeS", "qps"} {
			if c.at(at).Shape == tree.Object && !c.has(at+"."+name) {
				c.require(at+"."+name, tree.SnakeCase(name)+": required")
			}
		}
		if c.has(at+".timeS") && !c.failed[at+".timeS"] && !follows(points, i) {
			c.FailValue(c.at(at+".timeS"), problem.CodeOutOfRange, "must be later than the point before")
		}
	}
}

// readSeries reads the file of a series.
func (c phaseRules) readSeries(path string) {
	s := c.phase.RateSeries
	data, ok := c.whole(path, *s.Path, maxSeriesBytes)
	if !ok {
		return
	}
	var err error
	if s.Points, err = readRates(data); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			c.FailValue(c.at(path), problem.CodeOutOfRange, line)
		}
	}
	s.Path = nil
}
