package prom

import (
	"math"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"aiperfd/internal/engine/sketch"
)

// Native histograms have the resolution of client_golang's NativeHistogramBucketFactor
// 1.1, eight buckets per power of two, or less if the values need more than
// nativeBuckets, its usual NativeHistogramMaxBucketNumber.
const (
	nativeSchema  = 3
	nativeBuckets = 160
)

// histogram is one family made from the sketches of a metric.
type histogram struct {
	tag    string // of the metric
	desc   *prometheus.Desc
	bounds []float64
}

// metric returns a histogram with classic and native buckets. The text formats contain
// only the former.
func (h *histogram) metric(s *sketch.Sketch, created time.Time, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.bounds))
	for i, n := range s.CountsAtMost(h.bounds...) {
		buckets[h.bounds[i]] = n
	}
	e := sketch.NewExponential(s, nativeSchema, nativeBuckets)
	return bothHistograms{
		Metric: prometheus.MustNewConstHistogramWithCreatedTimestamp(h.desc, s.Count(), s.Sum(), buckets, created, labels...),
		native: prometheus.MustNewConstNativeHistogram(h.desc, s.Count(), s.Sum(), e.Positive, e.Negative, e.Zeros,
			e.Schema, sketch.MinValue, created, labels...),
	}
}

// bothHistograms is a classic histogram with the native buckets of another.
type bothHistograms struct {
	prometheus.Metric
	native prometheus.Metric
}

// Write implements prometheus.Metric.
func (h bothHistograms) Write(out *dto.Metric) error {
	var native dto.Metric
	if err := h.native.Write(&native); err != nil {
		return err
	}
	if err := h.Metric.Write(out); err != nil {
		return err
	}
	native.Histogram.Bucket = out.Histogram.Bucket
	out.Histogram = native.Histogram
	return nil
}

// histograms returns the histograms of records.
func (e *emitter) histograms() []histogram {
	latency, token, length := decades(-3, 3, 0.63e3), decades(-4, 1, 10), powers(20)
	row := func(tag, name, help string, bounds []float64) histogram {
		return histogram{tag, e.ofRecords(name, help), bounds}
	}
	return []histogram{
		row("request_latency", "aiperf_request_duration_seconds",
			"Time from the start of a request to the last content of its response.", latency),
		row("time_to_first_token", "aiperf_time_to_first_token_seconds",
			"Time from the start of a request to the first content of its response.", latency),
		row("inter_token_latency", "aiperf_time_per_output_token_seconds",
			"Mean time between the output tokens of a request after the first.", token),
		row("inter_chunk_latency", "aiperf_inter_chunk_seconds",
			"Time between two content events of a stream.", token),
		row("schedule_lag", "aiperf_schedule_delay_seconds",
			"Time from the due time of a request to its start.", latency),
		row("input_sequence_length", "aiperf_input_sequence_tokens", "Input tokens per request.", length),
		row("output_sequence_length", "aiperf_output_sequence_tokens", "Output tokens per request.", length),
	}
}

// decades returns bounds from 10^from to at most limit in five steps per decade
// (factor about 1.6, the R5 series of ISO 3).
func decades(from, to int, limit float64) []float64 {
	var out []float64
	for exp := from; exp <= to; exp++ {
		for _, digits := range []string{"1", "1.6", "2.5", "4", "6.3"} {
			// Parsed, not multiplied: 6.3e-3 must print as 0.0063.
			b, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(exp), 64)
			if err != nil || b > limit {
				return out
			}
			out = append(out, b)
		}
	}
	return out
}

// powers returns 1, 2, 4 … 2^n.
func powers(n int) []float64 {
	out := make([]float64, 0, n+1)
	for i := range n + 1 {
		out = append(out, math.Ldexp(1, i))
	}
	return out
}
