package metric

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
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
	larger bool // the value must be at least the limit, instead of at most
	div    float64
}

// resolveSLOs returns the objectives of a set's options, ordered by tag, with their
// counters.
func resolveSLOs(s *Set) (out []slo, counts []SLOCount, err error) {
	var problems []error
	for _, tag := range slices.Sorted(maps.Keys(s.opts.SLOs)) {
		limit := s.opts.SLOs[tag]
		o, err := resolveSLO(s, tag, limit)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		out = append(out, o)
		counts = append(counts, SLOCount{Tag: tag, Threshold: limit})
	}
	return out, counts, errors.Join(problems...)
}

// resolveSLO returns one objective.
func resolveSLO(s *Set, tag string, limit float64) (slo, error) {
	i := slices.IndexFunc(catalogue, func(r row) bool { return r.Tag == tag })
	if i < 0 {
		return slo{}, fmt.Errorf("unknown metric %q, did you mean %q?", tag, nearestTag(s.series, tag))
	}
	r := &catalogue[i]
	switch {
	case r.Kind != PerRecord:
		return slo{}, fmt.Errorf("metric %q has no single value for each request, did you mean %q?", tag, nearestTag(s.series, tag))
	case r.scope == onError:
		return slo{}, fmt.Errorf("metric %q exists for errors only, did you mean %q?", tag, nearestTag(s.series, tag))
	case r.Flags&StreamingOnly != 0 && !s.opts.Streaming:
		return slo{}, fmt.Errorf("metric %q is not measured without streaming (--streaming)", tag)
	case !s.opts.measures(r):
		return slo{}, fmt.Errorf("metric %q is not measured in this run, did you mean %q?", tag, nearestTag(s.series, tag))
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

// countSLOs counts the objectives that a success meets, given its value for each
// series, and reports whether it meets all of them.
func (t *tally) countSLOs(slos []slo, values []float64) bool {
	good := true
	for i := range slos {
		if slos[i].met(values[slos[i].series]) {
			t.SLOs[i].Met++
		} else {
			t.SLOs[i].Missed++
			good = false
		}
	}
	return good
}

// nearestTag returns the tag of the per-record metric with the smallest distance to
// tag.
func nearestTag(all []series, tag string) string {
	best, distance := "", math.MaxInt
	for i := range all {
		r := all[i].row
		if r.Kind != PerRecord || r.scope == onError {
			continue
		}
		if d := edits(tag, r.Tag); d < distance {
			best, distance = r.Tag, d
		}
	}
	return best
}

// edits is the Levenshtein distance of two tags in bytes.
func edits(a, b string) int {
	line := make([]int, len(b)+1)
	for j := range line {
		line[j] = j
	}
	for i := range len(a) {
		diagonal := line[0]
		line[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, line[j], line[j+1])
			}
			diagonal, line[j+1] = line[j+1], d
		}
	}
	return line[len(b)]
}
