package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// goodDocument is the base of the generator of malformed documents.
const goodDocument = `{
"schemaVersion":"2.0","randomSeed":7,"metadata":{"name":"n","labels":{"team":"blue"},"notes":"x"},
"benchmark":{
"models":{"strategy":"round_robin","items":[{"name":"m"}]},
"endpoint":{"urls":["http://127.0.0.1:9"],"type":"chat","streaming":true,"timeout":30,"connectTimeout":5,"connectionReuse":"pooled",
 "useServerTokenCount":false,"headers":{"X-Tenant":"blue"},"apiKey":"sk-0123456789abcdef","path":"/v1/x","tlsVerify":true},
"datasets":[{"name":"main","type":"synthetic","entries":10,"randomSeed":3,"sampling":"shuffle",
 "prompts":{"isl":{"mean":20,"stddev":2},"osl":{"mean":5},"batchSize":1,"corpus":"sonnet"},
 "turns":{"mean":2},"turnDelay":{"mean":1},"turnDelayRatio":1,"prefixPrompts":{"poolSize":2,"length":4}}],
"phases":[
 {"name":"warmup","kind":"warmup","type":"concurrency","concurrency":1,"requests":1},
 {"name":"profiling","kind":"profiling","type":"gamma","rate":5,"smoothness":2,"duration":60,"gracePeriod":5,"concurrency":8,"failedRequestThreshold":0.5}],
"artifacts":{"level":"records"},
"slos":{"time_to_first_token":200},
"tokenizer":{"name":"builtin","revision":"main"}}}`

// malformed is a document that must be refused, and how it is sent.
type malformed struct {
	name, contentType string
	body              []byte
	want              []int // statuses
}

// generator generates malformed documents. The same seed generates the same ones.
type generator struct {
	t    *testing.T
	rand *rand.Rand
	out  []malformed
}

func (g *generator) add(name, contentType string, body []byte, want ...int) {
	g.out = append(g.out, malformed{name, contentType, body, want})
}

// document parses the good document anew.
func (g *generator) document() map[string]any {
	g.t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(goodDocument), &doc); err != nil {
		g.t.Fatal(err)
	}
	return doc
}

// changed adds the good document after a change, in JSON or, every third time,
// in YAML (of which JSON is a part).
func (g *generator) changed(name string, change func(doc map[string]any)) {
	g.t.Helper()
	doc := g.document()
	change(doc)
	body, err := json.Marshal(doc)
	if err != nil {
		g.t.Fatal(err)
	}
	contentType := "application/json"
	if len(g.out)%3 == 2 {
		contentType = "application/yaml"
	}
	g.add(name, contentType, body, http.StatusUnprocessableEntity)
}

// leaf is a place in a document.
type leaf struct {
	path  []string
	value any
}

func (l leaf) String() string { return strings.Join(l.path, ".") }

// leaves lists all values of a document, objects and lists included, in order.
func leaves(at any, path []string) []leaf {
	var out []leaf
	switch at := at.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(at)) {
			out = append(out, leaves(at[name], append(slices.Clip(path), name))...)
		}
	case []any:
		for i, v := range at {
			out = append(out, leaves(v, append(slices.Clip(path), fmt.Sprint(i)))...)
		}
	}
	return append(out, leaf{path, at})
}

// put sets a value of a document.
func put(doc any, path []string, value any) {
	for i, name := range path {
		last := i == len(path)-1
		switch in := doc.(type) {
		case map[string]any:
			if last {
				in[name] = value
			}
			doc = in[name]
		case []any:
			var n int
			fmt.Sscan(name, &n) // the path was made from this list
			if last {
				in[n] = value
			}
			doc = in[n]
		}
	}
}

// wrongTypes replaces values with values of other types.
func (g *generator) wrongTypes() {
	for _, l := range leaves(g.document(), nil) {
		if len(l.path) == 0 {
			continue
		}
		wrong := []any{map[string]any{"zz": true}, []any{[]any{"x"}}}
		switch l.value.(type) {
		case float64, bool:
			wrong = append(wrong, "banana", "")
		case map[string]any, []any:
			wrong = []any{true, []any{[]any{"x"}}, map[string]any{"zz": map[string]any{}}}
		}
		for _, w := range wrong {
			if free(l) {
				if _, object := w.(map[string]any); object {
					continue // names may be anything there; the values are another case
				}
			}
			g.changed(fmt.Sprintf("%s becomes %v", l, w), func(doc map[string]any) { put(doc, l.path, w) })
		}
	}
}

// free reports whether an object may have members of any name.
func free(l leaf) bool {
	return strings.HasSuffix(l.String(), "labels") || strings.HasSuffix(l.String(), "headers")
}

// unknownNames adds members that do not exist to every object.
func (g *generator) unknownNames() {
	for _, l := range leaves(g.document(), nil) {
		object, ok := l.value.(map[string]any)
		if !ok || free(l) {
			continue
		}
		names := slices.Sorted(maps.Keys(object))
		known := names[g.rand.IntN(len(names))]
		for _, name := range []string{known + "x", strings.ToUpper(known) + "_", "zz", "", "a/b~c", "\u0000", strings.Repeat("n", 5000)} {
			g.changed(fmt.Sprintf("unknown %.20q in %s", name, l), func(doc map[string]any) {
				if len(l.path) == 0 {
					doc[name] = 1
					return
				}
				put(doc, append(slices.Clip(l.path), name), 1)
			})
		}
	}
}

// ranges replaces values with values that are out of range.
func (g *generator) ranges() {
	const phase, set, end = "benchmark.phases.1.", "benchmark.datasets.0.", "benchmark.endpoint."
	for _, row := range []struct {
		path   string
		values []any
	}{
		{"schemaVersion", []any{"1.0", "3", ""}},
		{"randomSeed", []any{-1, 1.5, 1e30}},
		{"metadata.name", []any{strings.Repeat("n", 129)}},
		{"metadata.notes", []any{strings.Repeat("n", 4097)}},
		{"metadata.labels", []any{map[string]any{"": "x"}, map[string]any{strings.Repeat("k", 64): "x"}, map[string]any{"k": strings.Repeat("v", 257)}}},
		{"benchmark.models.strategy", []any{"robin", "ROUND", "weighted "}},
		{"benchmark.models.items.0.name", []any{""}},
		{end + "urls", []any{[]any{}, []any{""}, []any{"ftp://h"}, []any{"http://"}, []any{"http://h:99999"}, []any{"http://u:p w@h"}, []any{"://"}}},
		{end + "type", []any{"chats", "", "CHAT2", "embeddings"}},
		{end + "timeout", []any{0, -1, "-5s", "soon"}},
		{end + "connectTimeout", []any{-1, "x"}},
		{end + "connectionReuse", []any{"sometimes"}},
		{end + "path", []any{"v1", "/a b", "/a?b", "/a#b"}},
		{end + "apiKey", []any{"<redacted>", "a\nb", "${HOME}", "${secret:x}"}},
		{end + "headers", []any{map[string]any{"a b": "x"}, map[string]any{"X": "a\r\nY: b"}, map[string]any{"": "x"}, map[string]any{"X-Api-Key": "<redacted>"}}},
		{set + "type", []any{"synthetics", "mooncake", ""}},
		{set + "entries", []any{0, -1, 1.5, 1e300}},
		{set + "sampling", []any{"bootstrap", ""}},
		{set + "randomSeed", []any{-3}},
		{set + "prompts.isl.mean", []any{0, -1, 1e300}},
		{set + "prompts.isl.stddev", []any{-1}},
		{set + "prompts.batchSize", []any{0, -2}},
		{set + "prompts.corpus", []any{"bible"}},
		{set + "turns.mean", []any{0, -2}},
		{set + "turnDelay.mean", []any{-2}},
		{set + "turnDelayRatio", []any{-0.1}},
		{set + "prefixPrompts.poolSize", []any{-1}},
		{set + "prefixPrompts.length", []any{-1}},
		{phase + "type", []any{"fixed_schedule", "user_centric", "bursty", ""}},
		{phase + "kind", []any{"cooldown"}},
		{phase + "rate", []any{0, -1}},
		{phase + "smoothness", []any{0, -1}},
		{phase + "duration", []any{0, -1, "soon"}},
		{phase + "gracePeriod", []any{-1, "never"}},
		{phase + "concurrency", []any{0, -1, 2.5}},
		{phase + "failedRequestThreshold", []any{-0.1, 1.1}},
		{phase + "requests", []any{0, -1, 0.5}},
		{phase + "sessions", []any{0, -1}},
		{"benchmark.phases", []any{[]any{}}},
		{"benchmark.datasets", []any{[]any{}}},
		{"benchmark.artifacts.level", []any{"everything"}},
		{"benchmark.slos", []any{map[string]any{"no_such_metric": 1}, map[string]any{"time_to_first_token": "fast"}}},
	} {
		for _, v := range row.values {
			g.changed(fmt.Sprintf("%s is %.30v", row.path, v), func(doc map[string]any) { put(doc, strings.Split(row.path, "."), v) })
		}
	}
}

// conflicts are documents whose parts are valid but contradict each other.
func (g *generator) conflicts() {
	bench := func(doc map[string]any) map[string]any { return doc["benchmark"].(map[string]any) }
	phase := func(doc map[string]any, i int) map[string]any {
		return bench(doc)["phases"].([]any)[i].(map[string]any)
	}
	set := func(doc map[string]any) map[string]any {
		return bench(doc)["datasets"].([]any)[0].(map[string]any)
	}
	for name, change := range inOrder(map[string]func(map[string]any){
		"rate in a closed loop":     func(d map[string]any) { phase(d, 1)["type"] = "concurrency" },
		"no rate":                   func(d map[string]any) { delete(phase(d, 1), "rate") },
		"smoothness of poisson":     func(d map[string]any) { phase(d, 1)["type"] = "poisson" },
		"grace without duration":    func(d map[string]any) { delete(phase(d, 1), "duration"); phase(d, 1)["requests"] = 3 },
		"warm-up without end":       func(d map[string]any) { delete(phase(d, 0), "requests") },
		"same name":                 func(d map[string]any) { phase(d, 0)["name"] = "profiling" },
		"only warm-up":              func(d map[string]any) { phase(d, 1)["kind"] = "warmup" },
		"two data sets":             func(d map[string]any) { bench(d)["datasets"] = []any{set(d), set(d)} },
		"dataset and datasets":      func(d map[string]any) { bench(d)["dataset"] = set(d) },
		"model and models":          func(d map[string]any) { bench(d)["model"] = "m" },
		"url and urls":              func(d map[string]any) { bench(d)["endpoint"].(map[string]any)["url"] = "http://h" },
		"both spellings":            func(d map[string]any) { bench(d)["endpoint"].(map[string]any)["api_key"] = "sk-1" },
		"file without path":         func(d map[string]any) { bench(d)["datasets"] = []any{map[string]any{"name": "m", "type": "file"}} },
		"file of this machine":      func(d map[string]any) { set(d)["type"] = "file"; set(d)["path"] = "/etc/passwd" },
		"system prompt of a file":   func(d map[string]any) { set(d)["systemPromptFile"] = "/etc/passwd" },
		"tokenizer of this machine": func(d map[string]any) { put(d, []string{"benchmark", "tokenizer", "name"}, "/etc") },
		"code from strangers":       func(d map[string]any) { put(d, []string{"benchmark", "tokenizer", "trustRemoteCode"}, true) },
		"sweep":                     func(d map[string]any) { d["sweep"] = map[string]any{"type": "grid"} },
		"several runs":              func(d map[string]any) { d["multiRun"] = map[string]any{"numRuns": 11} },
		"variables":                 func(d map[string]any) { d["variables"] = map[string]any{"x": "{{ nowhere }}"} },
		"otel":                      func(d map[string]any) { bench(d)["otel"] = map[string]any{"metricsUrl": "ftp://h"} },
		"gpu telemetry": func(d map[string]any) {
			bench(d)["gpuTelemetry"] = map[string]any{"enabled": true, "urls": []any{"ftp://h"}}
		},
		"usage of chunks": func(d map[string]any) { put(d, []string{"benchmark", "endpoint", "perChunkUsage"}, true) },
		"weights without strategy": func(d map[string]any) {
			put(d, []string{"benchmark", "models", "items", "0", "weight"}, 0.3)
			put(d, []string{"benchmark", "models", "strategy"}, "weighted")
		},
		"no benchmark":                func(d map[string]any) { delete(d, "benchmark") },
		"no phases":                   func(d map[string]any) { delete(bench(d), "phases") },
		"user files":                  func(d map[string]any) { put(d, []string{"benchmark", "artifacts", "userFiles"}, []any{"/etc/passwd"}) },
		"environment in the address":  func(d map[string]any) { put(d, []string{"benchmark", "endpoint", "urls", "0"}, "http://${HOSTNAME}/") },
		"environment in the metadata": func(d map[string]any) { put(d, []string{"metadata", "name"}, "${PATH}") },
	}) {
		g.changed(name, change)
	}
}

// inOrder visits a table by name, so that its order is always the same.
func inOrder[V any](m map[string]V) func(func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// syntax returns texts that are not documents.
func (g *generator) syntax() {
	const bad, invalid = http.StatusBadRequest, http.StatusUnprocessableEntity
	good := []byte(goodDocument)
	for range 40 {
		n := g.rand.IntN(len(good))
		g.add(fmt.Sprintf("first %d bytes", n), "application/json", good[:n], bad)
		n = 1 + g.rand.IntN(len(good)-1)
		g.add(fmt.Sprintf("first %d bytes as YAML", n), "application/yaml", good[:n], bad)
	}
	for range 20 {
		body := bytes.Clone(good)
		at := g.rand.IntN(len(body) - 1)
		body[at] = byte(1 + g.rand.IntN(8))
		g.add(fmt.Sprintf("control character at %d", at), "application/json", body, bad)
	}
	for _, name := range []string{"benchmark", "randomSeed"} {
		twice := bytes.Replace(good, []byte(`"`+name+`":`), []byte(`"`+name+`":1,"`+name+`":`), 1)
		g.add("twice "+name, "application/json", twice, bad, invalid)
		g.add("twice "+name+" in YAML", "application/yaml", twice, bad, invalid)
	}
	for _, depth := range []int{65, 100, 1000, 20_000, 100_000} {
		for _, pair := range []string{"[]", "{}"} {
			open, shut := pair[:1], pair[1:]
			if pair == "{}" {
				open = `{"a":`
			}
			deep := strings.Repeat(open, depth) + "1" + strings.Repeat(shut, depth)
			body := bytes.Replace(good, []byte(`"tlsVerify":true`), []byte(`"extra":{"x":`+deep+`}`), 1)
			g.add(fmt.Sprintf("%d deep %s", depth, pair), "application/json", body, bad, invalid)
			g.add(fmt.Sprintf("%d deep %s in YAML", depth, pair), "application/yaml", body, bad, invalid)
		}
	}
	for _, number := range []string{"1e400", "-1e400", strings.Repeat("9", 400), "9223372036854775808", "0x10", "1_000", "01", ".5", "NaN", "Infinity", "1e", "--1"} {
		for _, name := range []string{`"rate":5`, `"entries":10`, `"timeout":30`} {
			if number[0] == '9' && name != `"entries":10` {
				continue // large, and allowed where fractions are
			}
			body := bytes.Replace(good, []byte(name), []byte(name[:strings.Index(name, ":")+1]+number), 1)
			g.add(name+" is "+number[:min(8, len(number))], "application/json", body, bad, invalid)
		}
	}
	for i := range 30 {
		body := make([]byte, 1+g.rand.IntN(400))
		for j := range body {
			body[j] = byte(g.rand.Uint32())
		}
		contentType := []string{"application/json", "application/yaml"}[i%2]
		g.add(fmt.Sprintf("%d random bytes", len(body)), contentType, body, bad, invalid)
	}
	for name, text := range inOrder(map[string]string{
		"empty": "", "blank": " \n", "null": "null", "list": "[]", "text": `"x"`, "number": "3", "two documents": goodDocument + "{}", "comment": "/* */ {}",
		"trailing comma": `{"benchmark":{},}`, "single quotes": `{'benchmark':{}}`, "not UTF-8": "{\"benchmark\":{\"model\":\"\xff\xfe\"}}", "empty object": "{}",
	}) {
		g.add(name, "application/json", []byte(text), bad, invalid)
	}
	for name, text := range inOrder(map[string]string{
		"tab": "benchmark:\n\tmodel: m\n", "two documents": "benchmark: {}\n---\nbenchmark: {}\n", "bad anchor": "benchmark: *nowhere\n",
		"laughs": "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nbenchmark: [*e,*e,*e]\n",
		"itself": "benchmark: &a {x: *a}\n", "tag": "benchmark: !!python/object/apply:os.system [ls]\n", "indent": "benchmark:\n    model: m\n  endpoint: x\n",
		"key of a list": "? [a, b]\n: 1\n", "open quote": "benchmark: \"m\n", "twice": "benchmark: {model: m}\nbenchmark: {model: m}\n", "nothing": "# nothing\n",
	}) {
		g.add("YAML "+name, "application/yaml", []byte(text), bad, invalid)
	}
}

// wrapping adds requests whose media type or size is wrong.
func (g *generator) wrapping() {
	good := []byte(goodDocument)
	for _, contentType := range []string{"", "text/plain", "application/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "nonsense", "application/jsonx"} {
		g.add("media type "+contentType, contentType, good, http.StatusUnsupportedMediaType)
	}
	for _, contentType := range []string{"application/json", "application/yaml"} {
		big := bytes.Replace(good, []byte(`"notes":"x"`), []byte(`"notes":"`+strings.Repeat("x", 2<<20)+`"`), 1)
		g.add("2 MiB "+contentType, contentType, big, http.StatusRequestEntityTooLarge)
	}
}

// malformedDocuments returns at least n documents.
func malformedDocuments(t *testing.T, n int) []malformed {
	t.Helper()
	g := &generator{t: t, rand: rand.New(rand.NewPCG(2026, 1))}
	g.wrongTypes()
	g.unknownNames()
	g.ranges()
	g.conflicts()
	g.syntax()
	g.wrapping()
	if len(g.out) < n {
		t.Fatalf("the generator made %d documents, want %d", len(g.out), n)
	}
	g.rand.Shuffle(len(g.out), func(i, j int) { g.out[i], g.out[j] = g.out[j], g.out[i] })
	return g.out
}

// TestMalformed posts hundreds of documents that cannot run to a daemon. Each is
// refused with a reason and a place, none starts anything, and the daemon is as
// well afterwards as before.
func TestMalformed(t *testing.T) {
	d := startTestDaemon(t, nil)
	if got := d.call(http.MethodPost, "/api/validate", "application/json", []byte(goodDocument)); !strings.Contains(string(got.body), `"valid":true`) {
		t.Fatalf("the good document is not: %s", got.body)
	}
	counts := map[int]int{}
	for _, m := range malformedDocuments(t, 500) {
		got := d.call(http.MethodPost, "/api/runs", m.contentType, m.body)
		counts[got.status]++
		if err := refused(m, got); err != nil {
			t.Errorf("%s (%s): %v\nrequest %.300s\nanswer %d %.600s", m.name, m.contentType, err, m.body, got.status, got.body)
		}
	}
	t.Logf("answers by status: %v", counts)
	for status, least := range map[int]int{400: 100, 413: 2, 415: 5, 422: 250} {
		if counts[status] < least {
			t.Errorf("%d answers %d, want at least %d: the generator has become too kind", counts[status], status, least)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := d.call(http.MethodGet, path, "", nil); got.status != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, got.status, got.body)
		}
	}
	if got := d.call(http.MethodGet, "/api/runs", "", nil); !strings.Contains(string(got.body), `"total":0`) {
		t.Errorf("something was started: %s", got.body)
	}
	if logs := d.logs.String(); strings.Contains(logs, "panic") || strings.Contains(logs, `"level":"error"`) {
		t.Errorf("log: %s", logs)
	}
	id := d.submit(goodDocument)
	d.call(http.MethodPost, "/api/runs/"+id+"/cancel", "application/json", []byte(`{"mode":"force"}`))
	d.finished(id)
}

// refused checks the answer to a malformed document.
func refused(m malformed, got answer) error {
	if !slices.Contains(m.want, got.status) {
		return fmt.Errorf("status %d, want one of %d", got.status, m.want)
	}
	if ct := got.header.Get("Content-Type"); ct != "application/problem+json" {
		return fmt.Errorf("content type %q", ct)
	}
	var problem struct {
		Type, Title, Detail string
		Status              int
		Errors              []struct{ Pointer, Code, Detail string }
	}
	if err := json.Unmarshal(got.body, &problem); err != nil {
		return err
	}
	if problem.Status != got.status || problem.Detail == "" || problem.Title == "" || !strings.HasPrefix(problem.Type, "urn:aiperfd:problem:") {
		return fmt.Errorf("incomplete problem")
	}
	if (got.status == http.StatusUnprocessableEntity) != (len(problem.Errors) > 0) {
		return fmt.Errorf("%d errors", len(problem.Errors))
	}
	for _, e := range problem.Errors {
		if !strings.HasPrefix(e.Pointer, "#") || e.Code == "" || e.Detail == "" {
			return fmt.Errorf("incomplete error %+v", e)
		}
	}
	return nil
}
