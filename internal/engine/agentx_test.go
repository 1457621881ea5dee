package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/token"
	"aiperfd/internal/run"
)

// publishedCorpus returns a Hugging Face cache in which the repository of a published corpus has as many sessions as it
// has, but short ones: twenty requests whose prompts grow by a block, one every four seconds.
func publishedCorpus(t *testing.T) hub.Options {
	t.Helper()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	var text bytes.Buffer
	for n := range 393 {
		var requests, ids []string
		for i := range 20 {
			ids = append(ids, fmt.Sprint(i))
			requests = append(requests, fmt.Sprintf(`{"t": %d, "type": "s", "model": "m", "in": %d, "out": %d, "hash_ids": [%s], "api_time": 0.2}`,
				4*i, 64*(i+1)+32, 3+(n+i)%5, strings.Join(ids, ", ")))
		}
		fmt.Fprintf(&text, `{"id": "T%d", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [%s]}`+"\n",
			n, strings.Join(requests, ", "))
	}
	dir := t.TempDir()
	repository := filepath.Join(dir, "datasets--semianalysisai--cc-traces-weka-062126")
	for name, data := range map[string][]byte{"refs/main": []byte(commit), "snapshots/" + commit + "/traces.jsonl": text.Bytes()} {
		path := filepath.Join(repository, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return hub.Options{Cache: dir}
}

// The command of the field runs for its whole half hour, and its result counts if nothing speaks against it: a server that
// fails now and then, a part of the corpus, or lanes that begin elsewhere make it one that does not, and are named.
func TestAgentX(t *testing.T) {
	const command = "--scenario inferencex-agentx-mvp --model m --url http://mem --tokenizer builtin " +
		"--public-dataset semianalysis_cc_traces_weka_062126 --concurrency 2 --random-seed 7 --ui none"
	corpus := publishedCorpus(t)
	for _, tt := range []struct {
		name, options, fault string
		want                 []string
	}{
		{"as published", "", "", []string{}},
		{"a server with errors", "", "status:500,every=40", []string{"errors"}},
		{"a part of the corpus", " --num-dataset-entries 20", "", []string{"corpus", "kept"}},
		{"another ratio", " --trajectory-start-max-ratio 0.75", "", []string{"ratios"}},
	} {
		if raceEnabled && tt.fault == "" {
			continue // one of them is enough for the race detector
		}
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, 200*time.Millisecond, time.Millisecond)
				o.Tokenizer, o.TokensPerChunk = token.FromCodec(tokenizer.Builtin()), random.ConstLength(16)
				if tt.fault != "" {
					fault, err := mock.ParseFault(tt.fault)
					if err != nil {
						t.Fatal(err)
					}
					o.Faults = []mock.Fault{fault}
				}
				b := newBedWith(t, o, nil, func(e *engine.Options) { e.Hub = corpus })
				f, err := flags.Parse(strings.Fields(command+tt.options), nil)
				if err != nil {
					t.Fatal(err)
				}
				f.Options.Choices = plan.Choices()
				doc, _, err := f.Document()
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				r, err := b.engine.Submit(t.Context(), doc, run.Submission{Via: "cli"})
				if err != nil {
					t.Fatal(err)
				}
				if r = b.wait(r.ID); r.State != bench.StateCompleted {
					t.Fatalf("%s: %+v", r.State, r.Error)
				}
				if took := time.Since(began); took < 30*time.Minute {
					t.Errorf("the run took %v", took)
				}
				var file struct {
					Metadata struct {
						Valid   *bool    `json:"submission_valid"`
						Reasons []string `json:"submission_invalid_reasons"`
					}
					Validity json.RawMessage
				}
				if err := json.Unmarshal([]byte(b.file(r.ID, "profile_export_aiperf.json")), &file); err != nil {
					t.Fatal(err)
				}
				m := file.Metadata
				if m.Valid == nil || *m.Valid != (len(tt.want) == 0) || !slices.Equal(m.Reasons, tt.want) {
					t.Errorf("submission_valid %v, reasons %q, want %q\n%s", m.Valid, m.Reasons, tt.want, file.Validity)
				}
				checkAggregated(t, b, r.ID)
				b.stop()
			})
		})
	}
}

// checkAggregated checks that what InferenceX's aggregation of results reads is there under AIPerf's names.
func checkAggregated(t *testing.T, b *bed, id string) {
	t.Helper()
	has := func(file, text string, paths ...string) {
		t.Helper()
		for _, path := range paths {
			var at any
			if err := json.Unmarshal([]byte(text), &at); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for name := range strings.SplitSeq(path, ".") {
				object, _ := at.(map[string]any)
				at = object[name]
			}
			if at == nil {
				t.Errorf("%s has no %s", file, path)
			}
		}
	}
	line := ""
	for one := range strings.Lines(b.file(id, "profile_export.jsonl")) {
		if strings.Contains(one, `"inter_token_latency"`) { // answers of one token have none
			line = one
			break
		}
	}
	has("profile_export.jsonl", line, "metadata.benchmark_phase", "metadata.conversation_id", "metadata.turn_index",
		"metadata.request_start_ns", "metadata.request_end_ns", "metrics.time_to_first_token.value", "metrics.inter_token_latency.value",
		"metrics.request_latency.value", "metrics.input_sequence_length.value", "metrics.output_sequence_length.value")
	has("profile_export_aiperf.json", b.file(id, "profile_export_aiperf.json"), "request_count.avg", "completed_request_count.avg",
		"theoretical_prefix_cache_hit.sum", "theoretical_prefix_cache_hit.count", "theoretical_prefix_cache_hit.avg")
}
