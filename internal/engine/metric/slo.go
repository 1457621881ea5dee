package metric

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/suggest"
)

// SLOCount is how often one objective was met.
type SLOCount struct {
	Tag       string
	Threshold float64 // in the metric's display unit
	Met       int64   // successes that meet it
	Missed    int64   // successes that do not, or lack the metric, and all errors
}

// slo is one objective.
type slo struct {
	def    Def // of slo_attainment.<tag>
	series int // index of the metric
	limit  float64
	larger bool // the value must not be less than the limit, instead of not greater
	div    float64
}

// objectives resolves the options' SLOs and makes their counters.
func (s *Set) objectives() ([]slo, error) {
	var out []slo
	var problems []error
	for _, tag := range slices.Sorted(maps.Keys(s.opts.SLOs)) {
		limit := s.opts.SLOs[tag]
		o, err := s.objective(tag, limit)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		out = append(out, o)
		s.tally.SLOs = append(s.tally.SLOs, SLOCount{Tag: tag, Threshold: limit})
	}
	return out, errors.Join(problems...)
}

// objective resolves one SLO.
func (s *Set) objective(tag string, limit float64) (slo, error) {
	i := slices.IndexFunc(catalogue, func(r row) bool { return r.Tag == tag })
	if i < 0 {
		return slo{}, fmt.Errorf("unknown metric %q, did you mean %q?", tag, s.nearest(tag))
	}
	r := &catalogue[i]
	switch {
	case r.Kind != PerRecord:
		return slo{}, fmt.Errorf("metric %q has no single value for each request, did you mean %q?", tag, s.nearest(tag))
	case r.scope == onError:
		return slo{}, fmt.Errorf("metric %q exists for errors only, did you mean %q?", tag, s.nearest(tag))
	case r.Flags&StreamingOnly != 0 && !s.opts.Streaming:
		return slo{}, fmt.Errorf("metric %q is not measured without streaming (--streaming)", tag)
	case !s.opts.measures(r):
		return slo{}, fmt.Errorf("metric %q is not measured in this run, did you mean %q?", tag, s.nearest(tag))
	case math.IsNaN(limit) || math.IsInf(limit, 0):
		return slo{}, fmt.Errorf("threshold %v of %q is not a number", limit, tag)
	}
	return slo{
		def:    *attainmentDef(&r.Def),
		series: s.byTag[tag], limit: limit, larger: r.Flags&LargerIsBetter != 0, div: r.unit.div,
	}, nil
}

// met reports whether a value in base units meets the objective; NaN does not.
func (o *slo) met(x float64) bool {
	if o.larger {
		return x/o.div >= o.limit
	}
	return x/o.div <= o.limit
}

// judge counts the objectives that the record in s.values meets, and reports
// whether these are all.
func (s *Set) judge() bool {
	good := true
	for i := range s.slos {
		if s.slos[i].met(s.values[s.slos[i].series]) {
			s.tally.SLOs[i].Met++
		} else {
			s.tally.SLOs[i].Missed++
			good = false
		}
	}
	return good
}

// Meets reports whether a record meets every objective; ok is false if there are
// none or the record was cancelled. It changes nothing and is safe for
// concurrent use.
func (s *Set) Meets(r *bench.Record) (good, ok bool) {
	var v view
	v.load(r)
	if len(s.slos) == 0 || v.outcome == cancelled {
		return false, false
	}
	if v.outcome != success {
		return false, true
	}
	for i := range s.slos {
		if !s.slos[i].met(s.series[s.slos[i].series].row.each(&v)) {
			return false, true
		}
	}
	return true, true
}

// nearest returns the tag of a per-record metric of this run that is most like
// tag, however different it is.
func (s *Set) nearest(tag string) string {
	var tags []string
	for i := range s.series {
		if r := s.series[i].row; r.Kind == PerRecord && r.scope != onError {
			tags = append(tags, r.Tag)
		}
	}
	return suggest.Nearest(tag, tags, math.MaxInt)
}
