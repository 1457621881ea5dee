package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of the examples have no faults of form.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/grafana/dashboards/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	files = append(files, "../../examples/prometheus/recording.yml", "../../examples/prometheus/alerts.yml")
	if err := run(t.Context(), append([]string{"-offline"}, files...), io.Discard); err != nil {
		t.Error(err)
	}
}

func TestSelectors(t *testing.T) {
	tests := map[string][]string{
		`up{job="a"} == 0`: {`up{job="a"}`},
		`aiperfd_x > 0 unless on (job) (aiperf_run_state{state=~"a|b"} == 1)`: {"aiperfd_x", `aiperf_run_state{state=~"a|b"}`},
		`run:aiperf_x:ratio < 0.95`:                            {"run:aiperf_x:ratio"},
		`sum(increase(process_x[5m])) > go_y`:                  {"process_x", "go_y"},
		`aiperfd_tls_certificate_expiry_timestamp_seconds < 1`: nil,
	}
	for expr, want := range tests {
		if got := selectors(expr); !slices.Equal(got, want) {
			t.Errorf("selectors(%s) = %q, want %q", expr, got, want)
		}
	}
}

// Each fault of a dashboard is reported.
func TestFaults(t *testing.T) {
	const good = `{"uid": "u", "title": "t", "schemaVersion": 39,
		"templating": {"list": [{"name": "datasource", "type": "datasource"}, {"name": "run", "type": "query", "definition": "label_values(aiperf_run_info, run_id)"}]},
		"panels": [{"id": 1, "type": "stat", "title": "p", "description": "d", "datasource": {"uid": "${datasource}"},
			"gridPos": {"x": 0, "y": 0, "w": 6, "h": 4}, "fieldConfig": {"defaults": {"unit": "s"}},
			"targets": [{"refId": "A", "expr": "up{run=~\"$run\"}", "datasource": {"uid": "${datasource}"}}]}]}`
	tests := []struct{ name, old, new, want string }{
		{name: "none"},
		{"variable", `$run\"`, `$model\"`, "the variable $model is not defined"},
		{"unit", `"unit": "s"`, `"unit": ""`, "unit are needed"},
		{"data source", `"datasource": {"uid": "${datasource}"}}]`, `"datasource": {"uid": "mine"}}]`, "needs a refId"},
		{"grid", `"w": 6`, `"w": 25`, "outside of the grid"},
		{"kind", `"stat"`, `"graph"`, `type "graph"`},
		{"query", `label_values(aiperf_run_info, run_id)`, `run_id`, "want label_values"},
		{"result", `label_values(aiperf_run_info, run_id)`, `query_result(aiperf_run_info)`, "takes no value and text"},
		{"closed row", `"targets": [`, `"panels": [{"id": 0}], "targets": [`, "used twice"},
		{"id", `"id": 1`, `"id": 0`, "used twice"},
		{"schema", "39", "16", "schemaVersion"},
		{"no expression", `up{run=~\"$run\"}`, "", "no expression"},
	}
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), "d.json")
		text := good
		if tt.want != "" {
			text = strings.Replace(good, tt.old, tt.new, 1)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := run(t.Context(), []string{"-offline", file}, io.Discard)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// An empty answer, NaN and a refusal are faults; of an alert, only the refusal is, but its
// selectors need series.
func TestAnswers(t *testing.T) {
	answers := map[string]string{
		"aiperf_value":        `{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"2"]}]}}`,
		"aiperf_histogram":    `{"status":"success","data":{"resultType":"vector","result":[{"histogram":[1,{"count":"1","sum":"2"}]}]}}`,
		"aiperf_nan":          `{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"NaN"]}]}}`,
		"aiperf_bad":          `{"status":"error","errorType":"bad_data","error":"parse error"}`,
		"aiperf_value > 5":    `{"status":"success","data":{"resultType":"vector","result":[]}}`,
		"aiperf_nothing > 5":  `{"status":"success","data":{"resultType":"vector","result":[]}}`,
		"aiperf_nothing":      `{"status":"success","data":{"resultType":"vector","result":[]}}`,
		"aiperf_value > aand": `{"status":"error","errorType":"bad_data","error":"parse error"}`,
	}
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := answers[r.FormValue("query")]
		if strings.Contains(text, "error") {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, text)
	}))
	defer prometheus.Close()
	tests := []struct{ kind, expr, want string }{
		{"record", "aiperf_value", ""},
		{"record", "aiperf_histogram", ""},
		{"record", "aiperf_nan", "empty answer"},
		{"record", "aiperf_nothing", "empty answer"},
		{"record", "aiperf_bad", "parse error"},
		{"alert", "aiperf_value > 5", ""},
		{"alert", "aiperf_nothing > 5", "empty answer"},
		{"alert", "aiperf_value > aand", "parse error"},
	}
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), "rules.yml")
		name := "aiperf_value"
		text := fmt.Sprintf("groups: [{name: g, rules: [{%s: %s, expr: '%s'}]}]\n", tt.kind, name, tt.expr)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := run(t.Context(), []string{"-url", prometheus.URL, file}, io.Discard)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s: %v, want %q", tt.kind, tt.expr, err, tt.want)
		}
	}
}
