package export

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/metric"
)

// doubtfulReport has a metric of few requests, one from a sketch and one from
// bins.
func doubtfulReport(t *testing.T) *Report {
	t.Helper()
	few := result(t, "request_latency", 12, map[metric.Stat]float64{
		metric.Avg: 102.5, metric.Min: 90, metric.Max: 130, metric.P50: 101, metric.P90: 120, metric.P95: 127, metric.P99: 129.5, metric.Std: 8,
	})
	few.Confidence = confidence(t, `{"effective_sample_size":10.25,"intervals":{"avg":[97.25,107.75],"p50":[95,112]},"unsupported":["p90","p95","p99"]}`)
	many := result(t, "time_to_first_token", 3e6, map[metric.Stat]float64{
		metric.Avg: 50, metric.P50: 49, metric.P90: 60, metric.P95: 65, metric.P99: 80, metric.Std: 7,
	})
	many.RelError = 0.00271
	many.Confidence = confidence(t, `{"effective_sample_size":1234567,"intervals":{"avg":[49.99,50.01],"p50":[48.99,49.01],"p90":[59.9,60.1],"p95":[64.8,65.2],"p99":[79,81]},"unsupported":[]}`)
	curve := result(t, "effective_concurrency", 0, map[metric.Stat]float64{metric.Avg: 63.5, metric.P50: 64, metric.P99: 64, metric.Max: 64})
	curve.Bin = 1 << 27 * time.Nanosecond
	return &Report{
		Identity: Identity{RunID: "r", Version: "0.2.0"},
		Complete: true, Models: []string{"m"}, Endpoint: "chat", Load: "poisson 40/s", Duration: time.Hour,
		Results: metric.Results{
			many, few, curve,
			result(t, "late_request_count", 0, map[metric.Stat]float64{metric.Avg: 7}),
			result(t, "dropped_arrival_count", 0, map[metric.Stat]float64{metric.Avg: 0}),
			result(t, "request_count", 0, map[metric.Stat]float64{metric.Avg: 12}),
		},
	}
}

func confidence(t *testing.T, text string) *metric.Confidence {
	t.Helper()
	c := new(metric.Confidence)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDoubtsGolden checks how doubts about numbers are shown in every format.
func TestDoubtsGolden(t *testing.T) {
	for name, format := range map[string]Format{"doubts.json": Formats()[0], "doubts.csv": Formats()[1], "doubts.txt": Formats()[2]} {
		var out bytes.Buffer
		if err := format.Write(&out, doubtfulReport(t)); err != nil {
			t.Fatal(err)
		}
		compare(t, name, out.Bytes())
	}
}

// TestDoubtsLeaveAIPerf checks that doubts change nothing in what AIPerf's
// readers look at: the blocks of the metrics and the first tables of the CSV file.
func TestDoubtsLeaveAIPerf(t *testing.T) {
	sure := doubtfulReport(t)
	for i := range sure.Results {
		m := &sure.Results[i]
		m.Confidence, m.RelError, m.Bin = nil, 0, 0
	}
	var with, without bytes.Buffer
	for out, r := range map[*bytes.Buffer]*Report{&with: doubtfulReport(t), &without: sure} {
		if err := writeJSON(out, r); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	for _, m := range members(t, without.Bytes()) {
		want[m.name] = compact(t, m.value)
	}
	for _, m := range members(t, with.Bytes()) {
		if m.name != "statistics" && compact(t, m.value) != want[m.name] {
			t.Errorf("%s = %s, without doubts %s", m.name, compact(t, m.value), want[m.name])
		}
	}
	if _, ok := want["statistics"]; ok {
		t.Error("statistics are written without any doubt")
	}
	with.Reset()
	without.Reset()
	for out, r := range map[*bytes.Buffer]*Report{&with: doubtfulReport(t), &without: sure} {
		if err := writeCSV(out, r); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(with.String(), without.String()+"\r\n") {
		t.Errorf("the first tables differ:\n%s\nwithout doubts:\n%s", with.String(), without.String())
	}
}
