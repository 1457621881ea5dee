package flags

import (
	"encoding/json"
	"testing"
)

// The standard variables stand for what options and the document leave out.
func TestOTelVariables(t *testing.T) {
	type env = map[string]string
	for _, tt := range []struct {
		name string
		env  env
		argv []string
		want string // url, protocol, timeout, compression, headers, attributes
	}{
		{"nothing", nil, nil, "- - 10s gzip {} {}"},
		{"no collector", env{"OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, nil, "- - 10s gzip {} {}"},
		{"all signals", env{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318"}, nil, "http://h:4318 - 10s gzip {} {}"},
		{"all signals, with a path", env{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h/otlp/"}, nil, "http://h/otlp/v1/metrics - 10s gzip {} {}"},
		{"metrics", env{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:1", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m/x"}, nil, "http://m/x - 10s gzip {} {}"},
		{"an option goes first", env{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"}, []string{"--otel-url", "o"}, "http://o - 10s gzip {} {}"},
		{"switched off", env{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_SDK_DISABLED": "TRUE"}, nil, "- - 10s gzip {} {}"},
		{"no exporter", env{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_METRICS_EXPORTER": "none"}, nil, "- - 10s gzip {} {}"},
		{"everything", env{
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
			"OTEL_EXPORTER_OTLP_HEADERS": "a=b%20c, authorization=Bearer%20x", "OTEL_RESOURCE_ATTRIBUTES": "team=x,zone=y", "OTEL_SERVICE_NAME": "s, t",
		}, []string{"--otel-url", "h", "--otel-resource-attributes", "team=mine", "host=n1,n2"},
			`http://h grpc 2.5s none {"a":"b c","authorization":"Bearer x"} {"host":"n1,n2","service.name":"s, t","team":"mine","zone":"y"}`},
		{"traces", env{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/x"}, nil, "- - 10s gzip {} {}"},
		{"headers of traces", env{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=b"}, []string{"--otel-traces-url", "t"}, `- - 10s gzip {"a":"b"} {}`},
		{"timeout of AIPerf", env{"AIPERF_OTEL_REQUEST_TIMEOUT_SECONDS": "3"}, []string{"--otel-url", "h"}, "http://h - 3s gzip {} {}"},
	} {
		d, _, err := flagsDocument(t, tt.env, tt.argv...)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		o := &d.Benchmark.OTel
		u, protocol := "-", "-"
		if o.MetricsURL != nil {
			u = o.MetricsURL.Reveal()
		}
		if o.Protocol != nil {
			protocol = *o.Protocol
		}
		headers, attributes := map[string]string{}, map[string]string{}
		for name, value := range o.Headers {
			headers[name] = value.Reveal()
		}
		for name, value := range o.Attributes {
			attributes[name] = value.Reveal()
		}
		h, _ := json.Marshal(headers)
		a, _ := json.Marshal(attributes)
		if got := u + " " + protocol + " " + o.Timeout.Duration().String() + " " + o.Compression + " " + string(h) + " " + string(a); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct{ name, value, want string }{
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "OTEL_EXPORTER_OTLP_TIMEOUT: must be a whole number of milliseconds"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a", "OTEL_EXPORTER_OTLP_HEADERS: must be name=value pairs with commas between them, their values escaped as in URLs"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "OTEL_EXPORTER_OTLP_PROTOCOL http/json: must be http/protobuf or grpc"},
	} {
		_, _, err := flagsDocument(t, map[string]string{tt.name: tt.value}, "--otel-url", "h")
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s=%s: %v, want %s", tt.name, tt.value, err, tt.want)
		}
	}
}

// Variables of one signal do not count for the other.
func TestOTelVariablesOfTraces(t *testing.T) {
	d, _, err := flagsDocument(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/x"})
	if err != nil || d.Benchmark.OTel.TracesURL == nil || d.Benchmark.OTel.TracesURL.Reveal() != "http://t/x" {
		t.Errorf("%v, %v; want the collector of the variable", d, err)
	}
	d, _, err = flagsDocument(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/x", "OTEL_TRACES_EXPORTER": "none"})
	if err != nil || d.Benchmark.OTel.TracesURL != nil {
		t.Errorf("%v, %v; want no collector", d, err)
	}
	_, _, err = flagsDocument(t, map[string]string{"OTEL_EXPORTER_OTLP_METRICS_HEADERS": "a=b"}, "--otel-url", "h", "--otel-traces-url", "t")
	const want = "OTEL_EXPORTER_OTLP_METRICS_HEADERS: must not be given if metrics and spans are sent: both have the same settings; " +
		"give OTEL_EXPORTER_OTLP_HEADERS"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestStream(t *testing.T) {
	for _, tt := range []struct {
		value           string
		metrics, timing bool
	}{{"metrics", true, false}, {"timing", false, true}, {"default", true, true}, {"metrics,timing", true, true}} {
		d, _, err := flagsDocument(t, nil, "--otel-url", "h", "--stream", tt.value)
		if err != nil {
			t.Fatal(err)
		}
		if o := &d.Benchmark.OTel; o.StreamMetrics != tt.metrics || o.StreamTiming != tt.timing {
			t.Errorf("--stream %s: metrics %t, timing %t", tt.value, o.StreamMetrics, o.StreamTiming)
		}
	}
}

// AIPerf's options for MLflow.
func TestMLflow(t *testing.T) {
	d, _, err := flagsDocument(t, map[string]string{"MLFLOW_TRACKING_TOKEN": "secret"}, "--mlflow-tracking-uri", "http://u:p@h:5000",
		"--mlflow-experiment", "e", "--mlflow-run-name", "n", "--mlflow-tag", "team:a,zone:b", "note:x, y", "--mlflow-parent-run-id", "p",
		"--mlflow-artifact-glob", "*.json,*.csv", "plots/*.png")
	if err != nil {
		t.Fatal(err)
	}
	m := &d.Benchmark.MLflow
	tags := map[string]string{}
	for name, value := range *m.Tags {
		tags[name] = value.Reveal()
	}
	text, _ := json.Marshal(tags)
	if m.TrackingURI.Reveal() != "http://u:p@h:5000" || m.Experiment != "e" || *m.RunName != "n" || *m.ParentRunID != "p" ||
		len(m.Globs) != 3 || m.Token.Reveal() != "secret" || string(text) != `{"note":"x, y","team":"a","zone":"b"}` {
		t.Errorf("%+v, tags %s", m, text)
	}
	if _, _, err := flagsDocument(t, nil, "--mlflow-run-name", "n"); err == nil || err.Error() != "--mlflow-run-name: needs the URL of an MLflow server (--mlflow-tracking-uri)" {
		t.Errorf("without a server: %v", err)
	}
}
