package export

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/results"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/search"
)

// WriteSummary writes what the runs of a study say together, so far or at its end.
func WriteSummary(dir string, r *Report) error {
	data, err := plainjson.Marshal(r.Summary())
	if err != nil {
		return fmt.Errorf("encode summary of sweep: %w", err)
	}
	if err := WriteAnswer(dir, r); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, results.SweepFile), durable.Shared, append(data, '\n'))
}

// Summary returns what the runs of the study say together.
func (r *Report) Summary() *results.Sweep {
	rows, best := r.Rows(), r.Compare()
	out := &results.Sweep{
		Type: "repeats", Parameters: []results.Parameter{}, ConfidenceLevel: r.Study.MultiRun.ConfidenceLevel,
		Limits: []results.Condition{}, Rows: []results.SweepRow{}, Findings: []string{},
		BestThroughput: indexOf(best.BestThroughput), BestLatency: indexOf(best.BestLatency), LatencyMetric: best.LatencyTag,
	}
	for _, path := range r.paths() {
		out.Parameters = append(out.Parameters, results.Parameter{Path: path, Name: sweep.Name(path)})
	}
	if s := r.Study.Sweep; s != nil {
		out.Type = s.Type
		for _, f := range s.SLAFilters {
			out.Limits = append(out.Limits, limitOf(f))
		}
	} else { // there is nothing that one row could be better than
		out.BestThroughput, out.BestLatency, best.Pareto = nil, nil, nil
	}
	for i := range rows {
		out.Rows = append(out.Rows, r.row(&rows[i], &best, i))
	}
	a := r.Answer()
	if a != nil && a.Kind != kindCapacity {
		out.Findings = append(out.Findings, a.Sentences...)
		if a.Paired == nil {
			out.Findings = append(out.Findings, a.Notes()...)
		}
	} else if found := r.search(); found != nil {
		out.Findings = append(out.Findings, found.Findings(r.Outcomes)...)
		if a != nil && openDecision(a) != "" {
			out.Findings = append(out.Findings, "What would decide it: "+a.Decide.Needs+".")
		}
		out.Search = r.found(found)
	} else if r.Study.Sweep != nil {
		out.Findings = append(out.Findings, Findings(r.Study.Sweep.PostProcess, r.Outcomes)...)
	}
	return out
}

// indexOf returns an index; nil for -1.
func indexOf(i int) *int {
	if i < 0 {
		return nil
	}
	return &i
}

// paths returns the places of the document that are varied.
func (r *Report) paths() []string {
	paths, _ := r.names()
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// limitOf returns a limit with the unit of its metric.
func limitOf(f sweep.Filter) results.Condition {
	operator := map[string]string{"lt": "<", "le": "<=", "gt": ">", "ge": ">="}[f.Op]
	out := results.Condition{Metric: f.MetricTag, Statistic: f.Stat, Operator: operator, Threshold: f.Threshold}
	if def, ok := catalogue.Lookup(f.MetricTag); ok {
		out.Unit = def.Unit
	} else if f.MetricTag == sweep.Attainment {
		out.Unit = "%"
	}
	return out
}

// row returns a row of the comparison.
func (r *Report) row(c *cell.Result, best *cell.Comparison, at int) results.SweepRow {
	out := results.SweepRow{
		Name: Short(&c.Variation), Values: ByPath(c.Values), Runs: []results.SweepRun{}, Outcome: r.outcome(c, best, at),
		Pareto: slices.Contains(best.Pareto, at), Readings: []results.Reading{}, Metrics: map[string]results.SweepMetric{},
	}
	if c.Label == "base" {
		out.Name = "all runs"
	}
	for _, t := range c.Trials {
		out.Runs = append(out.Runs, results.SweepRun{ID: t.RunID, Failure: t.Failure, Client: t.Client})
	}
	statistics := r.statistics()
	for i := range c.Statistics {
		s := &c.Statistics[i]
		if !slices.Contains(statistics[s.Tag], s.Stat) {
			continue
		}
		m := out.Metrics[s.Tag]
		if m.Statistics == nil {
			m = results.SweepMetric{Unit: s.Unit, Statistics: map[string]results.Estimate{}}
		}
		m.Statistics[s.Stat] = results.Estimate{
			Mean: s.Mean, Low: s.Low, High: s.High, Runs: s.N, Distorted: s.Invalid, Unsupported: s.Unsupported,
		}
		out.Metrics[s.Tag] = m
	}
	if len(c.Good) == 0 || r.Study.Sweep == nil {
		return out
	}
	for _, f := range r.Study.Sweep.SLAFilters {
		reading := results.Reading{Condition: limitOf(f)}
		if e := c.Find(f.MetricTag, f.Stat); e != nil {
			reading.Observed, reading.Met = &e.Mean, f.Holds(e.Mean)
			reading.Doubt = doubt(f.MetricTag, e.Invalid, r.tooFew(c, f, e))
		}
		out.Readings = append(out.Readings, reading)
	}
	return out
}

// tooFew reports whether the runs of a row have too few requests to decide a limit. A search has decided its limits by
// a rule of its own, which the row repeats.
func (r *Report) tooFew(c *cell.Result, f sweep.Filter, e *cell.Estimate) bool {
	if r.search() == nil {
		return e.Unsupported
	}
	return slices.ContainsFunc(c.Counting(f.MetricTag), func(t cell.Trial) bool {
		return !search.Supported(&t, f.MetricTag, f.Stat)
	})
}

// doubt says why a reading may be wrong.
func doubt(tag string, distorted, unsupported bool) string {
	switch {
	case distorted:
		return "the load generator distorted " + tag
	case unsupported:
		return "too few requests for this percentile"
	}
	return ""
}

// outcome judges a row by the limits of the study.
func (r *Report) outcome(c *cell.Result, best *cell.Comparison, at int) string {
	switch {
	case len(c.Trials) == 0:
		return "waiting"
	case len(c.Good) == 0:
		return "failed"
	case slices.Contains(best.Excluded, at):
		return "excluded"
	case r.Study.Sweep == nil || len(r.Study.Sweep.SLAFilters) == 0:
		return "measured"
	case c.Feasible():
		return "pass"
	}
	return "fail"
}

// statistics returns the statistics that a summary has, by metric: of the main metrics, and
// those that have limits or are optimized.
func (r *Report) statistics() map[string][]string {
	out := map[string][]string{}
	for _, tag := range append(catalogue.Headlines(catalogue.InLists), "output_token_throughput_per_user") {
		out[tag] = []string{"avg", "p50", "p90", "p95", "p99"}
	}
	if r.Study.Sweep == nil {
		return out
	}
	filters := slices.Clone(r.Study.Sweep.SLAFilters)
	for _, tier := range r.Study.Sweep.SLATiers {
		filters = append(filters, tier.Filters...)
	}
	for _, f := range filters {
		out[f.MetricTag] = append(out[f.MetricTag], f.Stat)
	}
	for _, o := range r.Study.Sweep.Objectives {
		out[o.Metric] = append(out[o.Metric], o.Stat)
	}
	return out
}

// found returns what a search found.
func (r *Report) found(s *search.Search) *results.SweepSearch {
	sum := s.Summarize(r.Outcomes)
	out := &results.SweepSearch{
		Planner: string(s.Options.Algorithm), Reason: sum.Reason, ReasonText: search.ReasonText(sum.Reason),
		Boundaries: []results.Boundary{}, Optima: []int{},
	}
	if sum.Boundary != nil {
		out.Boundaries = append(out.Boundaries, r.boundary("", sum.Boundary))
	}
	for _, tier := range sum.Tiers {
		if tier.Boundary != nil {
			out.Boundaries = append(out.Boundaries, r.boundary(tier.Label, tier.Boundary))
		}
	}
	if s.Options.Algorithm != search.Bayesian {
		return out // its objectives are recorded only
	}
	for _, i := range sum.Best {
		outcome := sum.Iterations[i].Outcome
		row := slices.IndexFunc(r.rows, func(c cell.Result) bool { return reflect.DeepEqual(c.Values, outcome.Values) })
		if row >= 0 && !slices.Contains(out.Optima, row) {
			out.Optima = append(out.Optima, row)
		}
	}
	return out
}

// boundary returns a boundary with the rows of its sides.
func (r *Report) boundary(tier string, b *search.Boundary) results.Boundary {
	out := results.Boundary{
		Tier: tier, Parameter: results.Parameter{Path: b.Path, Name: sweep.Name(b.Path)},
		Pass: r.edge(b.Path, b.Pass), Fail: r.edge(b.Path, b.Fail), Kind: b.Type, Advised: b.Advised,
	}
	if b.Binding != nil {
		out.Binding = new(limitOf(*b.Binding))
	}
	if len(b.Interval) == 2 {
		out.Interval = &[2]float64{b.Interval[0], b.Interval[1]}
	}
	return out
}

// edge returns one side of a boundary; nil for nil.
func (r *Report) edge(path string, e *search.Edge) *results.SweepEdge {
	if e == nil {
		return nil
	}
	out := &results.SweepEdge{Value: e.Value, Readings: []results.Reading{}, Valid: e.Unsure == ""}
	out.Row = slices.IndexFunc(r.rows, func(c cell.Result) bool {
		x, ok := c.Number(path)
		return ok && x == e.Value
	})
	for i := range e.Readings {
		reading := &e.Readings[i]
		c := limitOf(reading.Filter)
		c.Unit = cmp.Or(c.Unit, reading.Unit)
		out.Readings = append(out.Readings, results.Reading{
			Condition: c, Observed: reading.Observed, Met: reading.Observed != nil && reading.Holds(*reading.Observed),
			Doubt: doubt(reading.MetricTag, e.Unsure == reading.MetricTag, reading.Unsupported),
		})
	}
	return out
}
