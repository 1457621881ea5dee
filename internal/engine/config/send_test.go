package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plainjson"
)

// plainOTel is the section without a collector.
func plainOTel() OTel {
	return OTel{
		StreamMetrics: true, StreamTiming: true, Timeout: 10, Compression: "gzip", Histograms: "exponential",
	}
}

func TestCollector(t *testing.T) {
	for _, tt := range []struct{ section, want string }{
		{`{}`, "<nil> "},
		{`{metricsUrl: "localhost:4318"}`, "http://localhost:4318 http/protobuf"},
		{`{metricsUrl: "https://h/custom"}`, "https://h/custom http/protobuf"},
		{`{metricsUrl: "h:4317"}`, "http://h:4317 grpc"},
		{`{metricsUrl: "h:4317", protocol: http/protobuf}`, "http://h:4317 http/protobuf"},
		{`{metricsUrl: "https://h", protocol: grpc}`, "https://h grpc"},
	} {
		d, _ := mustLoad(t, "benchmark: {model: m, phases: [{requests: 200}], otel: "+tt.section+"}", LoadOptions{Choices: someChoices()})
		u, protocol := d.Benchmark.OTel.Collector()
		if got := fmt.Sprintf("%v %s", u, protocol); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.section, got, tt.want)
		}
	}
}

func TestPropagation(t *testing.T) {
	for section, want := range map[string]string{
		`{}`:                              "none",
		`{metricsUrl: h}`:                 "none",
		`{tracesUrl: h}`:                  "sampled",
		`{propagate: all}`:                "all",
		`{tracesUrl: h, propagate: none}`: "none",
	} {
		d, _ := mustLoad(t, "benchmark: {model: m, phases: [{requests: 200}], otel: "+section+"}", LoadOptions{Choices: someChoices()})
		if got := d.Benchmark.OTel.Propagation(); got != want {
			t.Errorf("%s: %s, want %s", section, got, want)
		}
	}
}

// No form of a document shows secrets of a collector, and its headers are secret whatever they are called.
func TestCollectorSecrets(t *testing.T) {
	const document = `benchmark: {model: m, phases: [{requests: 200}], otel: {metricsUrl: "http://user:CANARY-PASSWORD@h:4318/?api_key=CANARY-QUERY", tracesUrl: "http://user:CANARY-TRACES@t:4318", ` +
		`headers: {x-honeycomb-team: CANARY-HEADER}, customResourceAttributes: {api_key: CANARY-ATTRIBUTE, team: a}}, ` +
		`mlflow: {trackingUri: "http://user:CANARY-TRACKING@m", token: CANARY-TOKEN, tags: {password: CANARY-TAG}}, ` +
		`runtime: {prometheusRemoteWrite: "http://user:CANARY-WRITE@p", pushGateway: "http://user:CANARY-PUSH@g"}}`
	d, _ := mustLoad(t, document, LoadOptions{Choices: someChoices()})
	shown, err := plainjson.Marshal(Resolved(d))
	if err != nil {
		t.Fatal(err)
	}
	draft, err := Read([]byte(document), LoadOptions{Choices: someChoices()})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"resolved": string(shown), "input config": fmt.Sprint(InputConfig(d)), "printed": fmt.Sprintf("%+v %+v %+v", d.Benchmark.OTel, d.Benchmark.MLflow, d.Benchmark.Runtime), "draft": string(draft.Text()),
	} {
		if strings.Contains(text, "CANARY") || name == "resolved" && !strings.Contains(text, `"team":"a"`) {
			t.Errorf("%s: %s", name, text)
		}
	}
	secrets := strings.Join(d.Secrets(), " ")
	for _, want := range []string{"CANARY-PASSWORD", "CANARY-QUERY", "CANARY-TRACES", "CANARY-HEADER", "CANARY-ATTRIBUTE", "CANARY-TRACKING", "CANARY-TOKEN", "CANARY-TAG", "CANARY-WRITE", "CANARY-PUSH"} {
		if !strings.Contains(secrets, want) {
			t.Errorf("Secrets() = %q, want %s among them", secrets, want)
		}
	}
}

// The collector must be an allowed target, and it gets only the secrets of its section, which no other server gets.
func TestCollectorReach(t *testing.T) {
	bound, err := allow.Parse("collector:4318")
	if err != nil {
		t.Fatal(err)
	}
	options := LoadOptions{
		Choices: someChoices(), Untrusted: true, LookupSecret: func(name string) (string, bool) { return "secret-" + name, true },
		Reach: ReachOptions{
			Targets: allow.New(allow.Options{Open: true, Own: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9090")}}),
			SecretHosts: func(name string) (allow.Patterns, bool) {
				return allow.Patterns{bound}, name == "collector"
			},
		},
	}
	for _, tt := range []struct{ name, endpoint, otel, want string }{
		{"allowed", "", `{metricsUrl: "http://collector:4318", headers: {a: "${secret:collector}"}}`, ""},
		{"metadata service", "", `{metricsUrl: "http://169.254.169.254"}`, "#/benchmark/otel/metricsUrl target-not-allowed"},
		{"this daemon", "", `{metricsUrl: "http://127.0.0.1:9090"}`, "#/benchmark/otel/metricsUrl target-not-allowed"},
		{"bound to another host", "", `{metricsUrl: "http://elsewhere:4318", headers: {a: "${secret:collector}"}}`, "#/benchmark/otel/headers/a secret-not-allowed"},
		{"traces go elsewhere", "", `{metricsUrl: "http://collector:4318", tracesUrl: "http://elsewhere:4318", headers: {a: "${secret:collector}"}}`, "#/benchmark/otel/headers/a secret-not-allowed"},
		{"in the URL of one of two", "", `{metricsUrl: "http://u:${secret:collector}@collector:4318", tracesUrl: "http://elsewhere:4318"}`, ""},
		{"traces to the metadata service", "", `{tracesUrl: "http://169.254.169.254"}`, "#/benchmark/otel/tracesUrl target-not-allowed"},
		{"of the servers", `, headers: {a: "${secret:collector}"}`, `{metricsUrl: "http://collector:4318"}`, "#/benchmark/endpoint/headers/a secret-not-allowed"},
		{"of the servers, not of the collector", `, headers: {a: "${secret:other}"}`, `{metricsUrl: "http://collector:4318"}`, ""},
	} {
		document := `benchmark: {model: m, endpoint: {urls: ["http://server"]` + tt.endpoint + `}, phases: [{requests: 200}], otel: ` + tt.otel + `}`
		_, _, err := Load([]byte(document), options)
		got := ""
		if invalid, ok := errors.AsType[*problem.Invalid](err); ok {
			got = invalid.Problems[0].Pointer + " " + invalid.Problems[0].Code
		} else if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
