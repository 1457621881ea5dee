package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/plainjson"
)

// parseFlags parses a command line, with the choices of someChoices.
func parseFlags(argv []string, env func(string) (string, bool)) (*Flags, error) {
	f, err := ParseFlags(argv, env)
	f.Options.Choices = someChoices()
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

// TestLackingChoices: choices of AIPerf that are not there are named as such.
func TestLackingChoices(t *testing.T) {
	for _, row := range []struct{ argv, want string }{
		{"--endpoint-type solido_rag", "--endpoint-type solido_rag: not supported by aiperfd yet; use chat, "},
		{"--endpoint-type rankings", `--endpoint-type rankings: unknown endpoint type; did you mean "nim_rankings"? It must be chat, `},
		{"--audio-format mp3", "--audio-format mp3: not supported by aiperfd yet; use wav"},
		{"--model-selection-strategy weighted", "--model-selection-strategy: weighted needs a weight for every model, " +
			"and no option gives weights; write models with weights into a file for --config"},
		{"--num-profile-runs 2", "--num-profile-runs: not supported by aiperfd yet"},
		{"--cache-bust system_prefix", "--cache-bust: not supported by aiperfd yet"},
	} {
		_, err := parseFlags(strings.Fields(row.argv), nil)
		if err == nil {
			_, _, err = flagsDocument(t, nil, strings.Fields(row.argv)...)
		}
		if !strings.HasPrefix(errText(err), row.want) {
			t.Errorf("%s: error = %v, want %s", row.argv, err, row.want)
		}
	}
	for format := range strings.FieldsSeq("multi_turn random_pool mooncake_trace bailian_trace burst_gpt_trace baseten_trace inputs_json" +
		" sagemaker_data_capture dag_jsonl weka_trace tracelab speed_bench_qualitative speed_bench_throughput_8k_mixed") {
		_, _, err := flagsDocument(t, nil, "--input-file", "x", "--custom-dataset-type", format)
		if want := "--custom-dataset-type " + format + ": not supported by aiperfd yet"; !strings.Contains(errText(err), want) {
			t.Errorf("%s: error = %v, want %s", format, err, want)
		}
	}
}

func TestJobFlags(t *testing.T) {
	d := mustFlags(t, "--endpoint-type", "runpod-native", "--runpod-mode", "async", "--runpod-input", "openai",
		"--poll-interval", "0.25", "--job-timeout-seconds", "90")
	want := Jobs{PollInterval: new(Seconds(0.25)), Timeout: new(Seconds(90)), RunpodMode: "async", RunpodInput: "openai"}
	if diff := cmp.Diff(want, d.Benchmark.Endpoint.Jobs); diff != "" || d.Benchmark.Endpoint.Type != "runpod" {
		t.Errorf("type %s, jobs (-want +got):\n%s", d.Benchmark.Endpoint.Type, diff)
	}
	d = mustFlags(t, "--endpoint-type", "video_generation", "--download-video-content", "--request-content-type", "application/json")
	if e := d.Benchmark.Endpoint; !e.DownloadVideoContent || e.RequestContentType == nil || *e.RequestContentType != "application/json" {
		t.Errorf("endpoint = %+v", e)
	}
}

// What is shown of a document can be loaded again.
func TestJobsAreShown(t *testing.T) {
	d := mustFlags(t, "--endpoint-type", "runpod", "--runpod-mode", "async", "--job-timeout-seconds", "90")
	text, err := json.Marshal(Compat(d))
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := Load(text, LoadOptions{Choices: someChoices(), Stored: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Benchmark.Endpoint.Jobs, again.Benchmark.Endpoint.Jobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

// compatText returns a member of a document's benchmark section as Compat shows it.
func compatText(t testing.TB, d *Document, path ...string) string {
	t.Helper()
	text, err := plainjson.Marshal(Compat(d))
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

// mediaText returns what the dataset of a document says of media.
func mediaText(t testing.TB, d *Document) string {
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
		{"--video-width 64", "--video-width: not supported by aiperfd yet"},
		{"--rankings-passages-mean 5", "--rankings-passages-mean: the endpoint type chat has no rankings; they are for rerank, cohere_rankings, nim_rankings, hf_tei_rankings or score"},
		{"--input-file testdata/prompts.jsonl --image-width-mean 5 --audio-batch-size 2", "--image-width-mean: only valid for datasets of type synthetic\n--audio-batch-size: only valid for datasets of type synthetic"},
	}
	for _, row := range rows {
		t.Run(row.argv, func(t *testing.T) {
			f, parse := parseFlags(append(append([]string{}, base...), strings.Fields(row.argv)...), nil)
			_, _, err := f.Document()
			if parse != nil {
				err = parse
			}
			var invalid *Invalid
			if !errors.As(err, &invalid) || err.Error() != row.want {
				t.Errorf("problems:\n%v\nwant:\n%s", err, row.want)
			}
		})
	}
}
