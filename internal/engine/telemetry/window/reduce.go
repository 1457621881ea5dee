package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"aiperfd/internal/engine/telemetry/expo"
)

// Stat is one statistic of a series.
type Stat struct {
	Name  string
	Value float64
}

// Stats are the statistics of a series, in AIPerf's order. In JSON they are an object.
type Stats []Stat

// Get returns a statistic.
func (s Stats) Get(name string) (float64, bool) {
	for _, one := range s {
		if one.Name == name {
			return one.Value, true
		}
	}
	return 0, false
}

// MarshalJSON implements json.Marshaler. Statistics that are not finite are left out.
func (s Stats) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for _, one := range s {
		if math.IsNaN(one.Value) || math.IsInf(one.Value, 0) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, one.Name), ':')
		b = strconv.AppendFloat(b, one.Value, 'g', -1, 64)
	}
	return append(b, '}'), nil
}

// Bucket is how many observations were at most a bound.
type Bucket struct {
	Bound string // as the server writes it
	Count int64
}

// Buckets are the buckets of a histogram, ascending and cumulative. In JSON they are an object.
type Buckets []Bucket

// MarshalJSON implements json.Marshaler.
func (s Buckets) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range s {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(one.Bound)
		if err != nil {
			return nil, err
		}
		b = strconv.AppendInt(append(append(b, name...), ':'), one.Count, 10)
	}
	return append(b, '}'), nil
}

// Labels are the labels of a series. In JSON they are an object.
type Labels []expo.Label

// MarshalJSON implements json.Marshaler.
func (l Labels) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range l {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one.Value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%s", name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Metric is a family in a window.
type Metric struct {
	Name   string
	Kind   Kind
	Help   string
	Unit   string
	Info   bool // it describes the server
	Series []Series
}

// Series is a series in a window.
type Series struct {
	Labels  Labels
	Stats   Stats
	Buckets Buckets
	Slices  []Slice
	Own     Own
}

// Own is what AIPerf does not have of a series.
type Own struct {
	TotalSettled *float64      `json:"total_settled,omitempty"` // with what the server counted after the window
	ErrorBound   *float64      `json:"error_bound,omitempty"`   // of the total, or of the count
	Resets       int           `json:"resets,omitempty"`
	Partial      bool          `json:"partial,omitempty"` // the total is a lower bound
	Bounds       []QuantileBox `json:"percentile_bounds,omitempty"`
}

// QuantileBox has the edges of the bucket that holds a percentile.
type QuantileBox struct {
	Name  string   `json:"percentile"`
	Lower float64  `json:"lower"`
	Upper *float64 `json:"upper"` // nil = the last bucket, which has no end
}

// Slice is a part of a window.
type Slice struct {
	From, To time.Duration
	Complete bool
	Stats    Stats
	Buckets  Buckets
}

// percentiles are those of gauges and histograms.
func percentiles() []float64 { return []float64{1, 5, 10, 25, 50, 75, 90, 95, 99} }

// Reduce returns the statistics of every family in a window and, if a length is given, of its slices.
func (h *History) Reduce(w Window, slice time.Duration) []Metric {
	var out []Metric
	for _, f := range h.Families {
		m := Metric{Name: f.Name, Kind: f.kind(), Help: f.Help, Unit: f.Unit, Info: f.Info()}
		for _, g := range f.Groups {
			if s, ok := h.reduce(m.Kind, g, w, slice); ok {
				s.Labels = g.Labels
				m.Series = append(m.Series, s)
			}
		}
		if len(m.Series) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// reduce returns the statistics of one group; ok = false if it has no value in the window.
func (h *History) reduce(kind Kind, g *Group, w Window, slice time.Duration) (Series, bool) {
	switch kind {
	case Counter:
		return h.reduceCounter(g, w, slice)
	case Histogram:
		return h.reduceHistogram(g, w, slice)
	case Gauge, Unknown:
	}
	steps := h.Within(g, w)
	over := Over(steps, w)
	if over.Empty() {
		return Series{}, false
	}
	out := Series{Stats: Stats{{"avg", over.Mean()}, {"min", over.Min()}, {"max", over.Max()}, {"std", over.Deviation()}}}
	for _, p := range percentiles() {
		out.Stats = append(out.Stats, Stat{fmt.Sprintf("p%g", p), over.Quantile(p / 100)})
	}
	for _, part := range cut(w, slice) {
		if over := Over(steps, part.window()); !over.Empty() {
			part.Stats = Stats{{"avg", over.Mean()}, {"min", over.Min()}, {"max", over.Max()}}
			out.Slices = append(out.Slices, part)
		}
	}
	return out, true
}

// cut divides a window into slices; none without a length.
func cut(w Window, slice time.Duration) []Slice {
	var out []Slice
	if slice <= 0 {
		return nil
	}
	for from := w.From; from < w.To; from += slice {
		out = append(out, Slice{From: from, To: min(from+slice, w.To), Complete: from+slice <= w.To})
	}
	return out
}

func (s *Slice) window() Window { return Window{From: s.From, To: s.To} }

// reduceCounter returns the statistics of a counter.
func (h *History) reduceCounter(g *Group, w Window, slice time.Duration) (Series, bool) {
	if g.value == nil {
		return Series{}, false
	}
	c := h.curves(g.value)[0]
	total, ok := c.increase(w)
	if !ok || w.To <= w.From {
		return Series{}, false
	}
	out := Series{Stats: Stats{{"total", total.Total}, {"rate", total.Total / w.Seconds()}}, Own: own(total)}
	var rates []float64
	for _, part := range cut(w, slice) {
		n, _ := c.increase(part.window())
		rate := n.Total / part.window().Seconds()
		part.Stats = Stats{{"total", n.Total}, {"rate", rate}}
		out.Slices = append(out.Slices, part)
		if part.Complete {
			rates = append(rates, rate)
		}
	}
	if len(rates) > 0 {
		mean, low, high, square := Mean(rates), math.Inf(1), math.Inf(-1), 0.0
		for _, r := range rates {
			low, high, square = min(low, r), max(high, r), square+(r-mean)*(r-mean)
		}
		deviation := 0.0
		if len(rates) > 1 {
			deviation = math.Sqrt(square / float64(len(rates)-1))
		}
		out.Stats = append(out.Stats,
			Stat{"rate_avg", mean}, Stat{"rate_min", low}, Stat{"rate_max", high}, Stat{"rate_std", deviation})
	}
	return out, true
}

// own returns what is ours of an increase.
func own(n Increase) Own {
	out := Own{ErrorBound: &n.Error, Resets: n.Resets, Partial: n.Partial}
	if !math.IsNaN(n.Settled) {
		out.TotalSettled = &n.Settled
	}
	return out
}

// reduceHistogram returns the statistics of a histogram.
func (h *History) reduceHistogram(g *Group, w Window, slice time.Duration) (Series, bool) {
	if g.count == nil || g.sum == nil || w.To <= w.From {
		return Series{}, false
	}
	all := h.curves(g.columns()...)
	count, ok := all[0].increase(w)
	if !ok {
		return Series{}, false
	}
	sum, _ := all[1].increase(w)
	out := Series{Stats: observed(count.Total, sum.Total), Own: own(count)}
	out.Stats = append(out.Stats, Stat{"count_rate", count.Total / w.Seconds()}, Stat{"sum_rate", sum.Total / w.Seconds()})
	if count.Resets == 0 {
		out.Buckets = cumulative(g, all, w)
	}
	if count.Resets == 0 && count.Total > 0 && len(g.buckets) > 0 {
		masses := masses(g, all, w)
		spread(masses, learn(all), sum.Total)
		for _, p := range percentiles() {
			v, lower, upper := quantile(masses, p/100)
			name := fmt.Sprintf("p%g", p)
			out.Stats = append(out.Stats, Stat{name + "_estimate", v})
			box := QuantileBox{Name: name, Lower: lower, Upper: &upper}
			if math.IsInf(upper, 1) {
				box.Upper = nil
			}
			out.Own.Bounds = append(out.Own.Bounds, box)
		}
	}
	for _, part := range cut(w, slice) {
		n, _ := all[0].increase(part.window())
		s, _ := all[1].increase(part.window())
		part.Stats, part.Buckets = observed(n.Total, s.Total), cumulative(g, all, part.window())
		out.Slices = append(out.Slices, part)
	}
	return out, true
}

// observed returns count, sum and mean.
func observed(count, sum float64) Stats {
	out := Stats{{"count", math.Round(count)}, {"sum", sum}}
	if count > 0 {
		out = append(out, Stat{"avg", sum / count})
	}
	return out
}

// cumulative returns the buckets of a histogram in a window.
func cumulative(g *Group, all []curve, w Window) Buckets {
	var out Buckets
	for i, b := range g.buckets {
		n, _ := all[i+2].increase(w)
		out = append(out, Bucket{b.text, int64(math.Round(n.Total))})
	}
	return out
}

// masses returns how many observations each bucket took in.
func masses(g *Group, all []curve, w Window) []mass {
	var out []mass
	low, below := 0.0, 0.0
	for i, b := range g.buckets {
		n, _ := all[i+2].increase(w)
		if i == 0 && b.bound <= 0 {
			low = b.bound
		}
		out = append(out, mass{low: low, high: b.bound, n: n.Total - below})
		low, below = b.bound, n.Total
	}
	return out
}

// Gaps returns the times without a scrape that are longer than a limit, in a window.
func (h *History) Gaps(w Window, longest time.Duration) []Window {
	var out []Window
	for i := 1; i < len(h.Scrapes); i++ {
		from, to := h.Scrapes[i-1].At(), h.Scrapes[i].At()
		if to-from > longest && to > w.From && from < w.To {
			out = append(out, Window{From: from, To: to})
		}
	}
	return out
}

// Values calls each for every value of every scrape in a window, for the raw files.
func (h *History) Values(i int, each func(f *Family, g *Group, le string, value float64)) {
	for _, f := range h.Families {
		for _, g := range f.Groups {
			emit := func(c *column, what string) {
				if c == nil {
					return
				}
				if v := c.at(i); !math.IsNaN(v) {
					each(f, g, what, v)
				}
			}
			if f.Kind != Histogram {
				emit(g.value, "")
				continue
			}
			for _, b := range g.buckets {
				emit(b.column, b.text)
			}
			emit(g.sum, "sum")
			emit(g.count, "count")
		}
	}
}
