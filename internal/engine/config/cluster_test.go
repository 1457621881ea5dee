package config

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/problem"
)

func TestCluster(t *testing.T) {
	d, _ := mustLoad(t, "benchmark: {model: m, phases: [{requests: 200}], cluster: {workers: 3}}", LoadOptions{Choices: someChoices()})
	want := &Cluster{Workers: 3, OnWorkerLost: "abort", JoinTimeout: 60, LostAfter: 10}
	if diff := cmp.Diff(want, d.Benchmark.Cluster); diff != "" || d.Source() == nil {
		t.Errorf("cluster (-want +got):\n%s\nsource %s", diff, d.Source())
	}
	for name, tt := range map[string]struct {
		rest string
		want []string
	}{
		"no number": {"cluster: {onWorkerLost: abort}", []string{"cluster/workers"}},
		"phases": {
			"cluster: {workers: 2}, phases: [{kind: profiling, name: a, requests: 200}, " +
				"{kind: profiling, name: b, requests: 200, seamless: true}]",
			[]string{"phases/1/seamless"},
		},
		"files": {
			"cluster: {workers: 2}, artifacts: {level: raw, keepRecords: failures, recordFormat: parquet, exportOutputsJson: true}",
			[]string{"artifacts/exportOutputsJson", "artifacts/keepRecords", "artifacts/level", "artifacts/recordFormat"},
		},
		"telemetry": {
			`cluster: {workers: 2}, networkLatency: {enabled: true}, otel: {metricsUrl: h, tracesUrl: h}, mlflow: {trackingUri: "http://h"}, client: {certify: before}`,
			[]string{
				"client/certify", "mlflow/trackingUri", "networkLatency/enabled", "otel/metricsUrl", "otel/tracesUrl",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := "benchmark: {model: m, " + tt.rest
			if !strings.Contains(text, "phases:") {
				text += ", phases: [{requests: 200}]"
			}
			_, _, err := Load([]byte(text+"}"), LoadOptions{Choices: someChoices(), Format: YAML})
			invalid, ok := errors.AsType[*problem.Invalid](err)
			if !ok {
				t.Fatalf("no problem: %v", err)
			}
			var got []string
			for _, p := range invalid.Problems {
				pointer := strings.TrimPrefix(p.Pointer, "#/benchmark/")
				got = append(got, strings.TrimSuffix(pointer, "/0"))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// TestSource: load generators get a document without what the controller alone does.
func TestSource(t *testing.T) {
	doc, _, err := Load([]byte(`
benchmark:
  model: m
  endpoint: {url: "http://server"}
  cluster: {workers: 2}
  dataset: {type: synthetic}
  serverMetrics: {urls: ["http://operator:CANARY@metrics:9090/metrics"]}
  gpuTelemetry: {urls: ["http://gpus:9400/metrics"]}
  gates: {failOnFinding: [kv-full]}
  profiling: {type: concurrency, concurrency: 4, requests: 30}
`), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	source := string(doc.Source())
	for _, part := range []string{"CANARY", "serverMetrics", "gpuTelemetry", "gates", "kv-full"} {
		if strings.Contains(source, part) {
			t.Errorf("the document of the parts has %q: %s", part, source)
		}
	}
	if !strings.Contains(source, "http://server") || doc.Benchmark.Gates.FailOnFinding == nil {
		t.Errorf("source %s, gates %+v", source, doc.Benchmark.Gates)
	}
}
