package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTemplateFile: the body of a template may be in a file, as in AIPerf.
func TestTemplateFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const body = "{\n  \"prompt\": {{ text|tojson }}\n}\n"
	for name, content := range map[string]string{"t.json": body, "empty.j2": "words only"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, given, body, problem string }{
		{"beside", "./t.json", body, ""},
		{"without a folder", "t.json", body, ""},
		{"absolute", filepath.Join(here, "t.json"), body, ""},
		{"in place", `{"a": {{ text|tojson }}}`, `{"a": {{ text|tojson }}}`, ""},
		{"built in", "nv-embedqa", "nv-embedqa", ""},
		{"missing", "./x.json", "", "--extra-inputs ./x.json: no such file"},
		{"folder", ".", "", "--extra-inputs .: must be a regular file"},
		{"no template", "empty.j2", "", "--extra-inputs empty.j2: the file must hold a template of a JSON object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, _, err := flagsDocument(t, nil, "--endpoint-type", "template", "--extra-inputs", "payload_template:"+row.given)
			if got := errText(err); got != row.problem {
				t.Errorf("problem = %q, want %q", got, row.problem)
			}
			if err == nil && d.Benchmark.Endpoint.Template.Body != row.body {
				t.Errorf("body = %q, want %q", d.Benchmark.Endpoint.Template.Body, row.body)
			}
		})
	}
	const doc = "benchmark: {endpoint: {template: {body: t.json}}, model: m, phases: {requests: 200}}"
	if _, _, err := Load([]byte(doc), LoadOptions{Choices: someChoices(), Untrusted: true}); err == nil || codes(t, err) != "#/benchmark/endpoint/template/body file-not-allowed" {
		t.Errorf("a document from the API reads a file: %v", err)
	}
	d, _ := mustLoad(t, doc, LoadOptions{Choices: someChoices(), Untrusted: true, DataRoots: []string{here}})
	if d.Benchmark.Endpoint.Template.Body != body {
		t.Errorf("under a data root: body = %q", d.Benchmark.Endpoint.Template.Body)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestFormatIsDetected: without a format the first record says which it is.
func TestFormatIsDetected(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, row := range []struct{ name, first, format, problem string }{
		{"prompts", `{"text": "a"}`, "single_turn", ""},
		{"bodies", "\n" + `{"model": "m", "messages": [{"role": "user", "content": "a"}]}`, "raw_payload", ""},
		{"messages that are none", `{"messages": "a"}`, "single_turn", ""},
		{"no JSON", "words", "single_turn", ""},
		{"conversations", `{"session_id": "a", "turns": [{"text": "b"}]}`, "", "multi_turn"},
		{"trace", `{"timestamp": 0, "input_length": 5}`, "", "mooncake_trace"},
		{"inputs.json", `{"data": [{"session_id": "a"}]}`, "", "inputs_json"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := os.WriteFile("in.jsonl", []byte(row.first+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			d, _, err := flagsDocument(t, nil, "--input-file", "in.jsonl")
			want := ""
			if row.problem != "" {
				want = "--input-file: the first record looks like the format " + row.problem +
					", which is not supported by aiperfd yet; if it is another one, set the format"
			}
			if got := errText(err); got != want {
				t.Errorf("problem = %q, want %q", got, want)
			}
			if err == nil && d.Benchmark.Datasets[0].Format != row.format {
				t.Errorf("format = %q, want %q", d.Benchmark.Datasets[0].Format, row.format)
			}
		})
	}
	d, _ := mustLoad(t, "benchmark: {dataset: {type: file, records: [{messages: [{role: user, content: a}]}]}, model: m, phases: {requests: 200}}", LoadOptions{Choices: someChoices(), Untrusted: true})
	if got := d.Benchmark.Datasets[0].Format; got != "raw_payload" {
		t.Errorf("inline records: format = %q, want raw_payload", got)
	}
}

// TestNoEffect: what asks for nothing, or for what cannot matter here, is taken
// with a warning that says so.
func TestNoEffect(t *testing.T) {
	for _, row := range []struct {
		argv []string
		want string
	}{
		{[]string{"--workers-max", "4"}, "--workers-max has no effect: aiperfd is a single process without a message bus"},
		{[]string{"--tokenizer-trust-remote-code"}, "--tokenizer-trust-remote-code has no effect: it never runs code of a tokenizer's repository"},
		{[]string{"--plot-required"}, "--plot-required has no effect: nothing is plotted after the run"},
		{[]string{"--no-auto-plot"}, "--no-auto-plot has no effect: the feature is not supported yet"},
		{[]string{"--show-trace-timing=false"}, "--show-trace-timing has no effect: the feature is not supported yet"},
		{[]string{"--num-profile-runs", "1"}, "--num-profile-runs has no effect: the feature is not supported yet"},
		{[]string{"--cache-bust", "NONE"}, "--cache-bust has no effect: the feature is not supported yet"},
		{[]string{"--no-gpu-telemetry", "--no-server-metrics", "--no-fixed-schedule"}, ""},
		{[]string{"--endpoint-type", "image_retrieval", "--image-width-mean", "9", "--isl", "5"},
			"--tokenizer: requests of the endpoint type image_retrieval have no text, and nothing is counted in tokens\n" +
				"--isl: requests of the endpoint type image_retrieval have no text, and nothing is counted in tokens"},
		{[]string{"--endpoint-type", "responses", "--extra-inputs", "store:true"}, ""},
		{[]string{"--endpoint-type", "responses", "--extra-inputs", "store:true", "--session-turns-mean", "3"},
			"--extra-inputs: store: responses are stored by the server, but each turn repeats the whole conversation; " +
				"chaining by previous_response_id is not supported by aiperfd yet"},
	} {
		_, warnings, err := flagsDocument(t, nil, append(row.argv, "--request-count", "200")...)
		if err != nil {
			t.Errorf("%q: %v", row.argv, err)
		}
		var got []string
		for _, w := range warnings {
			got = append(got, w.Detail)
		}
		if diff := cmp.Diff(row.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%q: warnings (-want +got):\n%s", row.argv, diff)
		}
	}
}

// TestTemplatesInDocuments: the template of request bodies stays as it is; any other
// template is refused once, without a word on what is in it.
func TestTemplatesInDocuments(t *testing.T) {
	const body = `{"prompt": {{ text|tojson }}, "cost": "${5}"}`
	d, _ := mustLoad(t, `{benchmark: {endpoint: {template: {body: '`+body+`'}}, model: m, phases: {requests: 200}}}`, LoadOptions{Choices: someChoices(), Untrusted: true})
	if got := d.Benchmark.Endpoint.Template.Body; got != body {
		t.Errorf("body = %s, want %s", got, body)
	}
	_, _, err := Load([]byte("benchmark: {model: m, phases: {requests: '{{ n }}', rate: '{{ r }}'}}"), LoadOptions{Choices: someChoices()})
	const want = "line 1: benchmark/phases/requests: not supported by aiperfd yet: templates ({{ … }})\n" +
		"line 1: benchmark/phases/rate: not supported by aiperfd yet: templates ({{ … }})"
	if errText(err) != want {
		t.Errorf("problems:\n%v\nwant:\n%s", err, want)
	}
}
