package export

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/study/cell"
)

// indented encodes a value as AIPerf's files have it.
func indented(v any) ([]byte, error) {
	var out bytes.Buffer
	err := plainjson.WriteIndent(&out, v)
	return out.Bytes(), err
}

// finite returns a number that JSON can have; nil for others.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// failedRun is a run that is not a result.
type failedRun struct {
	Label     string `json:"label"`
	Error     string `json:"error"`
	Variation string `json:"variation,omitempty"`
	RunID     string `json:"run_id,omitempty"`
}

// failures lists the runs of a variation that are not results.
func failures(o *cell.Outcome, named bool) []failedRun {
	out := []failedRun{}
	for _, t := range o.Trials {
		if t.Failure == "" {
			continue
		}
		f := failedRun{Label: t.Label, Error: t.Failure, RunID: t.RunID}
		if named {
			f.Variation = o.Label
		}
		out = append(out, f)
	}
	return out
}

// estimate is one statistic over the runs, with AIPerf's members and ours.
type estimate struct {
	Mean   float64  `json:"mean"`
	Std    float64  `json:"std"`
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
	CV     *float64 `json:"cv"`
	SE     float64  `json:"se"`
	Low    float64  `json:"ci_low"`
	High   float64  `json:"ci_high"`
	T      *float64 `json:"t_critical"`
	Unit   string   `json:"unit"`
	Within *float64 `json:"within_run_margin,omitempty"` // mean margin of the runs' own intervals at 95 %
	Ratio  *float64 `json:"between_run_ratio,omitempty"` // how many times more the runs differ than these say
	Count  int      `json:"num_runs"`
	// Invalid means that the load generator distorted the metric in all runs; otherwise such
	// runs do not count, and LeftOut is their number.
	Invalid bool `json:"client_invalid,omitempty"`
	LeftOut int  `json:"client_invalid_runs,omitempty"`
}

func newEstimate(e *cell.Estimate) estimate {
	out := estimate{
		Mean: e.Mean, Std: e.Std, Min: e.Min, Max: e.Max, CV: finite(e.CV()), SE: e.SE, Low: e.Low, High: e.High,
		T: finite(e.T), Unit: e.Unit, Count: e.N, Invalid: e.Invalid, LeftOut: e.LeftOut,
	}
	if e.Within > 0 {
		out.Within = finite(e.Within)
	}
	if ratio, ok := e.Spread(); ok {
		out.Ratio = finite(ratio)
	}
	return out
}

func estimates(c *cell.Result) map[string]estimate {
	out := make(map[string]estimate, len(c.Statistics))
	for i := range c.Statistics {
		s := &c.Statistics[i]
		out[s.Key()] = newEstimate(&s.Estimate)
	}
	return out
}

// labels lists the labels and ids of the runs that are results.
func labels(c *cell.Result) (names, ids []string) {
	names, ids = []string{}, []string{}
	for _, t := range c.Good {
		names, ids = append(names, t.Label), append(ids, t.RunID)
	}
	return names, ids
}

// ByPath returns assigned values by their path.
func ByPath(values []vary.Assignment) map[string]any {
	out := make(map[string]any, len(values))
	for _, a := range values {
		out[a.Path] = a.Value
	}
	return out
}

// aggregateJSON returns AIPerf's aggregate of one variation.
func aggregateJSON(r *Report, c *cell.Result) ([]byte, error) {
	names, ids := labels(c)
	meta := map[string]any{
		"aggregation_type": "confidence", "num_profile_runs": len(c.Trials), "num_successful_runs": len(c.Good),
		"failed_runs": failures(&c.Outcome, false), "confidence_level": r.Study.MultiRun.ConfidenceLevel, "run_labels": names,
		"run_ids": ids, "client_invalid_runs": c.Distorted(r.Used()...), "cooldown_seconds": r.Study.MultiRun.CooldownSeconds,
	}
	if len(c.Good) == 1 {
		meta["single_run"] = true
	}
	if r.Study.Sweep != nil {
		meta["variation_label"], meta["variation_index"], meta["variation_values"] = c.Label, c.Index, ByPath(c.Values)
		meta["sweep_mode"] = r.order()
		if model := r.model(c); model != "" {
			meta["model"] = model
		}
	}
	return indented(map[string]any{
		"schema_version": "1.0", "aiperf_version": "0.13.0", "aiperfd_version": r.Run.Version, "metadata": meta, "metrics": estimates(c),
		"statistics": map[string]any{"repeats": repeats(r, c)},
	})
}

// repeat is a statistic over all runs of a configuration, of which those of the variation are draws.
type repeat struct {
	Mean         float64  `json:"mean"`
	Low          float64  `json:"ci_low"`
	High         float64  `json:"ci_high"`
	Level        float64  `json:"level_used"`
	Between      float64  `json:"between_run_sd"` // share of the value
	Within       float64  `json:"within_run_se"`  // share of the value
	ShareBetween float64  `json:"share_between"`
	Count        int      `json:"num_runs"`
	Few          bool     `json:"too_few_runs,omitempty"` // for a verdict on the configuration
	Trend        *float64 `json:"order_correlation,omitempty"`
	TrendP       *float64 `json:"order_p,omitempty"`
	Doubt        string   `json:"doubt,omitempty"`
	Unit         string   `json:"unit"`
}

// repeats returns the statistics over all runs of a configuration, by the names of the metrics.
func repeats(r *Report, c *cell.Result) map[string]repeat {
	level := cell.LevelUsed(r.Study.MultiRun.ConfidenceLevel, r.Study.MultiRun.Convergence)
	out := map[string]repeat{}
	for _, x := range c.Repeats(level, r.Study.MultiRun.Convergence) {
		one := repeat{
			Mean: x.Mean, Low: x.Low, High: x.High, Level: level, Between: x.Between, Within: x.Within,
			ShareBetween: x.ShareBetween(), Count: x.N, Few: x.N < cell.MinRepeats, Unit: x.Unit,
		}
		if x.HasTrend {
			one.Trend, one.TrendP = &x.Trend, &x.TrendP
		}
		if x.Drifts() {
			one.Doubt = "drift-across-runs"
		}
		out[x.Tag+"_"+x.Stat] = one
	}
	return out
}

// order returns AIPerf's name for the order of the runs of a sweep.
func (r *Report) order() string {
	return cmp.Or(r.Study.Sweep.IterationOrder, sweep.Repeated)
}

// model returns the first model of a variation: the one that it varies, or that of the study;
// "" if the server has chosen it.
func (r *Report) model(c *cell.Result) string {
	for _, a := range c.Values {
		name, isText := a.Value.(string)
		if isText && (a.Path == "models" || a.Path == "model" || a.Path == "models.items.0.name" || a.Path == "models.items.0") {
			return name
		}
	}
	if len(r.Run.Models) == 0 {
		return ""
	}
	return r.Run.Models[0]
}

// collatedJSON returns the requests of all runs of a variation together.
func collatedJSON(r *Report, c *cell.Result) ([]byte, error) {
	metrics := make(map[string]any)
	for _, p := range c.Pooled {
		combined := map[string]any{"mean": p.Mean, "std": p.Std, "count": p.Count, "unit": p.Unit}
		intervals := make(map[string]any)
		for _, q := range p.Quantiles {
			combined[q.Stat] = q.Value
			intervals[q.Stat] = map[string]float64{"ci_low": q.Low, "ci_high": q.High}
		}
		combined["intervals"] = intervals
		perRun := []map[string]any{}
		for _, t := range c.Counting(p.Tag) {
			m := t.Metric(p.Tag)
			one := map[string]any{"label": t.Label}
			for from, to := range map[string]string{"avg": "mean", "std": "std", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"} {
				if v, ok := m.Stats[from]; ok {
					one[to] = v
				}
			}
			sample, _ := t.Samples(p.Tag)
			one["count"] = len(sample)
			perRun = append(perRun, one)
		}
		metrics[p.Tag] = map[string]any{"combined": combined, "per_run": perRun}
	}
	names, ids := labels(c)
	return indented(map[string]any{
		"schema_version": "1.0.0",
		"metadata": map[string]any{
			"aggregation_type": "detailed", "num_profile_runs": len(c.Trials), "num_successful_runs": len(c.Good),
			"failed_runs": failures(&c.Outcome, false), "run_labels": names, "run_ids": ids,
			"confidence_level": r.Study.MultiRun.ConfidenceLevel, "interval_method": "bootstrap over runs, 1000 resamples",
		},
		"metrics": metrics,
	})
}

// combination is one variation in the file of a sweep.
type combination struct {
	Parameters map[string]any      `json:"parameters"`
	Label      string              `json:"label"`
	Metrics    map[string]estimate `json:"metrics"`
	Feasible   bool                `json:"feasible"`
	Broken     []brokenFilter      `json:"broken_sla_filters,omitempty"`
	Client     bool                `json:"client_invalid"`      // the load generator distorted what decides in all runs: it counts for nothing
	Distorted  int                 `json:"client_invalid_runs"` // in which it distorted one of the metrics that decide
	Runs       int                 `json:"num_successful_runs"`
	IDs        []string            `json:"run_ids"`
}

// brokenFilter is a condition that a variation does not satisfy.
type brokenFilter struct {
	Metric    string   `json:"metric_tag"`
	Stat      string   `json:"stat"`
	Op        string   `json:"op"`
	Threshold float64  `json:"threshold"`
	Value     *float64 `json:"value,omitempty"` // absent: it was not measured
}

// sweepJSON returns the file of a sweep. Metrics have one shape, however often a variation
// was performed.
func sweepJSON(r *Report) ([]byte, error) {
	cells, best, used := r.Rows(), r.Compare(), r.Used()
	combinations, failed, runs, good := []combination{}, []failedRun{}, 0, 0
	for i := range cells {
		c := &cells[i]
		runs, good = runs+len(c.Trials), good+len(c.Good)
		failed = append(failed, failures(&c.Outcome, true)...)
		if len(c.Good) == 0 {
			continue
		}
		_, ids := labels(c)
		combinations = append(combinations, combination{
			Parameters: r.parameters(c), Label: c.Label, Metrics: estimates(c), Feasible: c.Feasible(), Broken: broken(c),
			Client: slices.Contains(best.Excluded, i), Distorted: c.Distorted(used...), Runs: len(c.Good), IDs: ids,
		})
	}
	return indented(map[string]any{
		"aggregation_type": "sweep", "num_profile_runs": runs, "num_successful_runs": good, "failed_runs": failed,
		"metadata": r.sweepMetadata(&best), "per_combination_metrics": combinations,
		"best_configurations": r.best(&best), "pareto_optimal": r.pareto(&best),
	})
}

func broken(c *cell.Result) []brokenFilter {
	var out []brokenFilter
	for _, f := range c.Broken {
		b := brokenFilter{Metric: f.MetricTag, Stat: f.Stat, Op: f.Op, Threshold: f.Threshold}
		if e := c.Find(f.MetricTag, f.Stat); e != nil {
			b.Value = &e.Mean
		}
		out = append(out, b)
	}
	return out
}

func (r *Report) sweepMetadata(best *cell.Comparison) map[string]any {
	paths, names := r.names()
	s := r.Study.Sweep
	var params []map[string]any
	for i, p := range paths {
		list := []any{}
		seen := make(map[string]bool)
		for k := range r.rows {
			v, ok := r.rows[k].Value(p)
			if p == "" {
				v, ok = r.rows[k].Label, true
			}
			if text := sweep.Text(v); ok && !seen[text] {
				seen[text] = true
				list = append(list, v)
			}
		}
		params = append(params, map[string]any{"name": names[i], "path": p, "values": list})
	}
	excluded := []map[string]any{}
	for _, i := range best.Excluded {
		excluded = append(excluded, r.parameters(&r.rows[i]))
	}
	meta := map[string]any{
		"aggregation_type": "sweep", "sweep_parameters": params, "num_combinations": len(r.rows), "sweep_mode": s.IterationOrder,
		"sweep_type": s.Type, "confidence_level": r.Study.MultiRun.ConfidenceLevel, "num_trials_per_value": r.trials(),
		"excluded_client_invalid": excluded, "latency_metric": best.LatencyTag + "_" + cell.LatencyStat,
	}
	if len(r.Skipped) > 0 {
		skipped := []map[string]string{}
		for _, v := range r.Skipped {
			skipped = append(skipped, map[string]string{"variation": v.Label, "reason": v.Why})
		}
		meta["skipped"] = skipped
	}
	if s.RecipeName != "" {
		meta["recipe"] = s.RecipeName
	}
	if len(s.SLAFilters) > 0 {
		feasible := 0
		for i := range r.rows {
			if r.rows[i].Feasible() {
				feasible++
			}
		}
		filters := []map[string]any{}
		for _, f := range s.SLAFilters {
			filters = append(filters, map[string]any{"metric_tag": f.MetricTag, "stat": f.Stat, "op": f.Op, "threshold": f.Threshold})
		}
		meta["sla_constraints"] = map[string]any{
			"active_filters": filters, "feasible_count": feasible, "infeasible_count": len(r.rows) - feasible,
		}
	}
	return meta
}

// bestOf is a configuration that is best in a statistic.
type bestOf struct {
	title, name, tag, stat string
	at                     int
}

// bests returns the best configurations that exist.
func bests(c *cell.Comparison) []bestOf {
	all := []bestOf{
		{"Best Throughput", "best_throughput", cell.ThroughputTag, cell.ThroughputStat, c.BestThroughput},
		{"Best Latency (P99)", "best_latency_p99", c.LatencyTag, cell.LatencyStat, c.BestLatency},
	}
	return slices.DeleteFunc(all, func(b bestOf) bool { return b.at < 0 })
}

// best returns the best configurations.
func (r *Report) best(best *cell.Comparison) map[string]any {
	out := map[string]any{}
	for _, b := range bests(best) {
		e := r.rows[b.at].Find(b.tag, b.stat)
		out[b.name] = map[string]any{
			"parameters": r.parameters(&r.rows[b.at]), "metric": e.Mean, "unit": e.Unit, "ci_low": e.Low, "ci_high": e.High,
			"metric_name": b.tag + "_" + b.stat, "feasible": r.rows[b.at].Feasible(),
		}
	}
	return out
}

func (r *Report) pareto(best *cell.Comparison) []map[string]any {
	out := []map[string]any{}
	for _, i := range best.Pareto {
		out = append(out, r.parameters(&r.rows[i]))
	}
	return out
}

// designJSON returns the points of a sampled design.
func designJSON(r *Report) ([]byte, error) {
	s := r.Study.Sweep
	mapped := []map[string]any{}
	for _, v := range r.Study.Variations {
		mapped = append(mapped, ByPath(v.Values))
	}
	seed := r.Study.Seed
	if s.Seed != nil {
		seed = *s.Seed
	}
	return indented(map[string]any{
		"type": s.Type, "samples": s.Samples, "seed": seed, "scramble": s.Scramble, "optimization": s.Optimization,
		"dimensions": s.Dimensions, "samples_mapped": mapped, "samples_unit_cube": s.Points(r.Study.Seed),
	})
}
