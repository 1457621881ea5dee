package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
)

// roundTrips are documents without secrets.
var roundTrips = []string{
	`benchmark: {model: m, phases: {requests: 200}}`,
	`benchmark: {models: [a, b], endpoint: {urls: [h1, h2], type: completions, path: /x, timeout: 5, connectTimeout: 0, idleTimeout: 3, streaming: true, streamUsage: false,
		connectionReuse: never, tlsVerify: false, headers: {X-A: b}, extra: {z: 1.50, y: {x: [1]}}, sessionHeader: X-S}, dataset: {isl: {mean: 9, stddev: 2, max: 20}, osl: {mean: 9, median: 4}},
		phases: [{kind: warmup, duration: 5}, {type: gamma, rate: 3, smoothness: 2, duration: 60, gracePeriod: inf}]}`,
	`benchmark: {model: m, dataset: {type: file, path: testdata/prompts.jsonl, osl: 5, entries: 3, interTurnDelayCapSeconds: 4, randomSeed: 0}, profiling: {type: constant, rate: 0.1, sessions: 200, concurrency: 4, failedRequestThreshold: 0},
		artifacts: {raw: true, prefix: x, dir: y}, slos: {a: 1.5}, tokenizer: {name: builtin, revision: r}, runtime: {ui: simple, apiPort: 1, apiHost: "::", statsInterval: 3, report: aiperf}, logging: {level: ERROR}, client: {strict: true}}`,
	`benchmark: {model: m, runSlos: ["p95(a) < 500ms", "a > 3"], tokenDeadline: {ttft: 200, itl: 30.5}, endpoint: {streaming: true}, profiling: {requests: 200}}`,
	`benchmark: {model: m, dataset: {cacheBust: {target: per_request}}, endpoint: {resetKvCache: {before: both}}, profiling: {requests: 200}}`,
	`benchmark: {model: m, dataset: {type: file, records: [{text: "<a&b>", n: 1.0}], cacheBust: {target: system_suffix}, systemPrompt: x}, artifacts: {records: false}, profiling: {duration: 2h}}`,
	`benchmark: {model: m, dataset: {images: {width: 30, height: {mean: 20, stddev: 5}, format: random, source: noise_smooth, batchSize: 2}, audio: {length: {points: [{value: 0.5, weight: 1}]}, depths: [8, 24], sampleRates: [8, 44100], channels: 2}}, profiling: {requests: 200}}`,
	`benchmark: {model: m, dataset: {images: {source: testdata, sourceSampling: shuffle-cycle}, audio: {batchSize: 0}}, profiling: {requests: 200}}`,
	`benchmark: {model: m, dataset: {video: {width: 30, height: 20}}, profiling: {requests: 200}}`,
	`benchmark: {model: m, dataset: {video: {batchSize: 0, duration: 2}}, profiling: {requests: 200}}`,
	`benchmark: {model: m, dataset: {video: {batch_size: 3, width: 30, height: 20, duration: 2.5, fps: 24, synth_type: grid-clock, format: MP4, codec: libx264, audio: {sample_rate: 48000, channels: 2, depth: 24}}}, profiling: {requests: 200}}`,
	`benchmark: {model: m, dataset: {turns: {peaks: [{mean: 2, weight: 1}]}, turnDelay: {points: [{value: 3.5, weight: 2}]}, turnDelayRatio: 0, prefixPrompts: {sharedSystemLength: 4, userContextLength: 5}, sampling: random}, phases: {requests: 200, concurrency: 8}}`,
	`benchmark: {model: m, dataset: {type: file, format: mooncake_trace, records: [{timestamp: 1}], replaySpeedup: 2.5, onTurnError: retry_turn, dagFailFast: true}, phases: [{kind: warmup, requests: 200}, {endOffset: 9}]}`,
	`benchmark: {model: m, dataset: {type: file, format: mooncake_trace, records: [{timestamp: 1}]}, phases: [{startOffset: 1}, {name: q, kind: profiling, type: poisson, rate: 3}]}`,
}

func TestResolvedLoadsAgain(t *testing.T) {
	for i, doc := range roundTrips {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			first, _ := mustLoad(t, doc, LoadOptions{Choices: traceChoices()})
			shown := encodeView(Resolved(first))
			second, warnings := mustLoad(t, string(shown), LoadOptions{Choices: traceChoices(), Format: JSON})
			if diff := cmp.Diff(first.Benchmark, second.Benchmark, compareDocuments); diff != "" {
				t.Errorf("benchmark (-first +second):\n%s", diff)
			}
			if again := encodeView(Resolved(second)); !bytes.Equal(shown, again) {
				t.Errorf("Resolved changed:\n%s\n%s", shown, again)
			}
			for _, w := range warnings {
				if w.Code != problem.CodeShortRun {
					t.Errorf("warning %v", w)
				}
			}
		})
	}
}

// The keys of AIPerf's GET /api/config, section by section.
func TestResolvedKeys(t *testing.T) {
	d, _ := mustLoad(t, `benchmark: {model: m, endpoint: {url: "http://u:p@h/?key=K", apiKey: k, headers: {Authorization: x, X-T: y}, extra: {api_key: v, a: 1}}, phases: {rate: 3, requests: 200}}`, LoadOptions{Choices: traceChoices()})
	root := rereadView(viewBenchmark(d))
	keys := func(n *tree.Node) string {
		var names []string
		for _, m := range n.Members {
			names = append(names, m.Name)
		}
		return strings.Join(names, " ")
	}
	rows := []struct {
		name string
		n    *tree.Node
		want string
	}{
		{"root", root, "models endpoint datasets phases artifacts slos tokenizer gpuTelemetry serverMetrics networkLatency otel mlflow wandb runtime logging metrics accuracy scenario unsafeOverride"},
		{"model", root.Get("models").Get("items").Items[0], "name weight lora modalities tokenizer"},
		{"endpoint", root.Get("endpoint"), schema.FieldAt("benchmark.endpoint").AIPerf},
		{"dataset", root.Get("datasets").Items[0], schema.FieldAt("benchmark.datasets.*").AIPerf},
		{"prompts", root.Get("datasets").Items[0].Get("prompts"), schema.FieldAt("benchmark.datasets.*.prompts").AIPerf},
		{"phase", root.Get("phases").Items[0], schema.FieldAt("benchmark.phases.*").AIPerf + rateOrder},
		{"artifacts", root.Get("artifacts"), schema.FieldAt("benchmark.artifacts").AIPerf},
		{"tokenizer", root.Get("tokenizer"), schema.FieldAt("benchmark.tokenizer").AIPerf},
		{"runtime", root.Get("runtime"), schema.FieldAt("benchmark.runtime").AIPerf},
		{"gpu", root.Get("gpuTelemetry"), "enabled urls metricsFile collector mode"},
		{"server metrics", root.Get("serverMetrics"), "enabled urls formats discovery"},
	}
	for _, row := range rows {
		if got := keys(row.n); got != row.want {
			t.Errorf("%s: keys = %s\nwant %s", row.name, got, row.want)
		}
	}
	text := string(encodeView(Resolved(d)))
	for _, want := range []string{`"urls":["http://<redacted>@h/?key=<redacted>"]`, `"headers":{"Authorization":"<redacted>","X-T":"y"}`, `"extra":{"api_key":"<redacted>","a":1}`} {
		if !strings.Contains(text, want) {
			t.Errorf("Resolved lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "apiKey") {
		t.Error("Resolved shows apiKey")
	}
}

func TestInput(t *testing.T) {
	d, _ := mustLoad(t, `{"randomSeed": 7, "benchmark": {"model": "mock", "endpoint": {"url": "http://127.0.0.1:8101", "streaming": true, "headers": {"camelCase": "x"}},
		"dataset": {"name": "main", "isl": {"mean": 60, "stddev": 20}, "osl": 30}, "warmup": {"requests": 6, "concurrency": 4}, "profiling": {"requests": 60, "concurrency": 4},
		"slos": {"time_to_first_token": 110}, "artifacts": {"raw": true}, "tokenizer": {"name": "builtin"}, "runtime": {"ui": "none"}}}`, LoadOptions{Choices: traceChoices()})
	const want = `{"models":{"items":[{"name":"mock"}]},"endpoint":{"urls":["http://127.0.0.1:8101"],"type":"chat","streaming":true,"headers":{"camelCase":"x"}},` +
		`"datasets":[{"name":"main","type":"synthetic","entries":66,"random_seed":7,"prompts":{"isl":{"mean":60,"stddev":20},"osl":{"mean":30,"stddev":0}}}],` +
		`"phases":[{"name":"warmup","kind":"warmup","type":"concurrency","exclude_from_results":true,"requests":6,"concurrency":4},` +
		`{"name":"profiling","kind":"profiling","type":"concurrency","requests":60,"concurrency":4}],` +
		`"artifacts":{"raw":true},"slos":{"time_to_first_token":110},"tokenizer":{"name":"builtin"},` +
		`"server_metrics":{"enabled":true,"urls":[],"formats":["json","csv"]},"otel":{},"mlflow":{},"wandb":{},"runtime":{"ui":"none"}}`
	if diff := cmp.Diff(want, string(encodeView(InputConfig(d)))); diff != "" {
		t.Errorf("Input (-want +got):\n%s", diff)
	}
}

// No secret of a document is shown.
func TestSecretsAreNotShown(t *testing.T) {
	const canary = "sk-canary-0123456789"
	d, _ := mustLoad(t, `{"benchmark": {"model": "m", "phases": {"duration": 60}, "endpoint": {"url": "http://user:`+canary+`@h/?token=`+canary+`",
		"apiKey": "`+canary+`", "headers": {"Authorization": "Bearer `+canary+`"},
		"proxy": "http://walter:pa55word@p:3128", "urlParams": {"api_key": "s3cretkey", "version": "v7", "n": 3}}}}`, LoadOptions{Choices: traceChoices()})
	for _, shown := range []string{string(encodeView(Resolved(d))), string(encodeView(InputConfig(d)))} {
		for _, secret := range []string{canary, fmt.Sprintf("%x", canary), "pa55word", "s3cretkey"} {
			if strings.Contains(strings.ToLower(shown), secret) {
				t.Errorf("%s is shown: %s", secret, shown)
			}
		}
	}
	shown := string(encodeView(Resolved(d)))
	if !strings.Contains(shown, `"urlParams":{"api_key":"<redacted>","n":"3","version":"v7"}`) || !strings.Contains(shown, `"proxy":"http://<redacted>@p:3128"`) {
		t.Errorf("shown: %s", shown)
	}
}

// The options of the connection survive being shown and read again.
func TestConnectionRoundTrip(t *testing.T) {
	const document = `{"benchmark": {"model": "m", "phases": {"duration": 60}, "endpoint": {
		"urls": ["https://a/v1?x=1", "https://[::1]:8000"], "urlStrategy": "random", "urlAffinity": "request", "urlParams": {"v": "7"},
		"authStyle": "both", "affinityHeaders": [], "httpVersion": 2, "tls": {"serverName": "n", "minVersion": 1.3},
		"waitForModelTimeout": "2 min", "waitForModelMode": "both", "waitForModelInterval": 1,
		"resetKvCache": true, "serverProfiler": {"enabled": true, "startPath": "/on"}}}}`
	d, _ := mustLoad(t, document, LoadOptions{Choices: traceChoices()})
	again, _ := mustLoad(t, `{"benchmark": `+string(encodeView(Resolved(d)))+`}`, LoadOptions{Choices: traceChoices()})
	again.Benchmark.Endpoint.Headers = nil // an empty object
	if diff := cmp.Diff(d.Benchmark.Endpoint, again.Benchmark.Endpoint, cmp.Comparer(secret.Text.Equal), cmp.Comparer(secret.URL.Equal)); diff != "" {
		t.Errorf("read again (-first +second):\n%s", diff)
	}
	if e := d.Benchmark.Endpoint; e.ResetKVCache == nil || e.ServerProfiler == nil || e.HTTPVersion != "2" || e.TLS.MinVersion != "1.3" || len(e.AffinityHeaders) != 0 {
		t.Errorf("endpoint = %+v", e)
	}
	off, _ := mustLoad(t, `{"benchmark": {"model": "m", "phases": {"duration": 60}, "endpoint": {"resetKvCache": false, "server_profiler": {"enabled": false}}}}`, LoadOptions{Choices: traceChoices()})
	if e := off.Benchmark.Endpoint; e.ResetKVCache != nil || e.ServerProfiler != nil {
		t.Errorf("switched off: %+v", e)
	}
}

// FuzzResolved: a document without secrets can be posted again as it is shown.
func FuzzResolved(f *testing.F) {
	for _, doc := range roundTrips {
		f.Add([]byte(doc))
	}
	f.Add([]byte(`{"benchmark":{"models":["m"],"phases":[{"requests":200}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := LoadOptions{Choices: traceChoices(), Untrusted: true, MaxBytes: 1 << 16}
		d, _, err := Load(data, o)
		if err != nil {
			return
		}
		shown := encodeView(Resolved(d))
		if bytes.Contains(shown, []byte("<redacted>")) || bytes.Contains(shown, []byte("${")) {
			return
		}
		again, _, err := Load(shown, o)
		if err != nil {
			t.Fatalf("posting back: %v\n%s", err, shown)
		}
		if d.RandomSeed != nil {
			return // it moves into the dataset
		}
		if diff := cmp.Diff(d.Benchmark, again.Benchmark, compareDocuments); diff != "" {
			t.Errorf("posting back (-first +second):\n%s", diff)
		}
	})
}

// A secret is hidden wherever it stands, but not where a word of ours is meant.
func TestResolvedHidesCopies(t *testing.T) {
	const key = "zq7canary4kd83nX"
	d, _ := mustLoad(t, `{benchmark: {model: m-`+key+`, phases: [{requests: 200}], endpoint: {apiKey: `+key+`, path: "/v1/`+key+`;token=abcdef12",
		headers: {X-Plain: "a `+key+`", X-Token: concurrency}}}}`, LoadOptions{Choices: traceChoices()})
	text := string(encodeView(Resolved(d))) + string(encodeView(InputConfig(d)))
	if strings.Contains(text, key) || strings.Contains(text, "abcdef12") {
		t.Errorf("the section shows a secret: %s", text)
	}
	if !strings.Contains(text, `"type":"concurrency"`) {
		t.Errorf("the type of the phase is hidden: %s", text)
	}
}

// Every name of a layout is that of a field, or of one that is not supported.
func TestLayouts(t *testing.T) {
	const dataset, phase = "benchmark.datasets.*", "benchmark.phases.*"
	more := map[string]string{
		dataset: " " + fileOrder + " " + publicOrder, phase: rateOrder + " users smoothness autoOffset startOffset endOffset",
	}
	for _, layout := range []struct {
		section any
		path    string
	}{
		{Benchmark{}, "benchmark"},
		{Models{}, "benchmark.models"},
		{Model{}, "benchmark.models.items.*"},
		{Endpoint{}, "benchmark.endpoint"},
		{Template{}, "benchmark.endpoint.template"},
		{Dataset{}, dataset},
		{Prompts{}, dataset + ".prompts"},
		{LengthPair{}, dataset + ".prompts.sequenceDistribution.*"},
		{PrefixPrompts{}, dataset + ".prefixPrompts"},
		{Images{}, dataset + ".images"},
		{Audio{}, dataset + ".audio"},
		{Video{}, dataset + ".video"},
		{VideoAudio{}, dataset + ".video.audio"},
		{Rankings{}, dataset + ".rankings"},
		{Synthesis{}, dataset + ".synthesis"},
		{Phase{}, phase},
		{Cancellation{}, phase + ".cancellation"},
		{Artifacts{}, "benchmark.artifacts"},
		{Tokenizer{}, "benchmark.tokenizer"},
		{Runtime{}, "benchmark.runtime"},
		{Logging{}, "benchmark.logging"},
		{Client{}, "benchmark.client"},
	} {
		row := schema.FieldAt(layout.path)
		if row.AIPerf == "" {
			t.Errorf("%s has no layout", layout.path)
		}
		for name := range strings.FieldsSeq(row.AIPerf + " " + row.Own + more[layout.path]) {
			_, _, known := schema.FieldNamed(reflect.TypeOf(layout.section), name)
			lacked := slices.ContainsFunc(row.Lacks, func(l schema.Lack) bool { return l.Name == name })
			shorter := name == "records" || name == "raw" // forms of the level
			if !known && !lacked && !shorter {
				t.Errorf("%s has no field %s", layout.path, name)
			}
		}
	}
}
