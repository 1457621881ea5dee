// Package compare puts the results and the configurations of several runs side by side, and says
// whether runs are better or worse than others. It is the only place that judges differences.
package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// MaxRuns is the number of runs that can be compared.
const MaxRuns = 10

// Input is one run with its configuration and its newest snapshot; nil = it has none.
type Input struct {
	Run      *run.Run
	Snapshot *run.Snapshot
	Requests *Requests // nil = they were not read
	Cell     string    // name of its configuration in a sweep of several; empty = it is none of such
	Dir      string    // folder of the run; empty = not known
}

// Comparison is the body of GET /api/compare.
type Comparison struct {
	Baseline string   `json:"baseline"` // id of the run that the others are compared with
	Runs     []Run    `json:"runs"`     // in the order of the request
	Metrics  []Metric `json:"metrics"`  // that any of the runs has
	// Differences are the values of the configurations that are not the same in all runs,
	// ordered by pointer; at most 1,000.
	Differences          []Difference `json:"differences"`
	DifferencesTruncated bool         `json:"differences_truncated"` // there are more
}

// Run is one of the runs that are compared.
type Run struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Kind      run.Kind    `json:"kind" enums:"run,sweep"`
	State     bench.State `json:"state" enums:"queued,starting,running,stopping,exporting,completed,cancelled,failed"`
	CreatedAt time.Time   `json:"created_at" format:"date-time"`
	Version   string      `json:"aiperfd_version"`
	Seed      int64       `json:"random_seed"`
	Models    []string    `json:"models"`
	// Results is final, live (of an active run: they are changing and have no intervals) or
	// none.
	Results Results `json:"results" enums:"final,live,none"`
	Reason  *string `json:"reason" example:"The run has not started"` // why there are no results
	// Verdict is whether the run met its objectives; null without objectives.
	Verdict    *string            `json:"verdict" enums:"pass,fail"`
	Objectives []metric.SLOResult `json:"slo_results"`
	Client     *verdict.Level     `json:"client" enums:"ok,suspect,invalid,unknown"` // whether the load generator kept up; null = not known
	Truncated  bool               `json:"truncated"`                                 // the grace period cut more than 1 % of the requests
}

// Results is the kind of results that a run has.
type Results string

// The kinds.
const (
	Final Results = "final"
	Live  Results = "live"
	None  Results = "none"
)

// Metric is one metric of all runs.
type Metric struct {
	Tag        string      `json:"tag" example:"time_to_first_token"`
	Header     string      `json:"header" example:"Time to First Token"`
	Unit       string      `json:"unit" example:"ms"`
	Better     Direction   `json:"better" enums:"higher,lower,none"`
	Statistics []Statistic `json:"statistics"`
}

// Direction is the direction of improvement of a metric.
type Direction string

// The directions.
const (
	Higher    = Direction(catalogue.Higher)
	Lower     = Direction(catalogue.Lower)
	Undefined = Direction(catalogue.Neither)
)

// Statistic is one statistic of a metric.
type Statistic struct {
	Name   string  `json:"statistic" enums:"avg,p50,p90,p95,p99,min,max,std"`
	Values []Value `json:"values"` // one for each run, in their order
}

// Value is a statistic of one run, in the unit of the metric.
type Value struct {
	Run   string   `json:"run"`   // id
	Value *float64 `json:"value"` // null = the run has none, or it is infinite
	// Interval is the 95 % confidence interval; null for statistics without one.
	Interval *[2]float64 `json:"interval"`
	// Unsupported means that the run has too few independent requests for this percentile.
	Unsupported bool     `json:"unsupported,omitempty"`
	Delta       *float64 `json:"delta"`         // value minus that of the baseline; null for the baseline
	Percent     *float64 `json:"delta_percent"` // of the value of the baseline; null if that is 0
}

// statistics are those that are compared.
func statistics() []metric.Stat {
	return []metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99, metric.Min, metric.Max, metric.Std}
}

// New compares runs with the one at the index baseline.
//
//	@Summary		Get the values of runs side by side
//	@Description	The metrics of 2 to 10 runs with their differences from a baseline, and the values in which their configurations differ. Runs without results are listed too. Whether a difference is more than chance is the question of POST.
//	@Tags			runs
//	@Param			ids			query		string	true	"Ids of runs, current or latest, separated by commas"
//	@Param			baseline	query		string	false	"The one of ids that the others are compared with; default: the first"
//	@Success		200			{object}	Comparison
//	@Success		304
//	@Failure		400,404	{object}	wire.Problem
//	@Router			/api/compare [get]
func New(runs []Input, baseline int) (*Comparison, error) {
	out := &Comparison{Baseline: runs[baseline].Run.ID, Runs: make([]Run, 0, len(runs)), Metrics: []Metric{}}
	for i := range runs {
		out.Runs = append(out.Runs, describe(&runs[i]))
	}
	for _, def := range definitions(runs) {
		m := Metric{Tag: def.Tag, Header: def.Header, Unit: def.Unit, Better: direction(def), Statistics: []Statistic{}}
		for _, s := range statistics() {
			if row, ok := statistic(runs, baseline, def.Tag, s); ok {
				m.Statistics = append(m.Statistics, row)
			}
		}
		if len(m.Statistics) > 0 {
			out.Metrics = append(out.Metrics, m)
		}
	}
	changed, err := changesOf(runs)
	if err != nil {
		return nil, err
	}
	out.Differences, out.DifferencesTruncated = changed.at(changed.pointers)
	return out, nil
}

// describe returns what is said about one run.
func describe(in *Input) Run {
	r := in.Run
	out := Run{
		ID: r.ID, Name: r.Name, Kind: r.Kind(), State: r.State, CreatedAt: r.CreatedAt.UTC(), Version: r.Version, Seed: r.Seed,
		Models: append([]string{}, r.Models...), Results: Live, Objectives: []metric.SLOResult{}, Verdict: r.ObjectivesVerdict(),
	}
	if r.Summary != nil {
		out.Objectives = append(out.Objectives, r.Summary.SLOs...)
	}
	switch {
	case r.Client != nil:
		out.Client = &r.Client.Verdict
	case in.Snapshot != nil && in.Snapshot.Client != nil:
		out.Client = &in.Snapshot.Client.Verdict
	}
	switch reason := reason(in); {
	case reason != "":
		out.Results, out.Reason = None, &reason
	case in.Snapshot.Final:
		out.Results, out.Truncated = Final, in.Snapshot.Metrics.Truncated()
	}
	return out
}

// reason returns why a run has no results; empty = it has some.
func reason(in *Input) string {
	switch {
	case in.Run.Kind() == run.KindSweep:
		return "A sweep has no results of its own; compare runs of GET /api/runs/{id}/children"
	case in.Run.State == bench.StateQueued:
		return "The run has not started"
	case in.Snapshot != nil && len(in.Snapshot.Metrics) > 0:
		return ""
	case in.Run.Error != nil:
		return "The run failed: " + in.Run.Error.Message
	case in.Run.State.Terminal():
		return "The run ended without a measurement"
	}
	return "The run has not measured anything yet"
}

// definitions returns the metrics that any run has, in the order of the catalogue.
func definitions(runs []Input) []*catalogue.Def {
	known := map[string]*catalogue.Def{}
	var tags []string // of metrics that the catalogue does not know
	for i := range runs {
		if runs[i].Snapshot == nil {
			continue
		}
		for j := range runs[i].Snapshot.Metrics {
			m := &runs[i].Snapshot.Metrics[j]
			if _, seen := known[m.Def.Tag]; !seen && m.Def.Shown() {
				known[m.Def.Tag] = m.Def
				tags = append(tags, m.Def.Tag)
			}
		}
	}
	order := map[string]int{}
	for i, row := range catalogue.Rows() {
		order[row.Tag] = i - len(catalogue.Rows())
	}
	slices.SortStableFunc(tags, func(a, b string) int { return order[a] - order[b] })
	out := make([]*catalogue.Def, 0, len(tags))
	for _, tag := range tags {
		out = append(out, known[tag])
	}
	return out
}

// direction returns the direction of improvement of a metric; a metric that the catalogue does
// not know has none.
func direction(def *catalogue.Def) Direction { return cmp.Or(Direction(def.Better), Undefined) }

// statistic returns one statistic of all runs. ok is false if no run has it.
func statistic(runs []Input, baseline int, tag string, s metric.Stat) (row Statistic, ok bool) {
	row.Name = s.String()
	for i := range runs {
		v := valueOf(&runs[i], tag, s)
		ok = ok || v.Value != nil
		row.Values = append(row.Values, v)
	}
	base := &row.Values[baseline]
	for i := range row.Values {
		v := &row.Values[i]
		if i == baseline || v.Value == nil || base.Value == nil {
			continue
		}
		v.Delta = finite(*v.Value - *base.Value)
		v.Percent = finite(100 * (*v.Value - *base.Value) / math.Abs(*base.Value))
	}
	return row, ok
}

// distorted reports whether the load generator made a metric of a run wrong.
func distorted(in *Input, tag string) bool {
	switch {
	case in.Run.Client != nil:
		return verdict.Of(in.Run.Client.Reasons, tag) == verdict.Invalid
	case in.Snapshot != nil && in.Snapshot.Client != nil:
		return verdict.Of(in.Snapshot.Client.Reasons, tag) == verdict.Invalid
	}
	return false
}

// valueOf returns a statistic of one run.
func valueOf(in *Input, tag string, s metric.Stat) Value {
	out := Value{Run: in.Run.ID}
	if in.Snapshot == nil {
		return out
	}
	m := in.Snapshot.Metrics.Find(tag)
	if m == nil {
		return out
	}
	if v, ok := m.Get(s); ok {
		out.Value = finite(v)
		out.Unsupported = !m.Confidence.Supported(s)
	}
	if interval, ok := m.Confidence.Interval(s); ok && out.Value != nil {
		out.Interval = &[2]float64{interval.Low, interval.High}
	}
	return out
}

// finite returns v, or nil if JSON cannot represent it.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
