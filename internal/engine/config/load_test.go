package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/sweep"
)

var compareDocuments = cmp.Options{cmpopts.IgnoreUnexported(Document{}), cmpopts.EquateEmpty()}

func mustLoad(t testing.TB, doc string, o LoadOptions) (*Document, []problem.Problem) {
	t.Helper()
	d, warnings, err := Load([]byte(doc), o)
	if err != nil {
		t.Fatalf("Load: %v\n%s", err, doc)
	}
	return d, warnings
}

func TestLoadWhole(t *testing.T) {
	const doc = `
schema_version: 2.0
randomSeed: 0
metadata: {name: nightly, labels: {gpu: h100}, notes: "x"}
benchmark:
  models: {strategy: weighted, items: [{name: a, weight: 0.25}, {name: b, weight: 0.75}]}
  endpoint:
    urls: [h1, "https://h2/v1"]
    type: COMPLETIONS
    path: ""
    api_key: k
    timeout: 5 min
    connectTimeout: 3
    first_byte_timeout: 1m
    idleTimeout: 2s
    streaming: true
    connection_reuse: Sticky_User_Sessions
    useLegacyMaxTokens: true
    useServerTokenCount: true
    streamUsage: true
    headers: {X-Tenant: blue}
    extra: {z: 1.50, a: {c: [1, null], b: "x"}}
    session_header: X-S
    tlsVerify: false
  datasets:
  - name: d
    type: synthetic
    entries: 10.0
    random_seed: 9
    sampling: shuffle
    prompts: {isl: {mean: 100, median: 80, max: 4e2}, osl: {points: [{value: 8, weight: 1}, {value: 9, weight: 3}]}, batch_size: 2, corpus: random}
    prefix_prompts: {pool_size: 2, length: 30}
    turns: {peaks: [{mean: 1, stddev: 0.5, weight: 1}, {mean: 6, weight: 2}], min: 1}
    turn_delay: {mean: 0.5, stddev: 0.1}
    turnDelayRatio: 0
    interTurnDelayCapSeconds: 90
  phases:
  - {name: warmup, requests: 5, concurrency: 2}
  - {name: main, kind: profiling, type: gamma, rate: 2.5, smoothness: 0.5, duration: 1h, grace_period: inf, sessions: 7, concurrency: 9, failedRequestThreshold: 0.25}
  artifacts: {dir: out, prefix: foo, raw: true}
  slos: {time_to_first_token: 200, goodness: 1.5}
  tokenizer: {name: builtin, revision: v1}
  runtime: {ui: none, apiPort: 8080, statsInterval: 0}
  logging: {level: debug}
`
	want := &Document{
		SchemaVersion: "2.0", RandomSeed: new(int64(0)),
		Metadata: Metadata{Name: "nightly", Labels: map[string]string{"gpu": "h100"}, Notes: "x"},
		MultiRun: sweep.NewMultiRun(),
		Benchmark: Benchmark{
			Models: Models{Strategy: "weighted", Items: []Model{{"a", new(0.25)}, {"b", new(0.75)}}},
			Endpoint: Endpoint{
				URLs: []secret.URL{secret.NewURL("http://h1"), secret.NewURL("https://h2/v1")}, URLStrategy: "round_robin", Type: "completions", Path: new(""),
				APIKey: secret.New("k"), Timeout: 300, ConnectTimeout: 3, FirstByteTimeout: 60, IdleTimeout: 2, Streaming: true,
				URLAffinity: "session", AuthStyle: "type", HTTPVersion: "1.1", IPVersion: "auto", AffinityHeaders: []string{"X-Session-Affinity"},
				WaitForModelInterval: 5, WaitForModelMode: "inference",
				ConnectionReuse: "sticky-user-sessions", UseLegacyMaxTokens: true, UseServerTokenCount: true, Preconnect: true, StreamUsage: true,
				Headers: map[string]secret.Text{"X-Tenant": secret.New("blue")}, SessionHeader: new("X-S"),
				Extra: Object{{Name: "z", Value: json.RawMessage("1.50")}, {Name: "a", Value: json.RawMessage(`{"c":[1,null],"b":"x"}`)}},
			},
			Datasets: []Dataset{{
				Name: "d", Type: "synthetic", Entries: 10, RandomSeed: new(int64(9)), Sampling: "shuffle",
				Prompts: Prompts{
					ISL:       Distribution{Mean: new(100.0), Median: new(80.0), Max: new(400.0)},
					OSL:       Distribution{Points: []schema.Point{{Value: 8, Weight: 1}, {Value: 9, Weight: 3}}},
					BatchSize: 2, Corpus: "random", CacheBust: CacheBust{Target: "none"}, RandomCorpusStyle: "vllm",
				},
				PrefixPrompts: PrefixPrompts{PoolSize: 2, Length: 30},
				Turns:         Distribution{Min: new(1.0), Peaks: []schema.Peak{{Distribution: Distribution{Mean: new(1.0), Stddev: 0.5}, Weight: 1}, {Distribution: Distribution{Mean: new(6.0)}, Weight: 2}}},
				TurnDelay:     Distribution{Mean: new(0.5), Stddev: 0.1}, DelayCap: new(Seconds(90)),
			}},
			Phases: []Phase{
				{Name: "warmup", Kind: "warmup", Type: "concurrency", ExcludeFromResults: true, Requests: new(int64(5)), Concurrency: new(2), GracePeriod: new(Seconds(math.Inf(1)))},
				{Name: "main", Kind: "profiling", Type: "gamma", Sessions: new(int64(7)), Duration: new(Seconds(3600)), GracePeriod: new(Seconds(math.Inf(1))),
					Concurrency: new(9), Rate: new(2.5), Smoothness: new(0.5), FailedRequestThreshold: new(0.25)},
			},
			Artifacts:     Artifacts{Dir: "out", Prefix: new("foo"), Level: "raw", RecordFormat: "jsonl", KeepRecords: "all", Summary: true},
			SLOs:          map[string]float64{"time_to_first_token": 200, "goodness": 1.5},
			Tokenizer:     Tokenizer{Name: "builtin", Revision: "v1"},
			GPUTelemetry:  GPUTelemetry{Enabled: true, Collector: "dcgm", Mode: "summary", Interval: 0.333},
			ServerMetrics: ServerMetrics{Enabled: true, Formats: []string{"json", "csv"}, Interval: 1}, NetworkLatency: NetworkLatency{PingInterval: 1},
			Path:    Path{Enabled: true},
			Runtime: Runtime{UI: "none", APIPort: new(8080), APIHost: new("127.0.0.1"), StatsInterval: new(Seconds(0))},
			Logging: Logging{Level: "DEBUG"},
			Client:  Client{Certify: "none"},
			OTel:    plainOTel(),
			MLflow:  MLflow{Experiment: "aiperf"},
		},
	}
	got, warnings := mustLoad(t, doc, LoadOptions{Choices: someChoices()})
	if diff := cmp.Diff(want, got, compareDocuments); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
	if len(warnings) != 0 {
		t.Errorf("warnings = %v, want none", warnings)
	}
}

func TestLoadDefaults(t *testing.T) {
	got, _ := mustLoad(t, `{"benchmark": {"model": "org/m", "phases": {"duration": 60}}}`, LoadOptions{Choices: someChoices()})
	want := Benchmark{
		Models: Models{Strategy: "round_robin", Items: []Model{{Name: "org/m"}}},
		Endpoint: Endpoint{URLs: []secret.URL{secret.NewURL("http://localhost:8000")}, URLStrategy: "round_robin", Type: "chat", Timeout: 21600,
			URLAffinity: "session", AuthStyle: "type", HTTPVersion: "1.1", IPVersion: "auto", AffinityHeaders: []string{"X-Session-Affinity"},
			WaitForModelInterval: 5, WaitForModelMode: "inference",
			ConnectTimeout: 10, ConnectionReuse: "pooled", Preconnect: true, StreamUsage: true, TLSVerify: true},
		Datasets: []Dataset{{Name: "main", Type: "synthetic", Entries: 100_000, Sampling: "sequential", TurnDelayRatio: 1,
			Prompts: Prompts{
				ISL: Distribution{Mean: new(550.0)}, BatchSize: 1, Corpus: "sonnet", CacheBust: CacheBust{Target: "none"},
				RandomCorpusStyle: "vllm",
			},
			Turns: Distribution{Mean: new(1.0)}, TurnDelay: Distribution{Mean: new(0.0)}}},
		Phases: []Phase{{Name: "profiling", Kind: "profiling", Type: "concurrency", Duration: new(Seconds(60)),
			GracePeriod: new(Seconds(30)), Concurrency: new(1)}},
		Artifacts:     Artifacts{Dir: "artifacts", Level: "records", RecordFormat: "jsonl", KeepRecords: "all", Summary: true},
		Tokenizer:     Tokenizer{Name: "org/m", Revision: "main"},
		GPUTelemetry:  GPUTelemetry{Enabled: true, Collector: "dcgm", Mode: "summary", Interval: 0.333},
		ServerMetrics: ServerMetrics{Enabled: true, Formats: []string{"json", "csv"}, Interval: 1}, NetworkLatency: NetworkLatency{PingInterval: 1},
		Path:    Path{Enabled: true},
		Runtime: Runtime{UI: "dashboard"},
		Logging: Logging{Level: "INFO"},
		Client:  Client{Certify: "none"},
		OTel:    plainOTel(),
		MLflow:  MLflow{Experiment: "aiperf"},
	}
	if diff := cmp.Diff(want, got.Benchmark, compareDocuments); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
	var defaulted []string
	for _, d := range got.Defaulted() {
		defaulted = append(defaulted, fmt.Sprintf("%s=%v (%s)", d.Pointer, d.Value, d.Reason))
	}
	wantDefaulted := []string{
		"#/benchmark/datasets/0/type=synthetic (no dataset is given)",
		"#/benchmark/phases/0/name=profiling (the kind of the phase)",
		"#/benchmark/datasets/0/entries=100000 (the number of requests depends on the server)",
		"#/benchmark/phases/0/type=concurrency (no rate is given)",
		"#/benchmark/phases/0/concurrency=1 (a phase without a rate is driven by its concurrency)",
		"#/benchmark/phases/0/gracePeriod=30 (the phase has a duration)",
		"#/benchmark/tokenizer/name=org/m (the name of the model)",
		"#/benchmark/runtime/ui=dashboard (none is given; without a terminal it is none)",
	}
	if diff := cmp.Diff(wantDefaulted, defaulted); diff != "" {
		t.Errorf("Defaulted (-want +got):\n%s", diff)
	}
}

// Each pair has the same meaning.
func TestShorthands(t *testing.T) {
	const rest = ", phases: [{name: profiling, kind: profiling, requests: 200}]}"
	rows := []struct{ name, short, long string }{
		{"model", "benchmark: {model: m" + rest, "benchmark: {models: {items: [{name: m}]}" + rest},
		{"models list", "benchmark: {models: [m, {name: n}]" + rest, "benchmark: {models: {items: [{name: m}, {name: n}]}" + rest},
		{"one url", "benchmark: {model: m, endpoint: {url: h}" + rest, "benchmark: {model: m, endpoint: {urls: [http://h]}" + rest},
		{"dataset", "benchmark: {model: m, dataset: {entries: 3}" + rest, "benchmark: {model: m, datasets: [{name: default, entries: 3}]" + rest},
		{"lengths", "benchmark: {model: m, datasets: [{isl: 3, osl: {mean: 4}}]" + rest, "benchmark: {model: m, datasets: [{prompts: {isl: {mean: 3}, osl: 4}}]" + rest},
		{"one phase", "benchmark: {model: m, phases: {requests: 200}}", "benchmark: {model: m" + rest},
		{"named phases", "benchmark: {model: m, profiling: {requests: 200}, warmup: {requests: 2}}",
			"benchmark: {model: m, phases: [{name: warmup, requests: 2}, {name: profiling, requests: 200}]}"},
		{"durations", "benchmark: {model: m, phases: {duration: 90s, gracePeriod: 2 min}}", "benchmark: {model: m, phases: {duration: 90, grace_period: 120.0}}"},
		{"bare section", "model: m\nphases: [{requests: 200}]", "benchmark: {model: m" + rest},
		{"flat file", "model: m\nrandom_seed: 4\ndataset: {name: main}\nphases: [{requests: 200}]", "randomSeed: 4\nbenchmark: {model: m" + rest},
		{"merge key", "benchmark: {model: m, phases: [&a {name: warmup, requests: 2, concurrency: 4}, {<<: *a, name: profiling}]}",
			"benchmark: {model: m, phases: [{name: warmup, requests: 2, concurrency: 4}, {name: profiling, requests: 2, concurrency: 4}]}"},
		{"summary", "benchmark: {model: m, artifacts: {summary: [json]}" + rest, "benchmark: {model: m, artifacts: {summary: true}" + rest},
		{"level", "benchmark: {model: m, artifacts: {level: summary}" + rest, "benchmark: {model: m, artifacts: {records: false}" + rest},
		{"rate without a type", "benchmark: {model: m, phases: {requests: 200, rate: 3}}", "benchmark: {model: m, phases: {type: poisson, requests: 200, rate: 3}}"},
		{"page of metrics", "benchmark: {model: m, serverMetrics: 'h:9/metrics'" + rest, "benchmark: {model: m, serverMetrics: {urls: ['http://h:9/metrics']}" + rest},
		{"pages of metrics", "benchmark: {model: m, serverMetrics: ['http://g', 'http://h']" + rest, "benchmark: {model: m, serverMetrics: {urls: ['http://g', 'http://h']}" + rest},
		{"one format of metrics", "benchmark: {model: m, serverMetrics: {urls: 'http://g', formats: JSONL}" + rest, "benchmark: {model: m, serverMetrics: {urls: ['http://g'], formats: [jsonl]}" + rest},
		{"switched off", "benchmark: {model: m, gpuTelemetry: {enabled: false}, otel: {}, accuracy: null, unsafeOverride: false, server_metrics: false" + rest, "benchmark: {model: m, gpuTelemetry: {enabled: false}, serverMetrics: {enabled: false}" + rest},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			short, _ := mustLoad(t, row.short, LoadOptions{Choices: someChoices()})
			long, _ := mustLoad(t, row.long, LoadOptions{Choices: someChoices()})
			if diff := cmp.Diff(long, short, compareDocuments); diff != "" {
				t.Errorf("short form (-long +short):\n%s", diff)
			}
		})
	}
}

func TestSubstitution(t *testing.T) {
	env := map[string]string{"RATE": "2.5", "STREAM": "true", "KEY": "sk-very-secret", "HOST": "h", "MODEL": "7"}
	o := LoadOptions{Choices: someChoices(), LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	d, _ := mustLoad(t, `benchmark:
  model: ${MODEL}
  endpoint: {url: "http://${HOST}:${PORT:80}/", streaming: "${STREAM}", apiKey: "${KEY}", headers: {X-Id: "a-${KEY}"}}
  phases: {requests: 200, rate: "${RATE}"}`, o)
	e := d.Benchmark.Endpoint
	got := []any{d.Benchmark.Models.Items[0].Name, e.URLs[0].Reveal(), e.Streaming, e.APIKey.Reveal(), *d.Benchmark.Phases[0].Rate}
	if diff := cmp.Diff([]any{"7", "http://h:80/", true, "sk-very-secret", 2.5}, got); diff != "" {
		t.Errorf("substituted (-want +got):\n%s", diff)
	}
	if want := []string{"h", "sk-very-secret"}; !cmp.Equal(d.Secrets(), want) {
		t.Errorf("Secrets() = %q, want %q", d.Secrets(), want)
	}
}

func TestUntrusted(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "in.jsonl"), []byte(`{"text":"a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "secret.jsonl")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "images"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	o := LoadOptions{Choices: someChoices(), Untrusted: true, DataRoots: []string{root}, AllowEnv: []string{"OK"},
		LookupEnv:    func(name string) (string, bool) { return "value-of-" + name, true },
		LookupSecret: func(name string) (string, bool) { return "secret-" + name, name == "hf" }}
	const phases = ", model: m, phases: {requests: 200}}"
	rows := []struct{ name, doc, want string }{
		{"file", "benchmark: {dataset: {type: file, path: in.jsonl}" + phases, ""},
		{"absolute file", "benchmark: {dataset: {type: file, path: " + filepath.Join(root, "in.jsonl") + "}" + phases, ""},
		{"outside", "benchmark: {dataset: {type: file, path: " + outside + "}" + phases, "#/benchmark/dataset/path file-not-allowed"},
		{"dots", "benchmark: {dataset: {type: file, path: ../x}" + phases, "#/benchmark/dataset/path file-not-allowed"},
		{"link", "benchmark: {dataset: {type: file, path: link.jsonl}" + phases, "#/benchmark/dataset/path file-not-allowed"},
		{"prompt file", "benchmark: {dataset: {systemPromptFile: /etc/passwd}" + phases, "#/benchmark/dataset/systemPromptFile file-not-allowed"},
		{"tokenizer file", "benchmark: {tokenizer: {name: /etc/passwd}" + phases, "#/benchmark/tokenizer/name file-not-allowed"},
		{"allowed variable", "benchmark: {tokenizer: {name: '${OK}'}" + phases, ""},
		{"variable", "benchmark: {tokenizer: {name: '${HOME:x}'}" + phases, "#/benchmark/tokenizer/name env-not-allowed"},
		{"secret", "benchmark: {endpoint: {apiKey: '${secret:hf}'}" + phases, ""},
		{"unknown secret", "benchmark: {endpoint: {apiKey: '${secret:x}'}" + phases, "#/benchmark/endpoint/apiKey secret-not-found"},
		{"secret as a number", "benchmark: {tokenizer: {name: '${secret:hf}'}" + phases, "#/benchmark/tokenizer/name not-allowed"},
		{"secret in a label", "metadata: {labels: {a: '${secret:hf}'}}\nbenchmark: {tokenizer: {name: builtin}" + phases, "#/metadata/labels/a not-allowed"},
		{"secret host", "benchmark: {endpoint: {url: 'http://${secret:hf}/'}" + phases, "#/benchmark/endpoint/url out-of-range"},
		{"secret password", "benchmark: {endpoint: {url: 'http://u:${secret:hf}@h/'}" + phases, ""},
		{"derived secret", "variables: {k: '${secret:hf}'}\nbenchmark: {endpoint: {headers: {X: '{{ k }}'}}" + phases, ""},
		{"derived name", "variables: {k: '${secret:hf}'}\nbenchmark: {tokenizer: {name: '{{ k }}'}" + phases, "#/benchmark/tokenizer/name not-allowed"},
		{"folder", "benchmark: {dataset: {images: {source: images}}" + phases, ""},
		{"absolute folder", "benchmark: {dataset: {images: {source: " + filepath.Join(root, "images") + "}}" + phases, ""},
		{"folder outside", "benchmark: {dataset: {images: {source: " + filepath.Dir(outside) + "}}" + phases, "#/benchmark/dataset/images/source file-not-allowed"},
		{"folder behind a link", "benchmark: {dataset: {images: {source: out}}" + phases, "#/benchmark/dataset/images/source file-not-allowed"},
		{"file as a folder", "benchmark: {dataset: {images: {source: in.jsonl}}" + phases, "#/benchmark/dataset/images/source file-not-allowed"},
		{"user files", "benchmark: {artifacts: {userFiles: [{path: x}]}" + phases, "#/benchmark/artifacts/userFiles not-allowed"},
		{"remote code", "benchmark: {tokenizer: {trustRemoteCode: true}" + phases, "#/benchmark/tokenizer/trustRemoteCode not-allowed"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := Load([]byte(row.doc), o)
			got := ""
			if err != nil {
				got = codes(t, err)
				if strings.Contains(err.Error(), "value-of-HOME") {
					t.Error("the message shows the environment")
				}
			}
			if got != row.want {
				t.Errorf("problems = %q, want %q", got, row.want)
			}
		})
	}
	t.Run("server-owned fields", func(t *testing.T) {
		d, warnings := mustLoad(t, "benchmark: {artifacts: {dir: /etc, overwrite: true}, runtime: {apiPort: 5, bogus: 1}, logging: {level: TRACE}, client: {strict: true, certify: after}"+phases, o)
		var got []string
		for _, w := range warnings {
			got = append(got, w.Pointer+" "+w.Code)
		}
		want := []string{"#/benchmark/artifacts/dir server-owned", "#/benchmark/artifacts/overwrite server-owned", "#/benchmark/runtime server-owned", "#/benchmark/logging server-owned", "#/benchmark/client/strict server-owned"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
		b := d.Benchmark
		if b.Artifacts.Dir != "artifacts" || b.Artifacts.Overwrite || b.Runtime != (Runtime{UI: "none"}) || b.Logging.Level != "INFO" || b.Client != (Client{Certify: "after"}) {
			t.Errorf("server-owned fields taken over, or others not: %+v %+v %+v %+v", b.Artifacts, b.Runtime, b.Logging, b.Client)
		}
	})
}

func TestWarnings(t *testing.T) {
	_, warnings := mustLoad(t, "model: m\ngpu_telemetry: {mode: realtime_dashboard}\nruntime: {workers: 4}\nphases: {requests: 9}", LoadOptions{Choices: someChoices()})
	var got []string
	for _, w := range warnings {
		got = append(got, w.Pointer+" "+w.Code)
	}
	want := []string{"# deprecated-field", "#/gpu_telemetry/mode no-effect", "#/runtime/workers no-effect", "#/phases/requests short-run"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestUsageUnasked: options that an API implies give a warning.
func TestUsageUnasked(t *testing.T) {
	for _, kind := range []string{"responses", "anthropic"} {
		_, warnings := mustLoad(t, `benchmark: {model: m, endpoint: {type: `+kind+`, streaming: true, useServerTokenCount: true, streamUsage: false, useLegacyMaxTokens: true},
  dataset: {type: synthetic}, phases: [{name: profiling, type: concurrency, requests: 200}]}`, LoadOptions{Choices: someChoices()})
		var got []string
		for _, w := range warnings {
			got = append(got, w.Pointer+" "+w.Code)
		}
		if diff := cmp.Diff([]string{"#/benchmark/endpoint/useLegacyMaxTokens no-effect"}, got); diff != "" {
			t.Errorf("warnings for %s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestSecrets(t *testing.T) {
	d, _ := mustLoad(t, `benchmark: {model: m, phases: {requests: 200}, endpoint: {url: "http://user:pass@h/?api_key=Q&x=1", apiKey: KEY,
		headers: {Authorization: Bearer T, X-Plain: visible}, extra: {password: PW, nested: {token: TOK}, temperature: 1}}}`, LoadOptions{Choices: someChoices()})
	want := []string{"Bearer T", "KEY", "PW", "Q", "TOK", "dXNlcjpwYXNz", "pass", "user", "user:pass"}
	if got := d.Secrets(); !slices.Equal(got, want) {
		t.Errorf("Secrets() = %q, want %q", got, want)
	}
}

func TestMalformedIsNotInvalid(t *testing.T) {
	_, _, err := Load([]byte(`{"benchmark": `), LoadOptions{Choices: someChoices(), Format: JSON})
	if err == nil || err.Error() != "read configuration: line 1, column 15: unexpected end of the document" {
		t.Errorf("error = %v", err)
	}
	if _, ok := errors.AsType[*problem.Invalid](err); ok {
		t.Error("a syntax error is *Invalid")
	}
}

// TestRepeats: the short form is the same study as its long form, and its trials have seeds and warm-ups
// of their own.
func TestRepeats(t *testing.T) {
	const base = "randomSeed: 7\nbenchmark: {models: [m], phases: [{name: warmup, requests: 5}, {name: main, kind: profiling, requests: 200}]}\n"
	doc, _, err := Load([]byte(base+"repeats: {stat: p95, precision: 0.02, max: 8}"), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	study := doc.Study()
	if study == nil || doc.Repeats != nil {
		t.Fatalf("study %v, repeats %v", study, doc.Repeats)
	}
	m := study.MultiRun
	want := sweep.NewMultiRun()
	want.NumRuns, want.VarySeedPerTrial, want.DisableWarmupAfterFirst = 8, true, false
	want.Convergence = &sweep.Convergence{
		Metric: "request_latency", Stat: "p95", Mode: sweep.Precise, Threshold: new(0.02), MinRuns: 3,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("the study differs (-want +got):\n%s", diff)
	}
	first, _, err1 := study.Cell(&study.Variations[0], 0)
	second, _, err2 := study.Cell(&study.Variations[0], 1)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if *first.RandomSeed == *second.RandomSeed || len(second.Benchmark.Phases) != 2 {
		t.Errorf("seeds %d and %d, %d phases", *first.RandomSeed, *second.RandomSeed, len(second.Benchmark.Phases))
	}
}

// TestCapacitySeed: a search for a capacity has one seed, which either of the two settings gives; without one it is
// drawn when the document is compiled, and not AIPerf's 42.
func TestCapacitySeed(t *testing.T) {
	const base = `benchmark: {models: [m], slos: {request_latency: 500}, profiling: {concurrency: 1, duration: 20}}
sweep: {type: adaptive_search, planner: capacity, searchSpace: [{path: concurrency, lo: 2, hi: 200, kind: int}]`
	for _, c := range []struct {
		name, text string
		want       *int64
		problem    string
	}{
		{"none", base + "}", nil, ""},
		{"of the document", "randomSeed: 7\n" + base + "}", new(int64(7)), ""},
		{"of the search", base + ", randomSeed: 8}", new(int64(8)), ""},
		{"the same twice", "randomSeed: 7\n" + base + ", randomSeed: 7}", new(int64(7)), ""},
		{"two seeds", "randomSeed: 7\n" + base + ", randomSeed: 8}", nil, "has one seed, from which those of its probes follow; randomSeed is 7"},
	} {
		doc, _, err := Load([]byte(c.text), LoadOptions{Choices: someChoices()})
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v, want %q", c.name, err, c.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, doc.RandomSeed); diff != "" || doc.Study().SeedGiven() != strings.HasPrefix(c.text, "randomSeed") {
			t.Errorf("%s: given %v, seed (-want +got):\n%s", c.name, doc.Study().SeedGiven(), diff)
		}
	}
}

// TestQuestionSeed: repeats until a mean is precise and pairs of two servers have a seed drawn for each question, unless
// the document gives one or asks for AIPerf's.
func TestQuestionSeed(t *testing.T) {
	const runs = "benchmark: {models: [m], profiling: {concurrency: 1, requests: 20}}\n"
	const pairs = `benchmark: {models: [m], endpoint: {url: "http://a"}, profiling: {type: poisson, rate: 5}}
sweep: {type: ab, b: {endpoint: {url: "http://b"}}}
`
	for _, c := range []struct {
		name, text string
		want       *int64
	}{
		{"precision", runs + "repeats: {precision: 0.05}", nil},
		{"precision, given", "randomSeed: 7\n" + runs + "repeats: {precision: 0.05}", new(int64(7))},
		{"precision, AIPerf's", runs + "repeats: {precision: 0.05}\nmultiRun: {setConsistentSeed: true}", new(int64(42))},
		{"plain repeats", runs + "multiRun: {numRuns: 3}", new(int64(42))},
		{"pairs", pairs, nil},
		{"pairs, given", "randomSeed: 7\n" + pairs, new(int64(7))},
	} {
		doc, _, err := Load([]byte(c.text), LoadOptions{Choices: someChoices()})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, doc.RandomSeed); diff != "" {
			t.Errorf("%s: seed (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestDesigns: each design has defaults of its own, and says what it cannot do.
func TestDesigns(t *testing.T) {
	const text = `benchmark: {models: [m], endpoint: {url: "http://a"}, profiling: {type: poisson, rate: 5%s}}
sweep: {type: ab, b: {endpoint: {url: "http://b"}}%s}
`
	for _, c := range []struct {
		name, phase, sweep string
		design             string
		load, block        float64
		problem            string
	}{
		{"default", "", "", "mirror", 1800, 5, ""},
		{"mirror with a ramp", ", rateRamp: 5", "", "mirror", 1800, 5, ""},
		{"crossover", "", ", design: crossover", "crossover", 7200, 30, ""},
		{"crossover, given", "", ", design: crossover, blockSeconds: 10, maxLoadSeconds: 900", "crossover", 900, 10, ""},
		{"split", "", ", design: split", "split", 1800, 5, ""},
		{"short turns", "", ", design: crossover, blockSeconds: 7", "", 0, 0,
			"a turn of the design crossover has 40 arrivals or more on average; 5 per second for 7 s are 35"},
		{"crossover with a ramp", ", rateRamp: 5", ", design: crossover", "", 0, 0,
			"the design crossover compares servers at a constant load"},
		{"unknown", "", ", design: duel", "", 0, 0, "mirror, crossover or split"},
	} {
		doc, _, err := Load(fmt.Appendf(nil, text, c.phase, c.sweep), LoadOptions{Choices: someChoices()})
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v, want %q", c.name, err, c.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if s := doc.Sweep; s.Design != c.design || s.MaxLoadSeconds != c.load || s.BlockSeconds != c.block {
			t.Errorf("%s: design %s, %v s in blocks of %v s", c.name, s.Design, s.MaxLoadSeconds, s.BlockSeconds)
		}
	}
}
