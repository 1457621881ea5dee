package openapi_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/openapi"
)

// schema returns the schema of request bodies that are documents.
func schema(t *testing.T) *openapi3.Schema {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapi.JSON)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/runs", "/api/run", "/api/validate"} {
		content := doc.Paths.Find(path).Post.RequestBody.Value.Content
		for _, media := range []string{"application/json", "application/yaml", "application/x-yaml", "text/yaml"} {
			if content[media] == nil || content[media].Schema.Ref != "#/components/schemas/config.Document" {
				t.Errorf("POST %s, %s: the body has not the schema of documents", path, media)
			}
		}
	}
	return doc.Components.Schemas["config.Document"].Value
}

// value reads YAML as the schema sees it.
func value(t *testing.T, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// load reports whether a loader takes a document.
func load(text string) error {
	_, _, err := config.Load([]byte(text), config.LoadOptions{Choices: plan.Choices(), Format: config.YAML, LookupEnv: func(name string) (string, bool) {
		return map[string]string{"USERS": "8", "STREAM": "true", "KEY": "k"}[name], name != "MISSING"
	}})
	return err
}

func TestExamplesMatchSchema(t *testing.T) {
	s := schema(t)
	files, err := filepath.Glob("../examples/bench*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("examples %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.VisitJSON(value(t, string(text))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestDocumentsOfTestsMatchSchema: of the texts in other tests, those that a loader
// takes are documents by the schema.
func TestDocumentsOfTestsMatchSchema(t *testing.T) {
	s := schema(t)
	seen := 0
	// The schema has each choice in its own spelling only; 4e2 is a text for the
	// reader of YAML below.
	spelling := strings.NewReplacer("4e2", "400", "COMPLETIONS", "completions", "Sticky_User_Sessions", "sticky-user-sessions", "level: debug", "level: DEBUG")
	for _, text := range testTexts(t) {
		text = spelling.Replace(text)
		if load(text) != nil {
			continue
		}
		seen++
		if err := s.VisitJSON(value(t, text)); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", text, err)
		}
	}
	if seen < 20 {
		t.Errorf("only %d documents were tried", seen)
	}
}

// testTexts returns the files of scripts and the string literals of Go tests that
// may be documents.
func testTexts(t *testing.T) []string {
	t.Helper()
	scripts, errA := filepath.Glob("../cmd/aiperfd/testdata/script/*.txtar")
	sources, errB := filepath.Glob("../internal/engine/config/*_test.go")
	more, errC := filepath.Glob("../internal/engine/config/compat/*_test.go")
	if err := errors.Join(errA, errB, errC); err != nil {
		t.Fatal(err)
	}
	sources = append(sources, more...)
	var texts []string
	for _, file := range scripts {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range archive.Files {
			texts = append(texts, string(part.Data))
		}
	}
	for _, file := range sources {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, "phases") {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	return texts
}

// TestResolvedMatchesSchema: what the API shows of a run can be submitted again.
func TestResolvedMatchesSchema(t *testing.T) {
	s := schema(t)
	for _, text := range []string{
		"{model: m, profiling: {requests: 1}, warmup: {duration: 5s, rate: 3}}",
		"{model: m, dataset: {type: file, records: [{text: a}]}, phases: [{type: gamma, rate: 2, duration: 1 min}]}",
		"{model: m, endpoint: {type: rerank}, phases: {requests: 3}}",
		"{model: m, dataset: {type: synthetic, images: {batchSize: 1}, audio: {batchSize: 2}}, phases: {sessions: 3}}",
	} {
		doc, _, err := config.Load([]byte(text), config.LoadOptions{Choices: plan.Choices(), Format: config.YAML})
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(config.Resolved(doc))
		if err != nil {
			t.Fatal(err)
		}
		if err := load(string(out)); err != nil {
			t.Errorf("the loader refuses the resolved document of %s: %v", text, err)
		}
		if err := s.VisitJSON(value(t, string(out))); err != nil {
			t.Errorf("the schema refuses the resolved document of %s: %v\n%s", text, err, out)
		}
	}
}

// TestAcceptedMatchSchema: the schema accepts the short forms that a loader does.
func TestAcceptedMatchSchema(t *testing.T) {
	s := schema(t)
	for _, text := range accepted() {
		if err := load(text); err != nil {
			t.Errorf("the loader refuses %s: %v", text, err)
		}
		if err := s.VisitJSON(value(t, text)); err != nil {
			t.Errorf("the schema refuses %s: %v", text, err)
		}
	}
}

func accepted() []string {
	const phases = ", phases: {requests: 5}"
	return []string{
		"{benchmark: {model: m" + phases + "}}",
		"{model: m" + phases + "}",
		"{models: m" + phases + "}",
		"{models: [a, {name: b}]" + phases + "}",
		"{models: {strategy: weighted, items: [{name: a, weight: 0.5}, {name: b, weight: 0.5}]}" + phases + "}",
		"{models: {strategy: random, items: [m, n]}" + phases + "}",
		"{schemaVersion: 2.0, random_seed: 7, metadata: {name: n, labels: {a: b}}, benchmark: {model: m" + phases + "}}",
		"{schema_version: \"2.0\", model: m" + phases + "}",
		"{model: null, endpoint: null, slos: null" + phases + "}",
		"{endpoint: {url: localhost:8000, url_strategy: random, timeout: 5 min}" + phases + "}",
		"{endpoint: {urls: [a, b], connect_timeout: 2.5, idle_timeout: \"30s\"}" + phases + "}",
		"{endpoint: {reset_kv_cache: true, serverProfiler: {enabled: true, start_path: /s}}" + phases + "}",
		"{endpoint: {resetKvCache: {timeoutSeconds: 3}, serverProfiler: false}" + phases + "}",
		"{endpoint: {type: openai-chat, headers: {a: b}, extra: {x: [1, {y: null}]}, transport: http}" + phases + "}",
		"{endpoint: {url: https://h, http_version: 2, tls: {minVersion: 1.3}}" + phases + "}",
		"{endpoint: {template: {body: '{\"a\": 1}'}}" + phases + "}",
		"{endpoint: {streaming: \"${STREAM}\", apiKey: \"${KEY}\"}, phases: {concurrency: \"${USERS}\", requests: \"${MISSING:10}\"}}",
		"{dataset: {isl: 100, osl: {mean: 20, stddev: 5, min: 1, max: null}}" + phases + "}",
		"{dataset: {prompts: {isl: {mean: 100, median: 50}, osl: {points: [{value: 1, weight: 2}]}}}" + phases + "}",
		"{dataset: {prompts: {sequence_distribution: [{isl: 9, isl_stddev: 1, osl: {mean: 5, median: 4}, probability: 100}]}}" + phases + "}",
		"{dataset: {prompts: {isl: 9, osl: 9, randomRangeRatio: 0.5}}" + phases + "}",
		"{dataset: {prompts: {isl: 9, osl: 9, randomRangeRatio: '0.5'}}" + phases + "}",
		"{dataset: {prompts: {isl: 9, osl: 9, randomRangeRatio: {input: 0.5, output: 0}}}" + phases + "}",
		"{datasets: [{turns: {peaks: [{mean: 1, weight: 1}, {mean: 3, stddev: 1, weight: 0.5}]}, turn_delay: 0}]" + phases + "}",
		"{dataset: {type: file, records: [{text: a}], osl: 10}" + phases + "}",
		"{dataset: {audio: {depths: [16, 24], sample_rates: [8, 44100]}, images: {width: 16384}}" + phases + "}",
		"{warmup: {requests: 2}, profiling: {duration: 1h, grace_period: inf}}",
		"{phases: [{rate: 5, smoothness: 2, duration: 10, gracePeriod: 0, failed_request_threshold: 0.5}]}",
		"{endpoint: {streaming: true}, phases: {requests: 5, concurrency: 4, concurrency_ramp: 30, prefillConcurrency: 2, prefill_ramp: 2 min}}",
		"{phases: {requests: 5, rate: 4, rateRamp: {duration: 3, strategy: exponential}, exclude_ramp: true}}",
		"{phases: {requests: 5, rate_series: [{time_s: 0, qps: 5}, {timeS: 1.5, qps: 2}]}}",
		"{phases: {requests: 5, rateSeries: {points: [{time_s: 0, qps: 5}, {timeS: 1.5, qps: 2}]}}}",
		"{phases: [{requests: 10.0}], artifacts: {records: false}, client: {certify: true}}",
		"{artifacts: {records: [jsonl], raw: true, summary: [json]}" + phases + "}",
		"{gpuTelemetry: {enabled: false}, server_metrics: null, otel: {}, runtime: {workers: 8}" + phases + "}",
		"{slos: {request_latency: 5.5}, logging: {level: DEBUG}, tokenizer: {name: builtin, apply_chat_template: false}" + phases + "}",
	}
}

// TestRefusedBySchema: one wrong name, type, choice or number is enough for both.
func TestRefusedBySchema(t *testing.T) {
	s := schema(t)
	for _, text := range refused() {
		if load(text) == nil {
			t.Errorf("the loader accepts %s", text)
		}
		if s.VisitJSON(value(t, text)) == nil {
			t.Errorf("the schema accepts %s", text)
		}
	}
}

func refused() []string {
	const phases = ", phases: {requests: 5}"
	in := func(section string) string { return "{" + section + phases + "}" }
	return []string{
		// Names.
		in("modle: m"), "{benchmark: {model: m" + phases + "}, extra: 1}", "{benchmark: {model: m" + phases + "}, model: m}",
		in("endpoint: {adress: x}"), in("endpoint: {tls: {ca: x}}"), in("endpoint: {jobs: {interval: 1}}"),
		in("dataset: {islands: 1}"), in("dataset: {prompts: {isl: {mean: 5, sd: 1}}}"), in("dataset: {images: {size: 1}}"),
		"{phases: [{requests: 5, colour: red}]}", "{profiling: {requests: 5, x: 1}}",
		in("artifacts: {level: raw, raw_records: 1}"), in("tokenizer: {names: x}"), in("metadata: {title: x}"),
		in("models: {items: [{name: m, size: 8}]}"), in("dataset: {turns: {points: [{value: 1, weight: 1, mean: 2}]}}"),
		in("endpoint: {resetKvCache: {on: true}}"), in("client: {strictness: 1}"),
		// Types.
		"[1]", "{benchmark: null}", "{benchmark: [1]}", in("model: 5"), in("models: [5]"), in("models: {items: {name: m}, strategy: 5}"),
		in("endpoint: x"), in("endpoint: {url: 5}"), in("endpoint: {urls: [5]}"), in("endpoint: {streaming: yes please}"),
		in("endpoint: {streaming: 1}"), in("endpoint: {timeout: soon}"), in("endpoint: {timeout: [1]}"), in("endpoint: {timeout: inf}"),
		in("endpoint: {headers: [a]}"), in("endpoint: {headers: {a: 1}}"), in("endpoint: {extra: text}"), in("endpoint: {apiKey: 5}"),
		in("endpoint: {resetKvCache: 1}"), in("dataset: x"), in("dataset: {entries: 1.5}"), in("dataset: {entries: ten}"),
		in("dataset: {isl: ten}"), in("dataset: {isl: [1]}"), in("dataset: {isl: {mean: x}}"), in("dataset: {turns: {peaks: {mean: 1}}}"),
		in("dataset: {type: file, records: text}"), in("dataset: {type: file, records: [text]}"), in("dataset: {audio: {depths: 16}}"),
		"{phases: 5}", "{phases: [5]}", "{phases: {requests: ten}}", "{phases: {requests: 2.5}}", "{phases: {requests: [1, 2]}}",
		"{phases: {rate: fast, requests: 5}}", "{phases: {duration: long}}", "{phases: {duration: 5 weeks}}", "{warmup: 5, profiling: {requests: 1}}",
		in("slos: [1]"), in("slos: {request_latency: fast}"), in("metadata: {labels: {a: 1}}"), in("metadata: {labels: [a]}"),
		in("runtime: {apiPort: x}"), in("client: {strict: 1}"), in("randomSeed: x"), in("randomSeed: 1.5"), in("artifacts: {dir: 5}"),
		in("artifacts: {records: true}"), in("artifacts: {raw: 1}"), in("tokenizer: builtin"),
		// Choices.
		in("schemaVersion: \"3.0\""), in("schemaVersion: 3.0"), in("models: {strategy: first, items: [m]}"), in("endpoint: {type: chatty}"),
		in("endpoint: {urlStrategy: least}"), in("endpoint: {connectionReuse: some}"), in("endpoint: {httpVersion: 3}"),
		in("endpoint: {httpVersion: \"3\"}"), in("endpoint: {authStyle: basic}"), in("endpoint: {waitForModelMode: all}"),
		in("endpoint: {tls: {minVersion: 1.1}}"), in("endpoint: {jobs: {runpodMode: fast}}"), in("dataset: {type: private}"),
		in("dataset: {sampling: best}"), in("dataset: {prompts: {corpus: poems}}"), in("dataset: {images: {format: gif}}"),
		in("dataset: {audio: {format: mp3}}"), in("dataset: {audio: {depths: [12]}}"), "{phases: {type: burst, requests: 5}}",
		"{phases: {kind: cooldown, name: c, requests: 5}}", in("artifacts: {level: most}"), in("artifacts: {records: [csv]}"),
		in("runtime: {ui: web}"), in("logging: {level: LOUD}"), in("client: {certify: twice}"), in("endpoint: {transport: grpc}"),
		in("gpuTelemetry: {enabled: false, collector: other}"), in("sweep: {type: random}"), in("accuracy: {benchmark: mmlu}"),
		// Ranges.
		in("randomSeed: -1"), in("endpoint: {timeout: 0}"), in("endpoint: {timeout: -1}"), in("endpoint: {connectTimeout: -1}"),
		in("endpoint: {idleTimeout: -0.5}"), in("endpoint: {waitForModelInterval: 0}"), in("endpoint: {urls: []}"),
		in("endpoint: {unixSocket: ''}"), in("endpoint: {apiKeyFile: ''}"), in("models: {items: [{name: ''}]}"),
		in("endpoint: {template: {body: ''}}"), in("endpoint: {template: {}}"), in("endpoint: {template: {body: null}}"),
		in("models: {items: [{weight: 1}]}"), in("models: [{name: null}]"), in("datasets: []"), in("datasets: [{}, {}]"), in("dataset: {entries: 0}"),
		in("dataset: {isl: 0}"), in("dataset: {isl: {mean: 0.5}}"), in("dataset: {isl: {mean: 5, stddev: -1}}"),
		in("dataset: {isl: {mean: 5, median: 0}}"), in("dataset: {isl: {mean: 5, min: -1}}"), in("dataset: {isl: {peaks: []}}"),
		in("dataset: {isl: {peaks: [{mean: 5}]}}"), in("dataset: {isl: {peaks: [{mean: 5, weight: 0}]}}"),
		in("dataset: {isl: {points: [{value: 0, weight: 1}]}}"), in("dataset: {isl: {points: [{weight: 1}]}}"),
		in("dataset: {turnDelay: -1}"), in("dataset: {turnDelayRatio: -1}"), in("dataset: {prompts: {batchSize: 0}}"),
		in("dataset: {images: {width: 20000}}"), in("dataset: {audio: {length: 20000}}"), in("dataset: {audio: {channels: 3}}"),
		in("dataset: {audio: {sampleRates: [500000]}}"), in("dataset: {audio: {depths: []}}"), in("dataset: {type: file, records: []}"),
		in("dataset: {prefixPrompts: {poolSize: -1}}"), in("dataset: {prefixPrompts: {sharedSystemLength: 0}}"),
		"{phases: []}", "{phases: {requests: 0}}", "{phases: {sessions: 0}}", "{phases: {duration: 0}}", "{phases: {concurrency: 0, requests: 1}}",
		"{phases: {rate: 0, requests: 1}}", "{phases: {type: gamma, rate: 1, smoothness: 0, requests: 1}}",
		"{phases: {requests: 1, failedRequestThreshold: 1.5}}", "{phases: {duration: 5, gracePeriod: -1}}",
		in("runtime: {apiPort: 0}"), in("runtime: {apiPort: 70000}"), in("runtime: {statsInterval: 2000}"), in("artifacts: {dir: ''}"),
	}
}

// Members of the resources of our own have one style, and none is a count of nanoseconds,
// which a double cannot hold.
func TestOwnResources(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(openapi.JSON)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	checked := 0
	for _, schema := range []string{
		"wire.Run", "wire.RunList", "wire.RunProgress", "wire.Queue", "wire.Session", "wire.Validation", "wire.Version", "wire.Timeseries", "wire.Band",
		"wire.Errors", "wire.Cancel", "wire.Patch", "wire.Problem", "wire.Health", "run.Summary", "run.ClientVerdict", "compare.Comparison",
		"compare.Run", "compare.Metric", "compare.Value",
	} {
		ref := doc.Components.Schemas[schema]
		if ref == nil {
			t.Errorf("no schema %s", schema)
			continue
		}
		for member := range ref.Value.Properties {
			checked++
			if !name.MatchString(member) || strings.HasSuffix(member, "_ns") {
				t.Errorf("%s has a member %s", schema, member)
			}
		}
	}
	if checked < 100 {
		t.Errorf("checked %d members only", checked)
	}
}
