package study

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/results"
)

// The values of requests are read from lines and from Parquet, under any prefix; a torn line
// is left out.
func TestReadSamples(t *testing.T) {
	options := export.RecordOptions{
		Clock: bench.ClockAt(time.Unix(1e9, 0)), Secrets: redact.NewSet(), Metrics: measure.Options{Caps: bench.Caps{ProducesTokens: true}},
		Phases: []export.PhaseName{{Name: "warmup", Kind: bench.Warmup, ProfilingIndex: -1}, {Index: 1, Name: "profiling", Kind: bench.Profiling}},
	}
	var lines, table bytes.Buffer
	asLines := export.NewRecordWriter(&lines, options)
	asTable, err := export.NewTableWriter(&table, options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r := &bench.Record{Phase: min(i, 1), SessionNum: int64(i), Turns: 1, Status: 200}
		r.Stamps.Start = time.Duration(i) * time.Second
		r.Stamps.Due, r.Stamps.Permit, r.Stamps.End = r.Stamps.Start, r.Stamps.Start, r.Stamps.Start+time.Duration(i+1)*time.Millisecond
		r.Answer.Chunks = []bench.Chunk{{At: r.Stamps.End}}
		if i == 2 {
			r.Answer.Failure = &bench.Failure{Class: bench.ServerError, Status: 500, Message: "x"}
		}
		if err := errors.Join(asLines.Write(r), asTable.Write(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(asLines.Flush(), asTable.Close()); err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{"request_latency": {2, 4, 5}}
	for _, prefix := range []string{"", "nightly"} {
		names := export.NamesFor(prefix)
		for name, data := range map[string][]byte{names.Records: append(lines.Bytes(), `{"metadata":{"ph`...), names.Tables: table.Bytes()} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
			got := readSamples(results.Open(dir, prefix), []string{"request_latency", "time_to_first_token"})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if got := readSamples(results.Open(t.TempDir(), prefix), []string{"request_latency"}); len(got) != 0 {
			t.Errorf("without records: %v", got)
		}
	}
}

// The percentiles that a run has too few requests for are named.
func TestMetricsOfUnsupported(t *testing.T) {
	r := metric.Result{Def: &catalogue.Def{Tag: "request_latency", Unit: "ms"}, Count: 30, Confidence: &metric.Confidence{Unsupported: []metric.Stat{metric.P95, metric.P99}}}
	r.Set(metric.P50, 10)
	r.Set(metric.P99, 20)
	if got := metricsOf(metric.Results{r})[0].Unsupported; !slices.Equal(got, []string{"p99"}) {
		t.Errorf("unsupported = %q, want p99 alone, the one that has a value", got)
	}
}
