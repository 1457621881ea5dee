package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
)

// parseFlags parses a command line, with the choices of someChoices.
func parseFlags(argv []string, env func(string) (string, bool)) (*Flags, error) {
	f, err := Parse(argv, env)
	f.Options.Choices = plan.Choices()
	return f, err
}

// TestBurst: AIPerf's pattern concurrency_burst is a closed loop.
func TestBurst(t *testing.T) {
	const loop = "kind profiling, type concurrency, concurrency 4, requests 10, gracePeriod inf"
	for _, row := range []struct {
		argv   string
		phases []string
	}{
		{"--concurrency 4 --arrival-pattern concurrency_burst", []string{loop}},
		{"--concurrency 4 --request-rate-mode CONCURRENCY-BURST", []string{loop}},
		{"--concurrency 4 --warmup-request-count 2 --warmup-arrival-pattern concurrency_burst", []string{
			"kind warmup, type concurrency, concurrency 4, requests 2, gracePeriod inf", loop}},
	} {
		var got []string
		for _, p := range mustFlags(t, strings.Fields(row.argv)...).Benchmark.Phases {
			got = append(got, phaseText(p))
		}
		if diff := cmp.Diff(row.phases, got); diff != "" {
			t.Errorf("%s: phases (-want +got):\n%s", row.argv, diff)
		}
	}
	_, _, err := flagsDocument(t, nil, "--request-rate", "2", "--arrival-pattern", "concurrency_burst")
	const want = "--arrival-pattern: concurrency_burst sends as fast as the concurrency allows; remove it or --request-rate"
	if err == nil || err.Error() != want {
		t.Errorf("with a rate: error = %v, want %s", err, want)
	}
}

// TestUnsupportedChoices: unsupported choices of AIPerf are reported as such.
func TestUnsupportedChoices(t *testing.T) {
	for _, row := range []struct{ argv, want string }{
		{"--endpoint-type solido_rag", "--endpoint-type solido_rag: not supported by aiperfd yet; use chat, "},
		{"--endpoint-type rankings", `--endpoint-type rankings: unknown endpoint type; did you mean "nim_rankings"? It must be chat, `},
		{"--audio-format mp3", "--audio-format mp3: not supported by aiperfd yet; use wav"},
		{"--model-selection-strategy weighted", "--model-selection-strategy: weighted needs a weight for every model: --model-weights"},
		{"--model-weights 0.5,0.3,0.2", "--model-weights: needs one weight per model (--model): the weights are 3, the models 1"},
		{"--model b --model-weights 0.7,0.2", "--model-weights: must add up to 1, not 0.9"},
		{"--model b --model-weights 0.5,x", "--model-weights x: must be a number"},
		{"--model b --model-weights 0.5,0.5 --model-selection-strategy random", "--model-weights: weights need the strategy weighted"},
		{"--optuna-sampler tpe", "--optuna-sampler: not supported by aiperfd yet"},
		{"--cache-bust prefix", "--cache-bust prefix: must be none, system_prefix, "},
		{"--cache-bust warmup_isolation_system", "--cache-bust: warmup_isolation_system needs a system message: set --system-prompt, --system-prompt-file or --shared-system-prompt-length"},
	} {
		_, err := parseFlags(strings.Fields(row.argv), nil)
		if err == nil {
			_, _, err = flagsDocument(t, nil, strings.Fields(row.argv)...)
		}
		if !strings.HasPrefix(errorText(err), row.want) {
			t.Errorf("%s: error = %v, want %s", row.argv, err, row.want)
		}
	}
	for format := range strings.FieldsSeq("tracelab") {
		_, _, err := flagsDocument(t, nil, "--input-file", "x", "--custom-dataset-type", format)
		if want := "--custom-dataset-type " + format + ": not supported by aiperfd yet"; !strings.Contains(errorText(err), want) {
			t.Errorf("%s: error = %v, want %s", format, err, want)
		}
	}
}

func TestJobFlags(t *testing.T) {
	d := mustFlags(t, "--endpoint-type", "runpod-native", "--runpod-mode", "async", "--runpod-input", "openai",
		"--poll-interval", "0.25", "--job-timeout-seconds", "90")
	want := config.Jobs{PollInterval: new(config.Seconds(0.25)), Timeout: new(config.Seconds(90)), RunpodMode: "async", RunpodInput: "openai"}
	if diff := cmp.Diff(want, d.Benchmark.Endpoint.Jobs); diff != "" || d.Benchmark.Endpoint.Type != "runpod" {
		t.Errorf("type %s, jobs (-want +got):\n%s", d.Benchmark.Endpoint.Type, diff)
	}
	d = mustFlags(t, "--endpoint-type", "video_generation", "--download-video-content", "--request-content-type", "application/json")
	if e := d.Benchmark.Endpoint; !e.DownloadVideoContent || e.RequestContentType == nil || *e.RequestContentType != "application/json" {
		t.Errorf("endpoint = %+v", e)
	}
}

// A document can be loaded again as it is shown.
func TestJobsAreShown(t *testing.T) {
	d := mustFlags(t, "--endpoint-type", "runpod", "--runpod-mode", "async", "--job-timeout-seconds", "90")
	text, err := json.Marshal(config.Resolved(d))
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := config.Load(text, config.LoadOptions{Choices: plan.Choices(), Stored: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Benchmark.Endpoint.Jobs, again.Benchmark.Endpoint.Jobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

// compatText returns a member of a document's benchmark section as Compat shows it.
func compatText(t testing.TB, d *config.Document, path ...string) string {
	t.Helper()
	text, err := plainjson.Marshal(config.Resolved(d))
	for _, name := range path {
		var members map[string]json.RawMessage
		if bytes.HasPrefix(text, []byte("[")) {
			var items []json.RawMessage
			if err = errors.Join(err, json.Unmarshal(text, &items)); err == nil {
				text = items[0]
			}
		}
		err = errors.Join(err, json.Unmarshal(text, &members))
		text = members[name]
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// mediaText describes the media of a document's dataset.
func mediaText(t testing.TB, d *config.Document) string {
	t.Helper()
	var out []string
	for _, name := range []string{"images", "audio", "rankings"} {
		out = append(out, `"`+name+`":`+compatText(t, d, "datasets", name))
	}
	return "{" + strings.Join(out, ",") + "}"
}

func TestMediaFlags(t *testing.T) {
	const (
		side  = `{"min":null,"max":null,"mean":512,"stddev":0}`
		noise = `"source":"noise","sourceSampling":"random-with-replacement"}`
		rate  = `"format":"wav","depths":[16],"sampleRates":[16],"channels":1}`
	)
	rows := []struct{ argv, want string }{
		{"", `{"images":null,"audio":null,"rankings":null}`},
		{"--image-width-mean 512 --image-height-mean 512", `{"images":{"batchSize":1,"width":` + side + `,"height":` + side + `,"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-height-mean 300", `{"images":{"batchSize":1,"width":` + side + `,"height":{"min":null,"max":null,"mean":300,"stddev":0},"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-width-stddev 9 --image-format PNG", `{"images":{"batchSize":1,"width":{"min":null,"max":null,"mean":512,"stddev":9},"height":` + side + `,"format":"png",` + noise + `,"audio":null,"rankings":null}`},
		{"--batch-size-image 3", `{"images":{"batchSize":3,"width":` + side + `,"height":` + side + `,"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-width-mean 0 --image-height-mean 0", `{"images":{"batchSize":0,"width":{"min":null,"max":null,"mean":0,"stddev":0},"height":{"min":null,"max":null,"mean":0,"stddev":0},"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-width-mean 20 --image-batch-size 0", `{"images":{"batchSize":0,"width":{"min":null,"max":null,"mean":20,"stddev":0},"height":null,"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-source testdata --image-source-sampling sequential-cycle", `{"images":{"batchSize":1,"width":` + side + `,"height":` + side + `,"format":"jpeg","source":"testdata","sourceSampling":"sequential-cycle"},"audio":null,"rankings":null}`},
		{"--audio-length-mean 5.0 --audio-format wav --audio-sample-rates 16", `{"images":null,"audio":{"batchSize":1,"length":{"min":null,"max":null,"mean":5.0,"stddev":0},` + rate + `,"rankings":null}`},
		{"--audio-depths 8,24 --audio-depths 32 --audio-sample-rates 8,44.1,48000 --audio-num-channels 2 --batch-size-audio 2 --audio-length-stddev 1",
			`{"images":null,"audio":{"batchSize":2,"length":{"min":null,"max":null,"mean":10,"stddev":1},"format":"wav","depths":[8,24,32],"sampleRates":[8,44.1,48000],"channels":2},"rankings":null}`},
	}
	for _, row := range rows {
		t.Run(row.argv, func(t *testing.T) {
			d := mustFlags(t, strings.Fields(row.argv)...)
			want := strings.ReplaceAll(row.want, "5.0", "5")
			if diff := cmp.Diff(want, mediaText(t, d)); diff != "" {
				t.Errorf("media (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVideoFlags(t *testing.T) {
	const audio = `"audio":{"sampleRate":44.1,"channels":0,"codec":null,"depth":16}}`
	for _, row := range []struct{ argv, want string }{
		{"", "null"},
		{"--video-width 320 --video-height 240", `{"batchSize":1,"duration":1,"fps":4,"width":320,"height":240,"format":"webm","codec":"libvpx-vp9","synthType":"moving_shapes",` + audio},
		{"--batch-size-video 0", `{"batchSize":0,"duration":1,"fps":4,"width":null,"height":null,"format":"webm","codec":"libvpx-vp9","synthType":"moving_shapes",` + audio},
		{"--video-batch-size 2 --video-width 64 --video-height 48 --video-duration 2.5 --video-fps 24 --video-synth-type GRID_CLOCK --video-format mp4 --video-codec libx264" +
			" --video-audio-num-channels 2 --video-audio-sample-rate 48000 --video-audio-depth 24",
			`{"batchSize":2,"duration":2.5,"fps":24,"width":64,"height":48,"format":"mp4","codec":"libx264","synthType":"grid_clock","audio":{"sampleRate":48000,"channels":2,"codec":"libopus","depth":24}}`},
	} {
		if diff := cmp.Diff(row.want, compatText(t, mustFlags(t, strings.Fields(row.argv)...), "datasets", "video")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.argv, diff)
		}
	}
	d, warnings, err := flagsDocument(t, nil, strings.Fields("--video-width 9 --video-height 9 --video-audio-depth 8 --request-count 200")...)
	if err != nil || d == nil || len(warnings) != 1 || warnings[0].Detail != "--video-audio-depth has no effect: the videos have no audio track" {
		t.Errorf("warnings = %v, %v", warnings, err)
	}
}

func TestMediaProblems(t *testing.T) {
	rows := []struct{ argv, want string }{
		{"--image-width-mean -1 --image-format gif --image-batch-size many", "--image-width-mean -1: must be at least 0\n--image-format gif: must be jpeg, png or random\n--image-batch-size many: must be a whole number"},
		{"--image-height-mean 99999", "--image-height-mean 99999: must be at most 16384 pixels"},
		{"--image-source nowhere", "--image-source nowhere: must be noise, noise-smooth, assets or a directory; no such directory"},
		{"--image-source testdata/prompts.jsonl", "--image-source testdata/prompts.jsonl: must be noise, noise-smooth, assets or a directory"},
		{"--image-source-sampling shuffle-cycle", "--image-source-sampling: only valid if the source is a directory"},
		{"--audio-depths 16,12 --audio-sample-rates 0.5,x --audio-num-channels 3", "--audio-depths 12: must be 8, 16, 24 or 32\n--audio-sample-rates x: must be a number\n--audio-sample-rates 0.5: must be from 1 to 96 kHz, or from 1000 to 384000 Hz\n--audio-num-channels 3: must be at most 2"},
		{"--audio-format mp3", "--audio-format mp3: not supported by aiperfd yet; use wav"},
		{"--audio-length-mean 1e6", "--audio-length-mean 1e6: must be at most 14400 seconds"},
		{"--video-width 64", "--video-height: generated video needs a width and a height"},
		{"--video-fps 8", "--video-width: generated video needs a width and a height\n--video-height: generated video needs a width and a height"},
		{"--video-width 9 --video-height 0 --video-fps 241 --video-synth-type x --video-audio-codec mp3 --video-audio-depth 9",
			"--video-height 0: must be at least 1\n--video-fps 241: must be at most 240\n--video-synth-type x: must be moving_shapes, grid_clock or noise\n--video-audio-codec mp3: must be aac, libvorbis or libopus\n--video-audio-depth 9: must be 8, 16, 24 or 32"},
		{"--video-width 9 --video-height 9 --video-duration 0.1 --video-audio-codec aac",
			"--video-duration 0.1: with 4 frames per second the video has no frame; must be at least 0.25\n--video-audio-codec: needs an audio track: 1 or 2 channels (--video-audio-num-channels)"},
		{"--rankings-passages-mean 5", "--rankings-passages-mean: the endpoint type chat has no rankings; they are for " + schema.ChoiceList(plan.Choices().Ranking)},
		{"--input-file testdata/prompts.jsonl --image-width-mean 5 --audio-batch-size 2", "--image-width-mean: only valid for datasets of type synthetic\n--audio-batch-size: only valid for datasets of type synthetic"},
	}
	for _, row := range rows {
		t.Run(row.argv, func(t *testing.T) {
			f, parse := parseFlags(append(append([]string{}, base...), strings.Fields(row.argv)...), nil)
			_, _, err := f.Document()
			if parse != nil {
				err = parse
			}
			var invalid *problem.Invalid
			if !errors.As(err, &invalid) || err.Error() != row.want {
				t.Errorf("problems:\n%v\nwant:\n%s", err, row.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

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
			if got := errorText(err); got != row.problem {
				t.Errorf("problem = %q, want %q", got, row.problem)
			}
			if err == nil && d.Benchmark.Endpoint.Template.Body != row.body {
				t.Errorf("body = %q, want %q", d.Benchmark.Endpoint.Template.Body, row.body)
			}
		})
	}
	const doc = "benchmark: {endpoint: {template: {body: t.json}}, model: m, phases: {requests: 200}}"
	if _, _, err := config.Load([]byte(doc), config.LoadOptions{Choices: plan.Choices(), Untrusted: true}); err == nil || !strings.Contains(err.Error(), "benchmark/endpoint/template/body") {
		t.Errorf("a document from the API reads a file: %v", err)
	}
	d, _ := load(t, doc, config.LoadOptions{Choices: plan.Choices(), Untrusted: true, DataRoots: []string{here}})
	if d.Benchmark.Endpoint.Template.Body != body {
		t.Errorf("under a data root: body = %q", d.Benchmark.Endpoint.Template.Body)
	}
}

// TestFormatIsDetected: without a format, the first record determines it.
func TestFormatIsDetected(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, row := range []struct{ name, first, format, problem string }{
		{"prompts", `{"text": "a"}`, "single_turn", ""},
		{"prompts of columns", `{"prompt": "a"}`, "columns", ""},
		{"bodies", "\n" + `{"model": "m", "messages": [{"role": "user", "content": "a"}]}`, "raw_payload", ""},
		{"messages that are none", `{"messages": "a"}`, "", "unrecognised record format (keys: messages); if messages is the prompt, "},
		{"no JSON", "words", "", "in.jsonl:1: not valid JSON: invalid character 'w' looking for beginning of value at column 1"},
		{"conversations", `{"session_id": "a", "turns": [{"text": "b"}]}`, "multi_turn", ""},
		{"inputs.json", `{"data": [{"session_id": "a", "payloads": [{}]}]}`, "inputs_json", ""},
		{"trace", `{"timestamp": 0, "input_length": 5}`, "mooncake_trace", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := os.WriteFile("in.jsonl", []byte(row.first+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			d, _, err := flagsDocument(t, nil, "--input-file", "in.jsonl")
			if got := errorText(err); !strings.HasPrefix(got, "--input-file: "+row.problem) && (got != "" || row.problem != "") {
				t.Errorf("problem = %q, want %q", got, row.problem)
			}
			if err == nil && d.Benchmark.Datasets[0].Format != row.format {
				t.Errorf("format = %q, want %q", d.Benchmark.Datasets[0].Format, row.format)
			}
		})
	}
	d, _ := load(t, "benchmark: {dataset: {type: file, records: [{messages: [{role: user, content: a}]}]}, model: m, phases: {requests: 200}}", config.LoadOptions{Choices: plan.Choices(), Untrusted: true})
	if got := d.Benchmark.Datasets[0].Format; got != "chat_messages" {
		t.Errorf("inline records: format = %q, want chat_messages", got)
	}
	d, _ = load(t, "benchmark: {endpoint: {type: raw}, dataset: {type: file, records: [{messages: [{role: user, content: a}]}]}, model: m, phases: {requests: 200}}", config.LoadOptions{Choices: plan.Choices(), Untrusted: true})
	if got := d.Benchmark.Datasets[0].Format; got != "raw_payload" {
		t.Errorf("inline records for the endpoint type raw: format = %q, want raw_payload", got)
	}
	if err := os.WriteFile("in.jsonl", []byte(`{"ask": "a", "text": "b"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, _, err := flagsDocument(t, nil, "--input-file", "in.jsonl", "--prompt-column", "ask"); err != nil || d.Benchmark.Datasets[0].Format != "columns" {
		t.Errorf("with --prompt-column alone: %v, %v; want the format columns", d, err)
	}
}

// TestNoEffect: an option that requests nothing, or has no effect here, is accepted
// with a warning.
func TestNoEffect(t *testing.T) {
	for _, row := range []struct {
		argv []string
		want string
	}{
		{[]string{"--workers-max", "4"}, "--workers-max has no effect: aiperfd is a single process without a message bus"},
		{[]string{"--tokenizer-trust-remote-code"}, "--tokenizer-trust-remote-code has no effect: it never runs code of a tokenizer's repository"},
		{[]string{"--plot-required"}, "--plot-required has no effect: nothing is plotted after the run"},
		{[]string{"--no-auto-plot"}, "--no-auto-plot has no effect: the feature is not supported yet"},
		{[]string{"--wandb-tag", "u1", "u2", "--ignore-unsupported", "--wandb-project=v"},
			"--wandb-tag has no effect: it is not supported by aiperfd yet\n--wandb-project has no effect: it is not supported by aiperfd yet"},
		{[]string{"--gpu-telemetry", "dashboard"}, "--gpu-telemetry: realtime_dashboard has no effect: GET /api/runs/{id}/telemetry has the GPUs while a run goes on"},
		{[]string{"--concurrency", "1", "--concurrency", "2"}, "--concurrency: given more than once; the last value is used"},
		{[]string{"--isl", "100", "--synthetic-input-tokens-mean", "5"}, "--synthetic-input-tokens-mean: given more than once, first as --isl; the last value is used"},
		{[]string{"--streaming", "--goodput", "ttft:1", "--goodput", "itl:2"}, "--goodput: given more than once; the last value is used"},
		{[]string{"--num-profile-runs", "1"}, ""},
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

func load(t testing.TB, text string, o config.LoadOptions) (*config.Document, []problem.Problem) {
	t.Helper()
	d, warnings, err := config.Load([]byte(text), o)
	if err != nil {
		t.Fatalf("Load: %v\n%s", err, text)
	}
	return d, warnings
}

// TestModelWeights: weights select by them unless a strategy is given.
func TestModelWeights(t *testing.T) {
	models := mustFlags(t, "--model", "b", "--model-weights", "0.7,0.3").Benchmark.Models
	if len(models.Items) != 2 || models.Strategy != "weighted" || *models.Items[0].Weight != 0.7 || *models.Items[1].Weight != 0.3 {
		t.Errorf("models = %+v, want m at 0.7 and b at 0.3", models)
	}
}
