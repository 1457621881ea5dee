// Package remote pushes metric families to Prometheus (Remote-Write 1.0) and to a Pushgateway, for processes that end
// before anybody scrapes them. It keeps no families: who uses it gathers them.
package remote

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// label is a name and a value of a series.
type label struct{ name, value string }

// sample is a value of a series. The labels are sorted by name, and have that of the metric.
type sample struct {
	labels []label
	value  float64
}

// key tells apart series.
func (s *sample) key() string {
	var b strings.Builder
	for _, l := range s.labels {
		b.WriteString(l.name)
		b.WriteByte(0xff) // not in a text in UTF-8
		b.WriteString(l.value)
		b.WriteByte(0xff)
	}
	return b.String()
}

// samples returns the series of families: of a histogram its classic buckets, its sum and its count.
func samples(families []*dto.MetricFamily, job string) (out []sample) {
	for _, f := range families {
		for _, m := range f.GetMetric() {
			add := func(suffix string, v float64, more ...label) {
				labels := append([]label{{"__name__", f.GetName() + suffix}, {"job", job}}, more...)
				for _, l := range m.GetLabel() {
					labels = append(labels, label{l.GetName(), l.GetValue()})
				}
				slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.name, b.name) })
				out = append(out, sample{labels, v})
			}
			switch {
			case m.Histogram != nil:
				h := m.Histogram
				count := float64(h.GetSampleCount())
				for _, b := range h.Bucket {
					add("_bucket", float64(b.GetCumulativeCount()), label{"le", bound(b.GetUpperBound())})
				}
				if n := len(h.Bucket); n == 0 || !math.IsInf(h.Bucket[n-1].GetUpperBound(), 1) {
					add("_bucket", count, label{"le", "+Inf"})
				}
				add("_sum", h.GetSampleSum())
				add("_count", count)
			case m.Summary != nil:
				for _, q := range m.Summary.Quantile {
					add("", q.GetValue(), label{"quantile", bound(q.GetQuantile())})
				}
				add("_sum", m.Summary.GetSampleSum())
				add("_count", float64(m.Summary.GetSampleCount()))
			case m.Counter != nil:
				add("", m.Counter.GetValue())
			case m.Gauge != nil:
				add("", m.Gauge.GetValue())
			case m.Untyped != nil:
				add("", m.Untyped.GetValue())
			}
		}
	}
	return out
}

// bound writes a bound as Prometheus' text format does.
func bound(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// stale returns the value that ends a series, a NaN of its own.
func stale() float64 { return math.Float64frombits(0x7ff0000000000002) }

// writeRequest encodes samples of one time as prometheus.WriteRequest: field 1 is a series, whose field 1 is a
// label (1 name, 2 value) and field 2 a sample (1 value, 2 time in ms).
func writeRequest(of []sample, at time.Time) (out []byte) {
	var series, inner []byte
	for _, s := range of {
		series = series[:0]
		for _, l := range s.labels {
			inner = protowire.AppendString(protowire.AppendTag(inner[:0], 1, protowire.BytesType), l.name)
			inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), l.value)
			series = protowire.AppendBytes(protowire.AppendTag(series, 1, protowire.BytesType), inner)
		}
		inner = protowire.AppendFixed64(protowire.AppendTag(inner[:0], 1, protowire.Fixed64Type), math.Float64bits(s.value))
		inner = protowire.AppendVarint(protowire.AppendTag(inner, 2, protowire.VarintType), uint64(at.UnixMilli()))
		series = protowire.AppendBytes(protowire.AppendTag(series, 2, protowire.BytesType), inner)
		out = protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), series)
	}
	return out
}
