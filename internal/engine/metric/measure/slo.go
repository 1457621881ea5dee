package measure

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/suggest"
)

// slo is one objective.
type slo struct {
	def    catalogue.Def // of slo_attainment.<tag>
	series int           // index of the metric
	limit  float64
	larger bool // the value must be at least the limit, instead of at most
	div    float64
}

// resolveSLOs returns the objectives of a set's options, ordered by tag, with their
// counters.
func resolveSLOs(s *Set) (out []slo, counts []catalogue.SLOCount, err error) {
	var problems []error
	for _, tag := range slices.Sorted(maps.Keys(s.opts.SLOs)) {
		limit := s.opts.SLOs[tag]
		o, err := resolveSLO(s, tag, limit)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		out = append(out, o)
		counts = append(counts, catalogue.SLOCount{Tag: tag, Threshold: limit})
	}
	return out, counts, errors.Join(problems...)
}

// resolveSLO returns one objective.
func resolveSLO(s *Set, tag string, limit float64) (slo, error) {
	rows, run := catalogue.Rows(), s.opts.run()
	i := slices.IndexFunc(rows, func(r catalogue.Row) bool { return r.Tag == tag })
	if i < 0 {
		return slo{}, fmt.Errorf("unknown metric %q, did you mean %q?", tag, nearestTag(s.series, tag))
	}
	r := &rows[i]
	switch {
	case r.Kind != catalogue.PerRecord:
		return slo{}, fmt.Errorf("metric %q has no single value for each request, did you mean %q?", tag, nearestTag(s.series, tag))
	case r.Scope == catalogue.OnError:
		return slo{}, fmt.Errorf("metric %q exists for errors only, did you mean %q?", tag, nearestTag(s.series, tag))
	case r.Flags&catalogue.StreamingOnly != 0 && !s.opts.Streaming:
		return slo{}, fmt.Errorf("metric %q is not measured without streaming (--streaming)", tag)
	case !run.Measures(r):
		return slo{}, fmt.Errorf("metric %q is not measured in this run, did you mean %q?", tag, nearestTag(s.series, tag))
	case math.IsNaN(limit) || math.IsInf(limit, 0):
		return slo{}, fmt.Errorf("threshold %v of %q is not a number", limit, tag)
	}
	return slo{
		def:    *catalogue.Attainment(&r.Def),
		series: s.byTag[tag], limit: limit, larger: r.Flags&catalogue.LargerIsBetter != 0, div: r.Div,
	}, nil
}

// Measures returns an error that says why a metric is not measured in a run, nil if it is.
func (o *Options) Measures(tag string) error {
	rows, run := catalogue.Rows(), o.run()
	base, attainment := strings.CutPrefix(tag, "slo_attainment.")
	i := slices.IndexFunc(rows, func(r catalogue.Row) bool { return r.Tag == base })
	if _, asked := o.SLOs[base]; attainment && !asked {
		return fmt.Errorf("there is no objective per request on %q", base)
	}
	switch {
	case i < 0:
		return fmt.Errorf("unknown metric %q", tag)
	case rows[i].Flags&catalogue.StreamingOnly != 0 && !o.Streaming:
		return fmt.Errorf("metric %q is not measured without streaming (--streaming)", tag)
	case !run.Measures(&rows[i]):
		return fmt.Errorf("metric %q is not measured in this run", tag)
	}
	return nil
}

// met reports whether a value in base units meets the objective; NaN does not.
func (o *slo) met(x float64) bool {
	if o.larger {
		return x/o.div >= o.limit
	}
	return x/o.div <= o.limit
}

// countSLOs counts the objectives that a record meets, given its value for each
// series, and the successes that meet all of them. Errors meet none.
func countSLOs(t *catalogue.Tally, slos []slo, v *catalogue.View, values []float64) {
	if v.Outcome == catalogue.Cancelled {
		return
	}
	good := true
	for i := range slos {
		if v.Outcome == catalogue.Success && slos[i].met(values[slos[i].series]) {
			t.SLOs[i].Met++
		} else {
			t.SLOs[i].Missed++
			good = false
		}
	}
	if good {
		t.AddGood(v)
	}
}

// nearestTag returns the tag of the per-record metric that is most like tag, however
// different it is.
func nearestTag(all []series, tag string) string {
	var tags []string
	for i := range all {
		if r := all[i].row; r.Kind == catalogue.PerRecord && r.Scope != catalogue.OnError {
			tags = append(tags, r.Tag)
		}
	}
	return suggest.Nearest(tag, tags, math.MaxInt)
}
