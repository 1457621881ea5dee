package series

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sketch"
)

// The resolution of distributions.
const (
	// MaxColumns bounds the columns of heat maps.
	MaxColumns = 500
	// DefaultColumns is that without a request.
	DefaultColumns = 200

	maxBars = 200 // of a histogram
	maxRows = 60  // of a heat map
	// columnSchema is that of the counts of a column while not all values are known: its
	// buckets are 2.2 % wide.
	columnSchema = 5
)

// Quantiles returns the quantiles of a [Spread], ascending from 0 to 1. They are
// dense where latencies are rare and large.
func Quantiles() []float64 {
	out := []float64{0, 0.001, 0.005}
	for i := 1; i < 100; i++ {
		out = append(out, float64(i)/100)
	}
	for i := 991; i < 1000; i++ {
		out = append(out, float64(i)/1000)
	}
	for i := 9991; i < 10000; i++ {
		out = append(out, float64(i)/10000)
	}
	return append(out, 1)
}

// DistributionQuery selects distributions.
type DistributionQuery struct {
	Metrics []Metric // of [DistributionMetrics]
	From    int64    // seconds since the start of the run; rounded down to a multiple of the step
	To      int64    // likewise, rounded up; 0 = the end
	Columns int64    // of the heat maps at most, up to MaxColumns; 0 = DefaultColumns
	Phase   string   // name of a phase, or a kind of phases; empty = the profiling phases
}

// Distributions are how the values of metrics are distributed. Column i of the heat maps
// covers the seconds from Times[i] to Times[i] + Step.
type Distributions struct {
	Start  time.Time // of the run; zero = it has no series
	Step   int64
	Phases []Band // those whose requests are counted
	Times  []int64
	// Elapsed is up to which second of the run requests are counted; 0 = the run has ended, or nothing is counted yet.
	Elapsed int64
	Of      []Spread // of the metrics of the query
}

// Spread is how the values of a metric are distributed, in the unit of the metric.
type Spread struct {
	Count              uint64
	Avg, Std, Min, Max float64   // NaN without values
	Values             []float64 // at the quantiles of [Quantiles]; NaN without values
	Histogram          Histogram
	Rows               []float64 // bounds of the buckets of the heat map, like those of a histogram
	Columns            [][]int64 // counts of these buckets, for each column
}

// Histogram are counts in buckets whose bounds grow by a constant factor. Bucket i holds the
// values in (Bounds[i], Bounds[i+1]]. If there are zeros, they have a bucket before these,
// whose lower bound is 0. Without values the histogram is empty.
type Histogram struct {
	Bounds []float64
	Counts []int64
}

// DistributionMetrics is [Select] for the metrics that have distributions.
func DistributionMetrics(names []string) ([]Metric, error) {
	return choose(slices.DeleteFunc(Metrics(), func(m Metric) bool { return m.Kind != Distribution }), names)
}

// ReadDistributions returns distributions of a run that has ended, from its folder. A run
// without a series has empty ones. Memory does not grow with the length of the run.
func ReadDistributions(ctx context.Context, dir string, q DistributionQuery) (*Distributions, error) {
	g := &gatherer{query: q}
	r, err := readFile(ctx, dir, g.plan)
	if err != nil {
		return nil, err
	}
	return g.distributions(r), nil
}

// Distributions returns distributions of the windows so far that will not change any more,
// unless a request is processed more than a second after its end.
func (r *Recorder) Distributions(ctx context.Context, q DistributionQuery) (*Distributions, error) {
	g := &gatherer{query: q}
	read, err := r.read(ctx, g.plan)
	if err != nil {
		return nil, err
	}
	return g.distributions(read), nil
}

// gatherer makes distributions of the points of a series.
type gatherer struct {
	query   DistributionQuery
	phases  []Band
	elapsed int64                  // see [Distributions]
	all     []sketch.Sketch        // by metric
	columns [][]sketch.Exponential // by metric and column
}

// plan plans the points.
func (g *gatherer) plan(x *extent) *points {
	q := &g.query
	g.all, g.columns = make([]sketch.Sketch, len(q.Metrics)), make([][]sketch.Exponential, len(q.Metrics))
	phase := cmp.Or(q.Phase, string(bench.Profiling))
	for _, b := range x.phases {
		if b.Name == phase || b.Kind == phase {
			g.phases = append(g.phases, b)
		}
	}
	p := newPoints(x, Query{Metrics: q.Metrics, From: q.From, To: q.To, points: cmp.Or(q.Columns, DefaultColumns), partial: true})
	p.keep = g.keep
	if x.end == 0 {
		g.elapsed = min(p.to, x.total)
	}
	p.emit = func(w *window, _ float64) {
		for i := range q.Metrics {
			values := &w.values[q.Metrics[i].at]
			g.all[i].Merge(values)
			g.columns[i] = append(g.columns[i], sketch.NewExponential(values, columnSchema, math.MaxInt))
		}
	}
	return p
}

// keep reports whether an entry is of the phases. One of an earlier version, which does not
// say of which requests it is, counts if one of the phases was performed in its second.
func (g *gatherer) keep(second int64, content []byte) bool {
	of, known := partOf(content)
	return !of.left && slices.ContainsFunc(g.phases, func(b Band) bool {
		if known {
			return b.Index == of.phase
		}
		return b.Start < float64(second+1) && (b.End == nil || *b.End > float64(second))
	})
}

// distributions returns the result.
func (g *gatherer) distributions(r *Result) *Distributions {
	out := &Distributions{Start: r.Start, Step: r.Step, Phases: g.phases, Times: r.Times, Elapsed: g.elapsed}
	quantiles := Quantiles()
	for i := range g.query.Metrics {
		scale, all := g.query.Metrics[i].scale, &g.all[i]
		d := Spread{
			Count: all.Count(), Avg: all.Mean() * scale, Std: all.Std() * scale, Min: all.Min() * scale, Max: all.Max() * scale,
			Values: make([]float64, len(quantiles)), Columns: [][]int64{},
		}
		all.Quantiles(quantiles, d.Values)
		for k := range d.Values {
			d.Values[k] *= scale
		}
		fine := sketch.NewExponential(all, sketch.MaxSchema, math.MaxInt)
		bars := newLayout(&fine, maxBars)
		d.Histogram = Histogram{Bounds: bars.bounds(scale), Counts: bars.counts(&fine)}
		coarse := sketch.NewExponential(all, columnSchema, math.MaxInt)
		rows := newLayout(&coarse, maxRows)
		d.Rows = rows.bounds(scale)
		for k := range g.columns[i] {
			d.Columns = append(d.Columns, rows.counts(&g.columns[i][k]))
		}
		out.Of = append(out.Of, d)
	}
	return out
}

// layout divides the range of values into buckets.
type layout struct {
	schema, first int // of the buckets of the sketch: schema, and index of the first one
	width         int // how many of these are one bucket
	n             int // buckets, without that of the zeros
	zeros         bool
}

// newLayout returns the narrowest buckets of which at most so many hold all values.
func newLayout(e *sketch.Exponential, most int) layout {
	l := layout{schema: int(e.Schema), zeros: e.Zeros > 0}
	if len(e.Positive) > 0 {
		indices := slices.Collect(maps.Keys(e.Positive))
		l.first = slices.Min(indices)
		span := slices.Max(indices) - l.first + 1
		l.width = (span + most - 1) / most
		l.n = (span + l.width - 1) / l.width
	}
	return l
}

// bounds returns the bounds in the unit that the scale makes.
func (l layout) bounds(scale float64) []float64 {
	var out []float64
	if l.zeros {
		out = append(out, 0)
	}
	if l.n == 0 {
		return append(out, out...) // only zeros, or nothing
	}
	for i := range l.n + 1 {
		out = append(out, scale*math.Exp2(float64(l.first-1+i*l.width)/float64(int(1)<<l.schema)))
	}
	return out
}

// counts returns the counts of the buckets.
func (l layout) counts(e *sketch.Exponential) []int64 {
	zero := 0
	if l.zeros {
		zero = 1
	}
	out := make([]int64, zero+l.n)
	if l.zeros {
		out[0] = int64(e.Zeros)
	}
	for i, count := range e.Positive {
		out[zero+(i-l.first)/l.width] += count
	}
	return out
}
