package mock

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// reported is vLLM's report of speculative decoding.
type reported struct {
	Length    float64 `json:"mean_acceptance_length"`
	Rate      float64 `json:"draft_acceptance_rate"`
	Histogram []int   `json:"acceptance_histogram"`
	Steps     int     `json:"num_spec_steps"`
	Accepted  int     `json:"num_accepted_draft_tokens"`
	Drafted   int     `json:"num_draft_tokens"`
	Tokens    int     `json:"num_spec_tokens"`
	Kept      []int   `json:"per_step_accepted"`
	Tried     []int   `json:"per_step_drafted"`
}

// reportIn returns vLLM's report in a document, or in the last of several events that has one.
func reportIn(t *testing.T, texts ...string) *reported {
	t.Helper()
	var found *reported
	for _, text := range texts {
		var doc struct {
			Metrics struct {
				Report *reported `json:"speculative_decoding"`
			} `json:"metrics"`
		}
		text = strings.TrimPrefix(text, "data: ")
		if json.Unmarshal([]byte(text), &doc) == nil && doc.Metrics.Report != nil {
			found = doc.Metrics.Report
		}
	}
	if found == nil {
		t.Fatalf("no report in %q", texts)
	}
	return found
}

func textsOf(lines []line) (texts []string) {
	for _, l := range lines {
		texts = append(texts, l.text)
	}
	return texts
}

// TestSpeculation checks that each step sends its tokens one ITL after the step before, and that
// answers and counters report these steps.
func TestSpeculation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{
			ServedModels: []string{"m"}, Spec: options.SpecOptions{Tokens: 3, Report: options.SpecDetailed}, TruthChunks: true,
		})
		const tokens = 40
		ask := func(more string) string { return completion(1, 10, tokens, more) }
		lines, err := r.stream(completionPath, ask(`,"stream":true,"stream_options":{"include_usage":true}`))
		if err != nil {
			t.Fatal(err)
		}
		got := reportIn(t, textsOf(lines)...)
		at, truth := contentTimes(lines), r.lastTruth()
		if len(at) != got.Steps+1 || len(truth.ChunkTokens) != len(at) {
			t.Fatalf("%d events of %d tokens, want one per step of %d and one before", len(at), len(truth.ChunkTokens), got.Steps)
		}
		sent, histogram, accepted := 1, make([]int, 4), 0
		for i, kept := range got.Kept {
			if want := min(kept+1, tokens-sent); truth.ChunkTokens[i+1] != want {
				t.Errorf("step %d sent %d tokens, want %d", i, truth.ChunkTokens[i+1], want)
			}
			if want := options.DefaultTTFT + time.Duration(i+1)*options.DefaultITL; at[i+1] != want {
				t.Errorf("step %d at %v, want %v", i, at[i+1], want)
			}
			sent += kept + 1
			accepted += kept
			histogram[kept]++
		}
		want := &reported{
			Length: 1 + float64(accepted)/float64(got.Steps), Rate: float64(accepted) / float64(3*got.Steps), Histogram: histogram,
			Steps: len(got.Kept), Accepted: accepted, Drafted: 3 * got.Steps, Tokens: 3, Kept: got.Kept, Tried: got.Tried,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		// The same request has the same steps, so that both answers double the counters. Its
		// last token is sent when the stream's was.
		before := time.Since(r.start)
		plain := r.post(completionPath, ask(""))
		if diff := cmp.Diff(got, reportIn(t, plain.body)); diff != "" {
			t.Errorf("report of a document (-stream +document):\n%s", diff)
		}
		if took := plain.at - before; took != at[len(at)-1] {
			t.Errorf("the document took %v, want %v", took, at[len(at)-1])
		}
		counters := fmt.Sprintf(`# HELP vllm:spec_decode_num_accepted_tokens_total Number of accepted tokens.
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} %d
# HELP vllm:spec_decode_num_draft_tokens_total Number of draft tokens.
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} %d
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} %d
`, 2*accepted, 6*got.Steps, 2*got.Steps)
		synctest.Wait()
		if err := testutil.GatherAndCompare(r.server.metrics().registry, strings.NewReader(counters),
			"vllm:spec_decode_num_accepted_tokens_total", "vllm:spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_drafts_total"); err != nil {
			t.Error(err)
		}
	})
}

// TestSpeculationInBatch checks that an accelerator gives a sequence what its steps accept, also
// after a preemption, and that the report has these steps.
func TestSpeculationInBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tiny(t)
		p.Blocks = 24 // for one of two sequences
		r := newRig(t, options.Options{Accelerator: p, MaxModelLen: 300, Spec: options.SpecOptions{Tokens: 4, Report: options.SpecDetailed}})
		results := make(chan []line, 2)
		for i := range 2 {
			go func() {
				lines, err := r.stream(completionPath, completion(i, 100, 150, `,"stream":true,"stream_options":{"include_usage":true}`))
				if err != nil {
					t.Errorf("stream: %v", err)
				}
				results <- lines
			}()
		}
		preemptions, steps, accepted := 0, 0, 0
		for range 2 {
			got := reportIn(t, textsOf(<-results)...)
			steps += got.Steps
			accepted += got.Accepted
			if sum := got.Steps + got.Accepted; sum < 140 || got.Steps >= 140 {
				t.Errorf("%d steps accepted %d tokens of an answer of 150", got.Steps, got.Accepted)
			}
			if got.Drafted != 4*got.Steps {
				t.Errorf("%d steps drafted %d tokens", got.Steps, got.Drafted)
			}
		}
		synctest.Wait()
		for _, truth := range r.server.Truth() {
			preemptions += truth.Batch.Preemptions
			if truth.OutputTokens != 150 {
				t.Errorf("%d tokens were sent, want 150", truth.OutputTokens)
			}
		}
		if preemptions == 0 {
			t.Error("no sequence was preempted")
		}
		text := r.get("/metrics").body
		for name, want := range map[string]int{"num_drafts": steps, "num_accepted_tokens": accepted} {
			line := fmt.Sprintf("vllm:spec_decode_%s_total{engine=\"0\",model_name=\"mock-model\"} %d\n", name, want)
			if !strings.Contains(text, line) {
				t.Errorf("/metrics lacks %s", line)
			}
		}
	})
}

// TestSpeculationReports checks the forms of reports, with an acceptance of 1, whose numbers are
// known.
func TestSpeculationReports(t *testing.T) {
	sglang := `{"spec_accept_rate":1,"spec_accept_length":3,"spec_num_correct_drafts":4,"spec_num_proposed_drafts":4,` +
		`"spec_verify_ct":2,"spec_correct_drafts_histogram":[0,0,2]}`
	trtllm := `,"avg_decoded_tokens_per_iter":3,"speculative_decoding":{"acceptance_rate":1,"total_accepted_draft_tokens":4,` +
		`"total_draft_tokens":4,"num_spec_steps":2,"acceptance_histogram":[0,0,2],"num_spec_tokens":2}`
	summary := `"metrics":{"speculative_decoding":{"mean_acceptance_length":3,"draft_acceptance_rate":1,` +
		`"acceptance_histogram":[0,0,2],"num_spec_steps":2,"num_accepted_draft_tokens":4,"num_draft_tokens":4,"num_spec_tokens":2}}`
	for _, test := range []struct {
		report, path, body string
		want, never        string
	}{
		{"summary", completionPath, `{"prompt":"a","max_tokens":6}`, summary, ""},
		{"summary", completionPath, `{"prompt":"a","max_tokens":6,"stream":true,"stream_options":{"include_usage":true}}`, summary, ""},
		{"summary", completionPath, `{"prompt":"a","max_tokens":6,"n":2}`, `"usage"`, "speculative"},
		{"summary", completionPath, `{"prompt":"a","max_tokens":1}`, `"usage"`, "speculative"},
		{"summary", completionPath, `{"prompt":"a","max_tokens":6,"stream":true}`, `[DONE]`, "speculative"},
		{"none", completionPath, `{"prompt":"a","max_tokens":6}`, `"usage"`, "spec"},
		{"sglang", completionPath, `{"prompt":"a","max_tokens":6}`, `"usage"`, "sglext"},
		{
			"sglang", completionPath, `{"prompt":"a","max_tokens":6,"return_spec_tokens_details":true}`,
			`"sglext":{"spec_tokens_details":` + sglang + `}`, "",
		},
		{
			"sglang", completionPath, `{"prompt":"a","max_tokens":6,"stream":true,"return_spec_tokens_details":true}`,
			`"choices":[],"sglext":{"spec_tokens_details":` + sglang + `}`, "",
		},
		{
			"sglang", completionPath, `{"prompt":"a","max_tokens":6,"n":2,"return_spec_tokens_details":true}`,
			`"sglext":{"spec_tokens_details":[` + sglang + `,` + sglang + `]}`, "",
		},
		{"sglang", "/generate", `{"text":"a","sampling_params":{"max_new_tokens":6}}`, sglang[1 : len(sglang)-1], ""},
		{"trtllm", completionPath, `{"prompt":"a","max_tokens":6}`, trtllm, ""},
		{"trtllm", completionPath, `{"prompt":"a","max_tokens":6,"stream":true}`, `"stop_reason":null` + trtllm + `}]}`, ""},
	} {
		t.Run(test.report+" "+test.body, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options.Options{Spec: options.SpecOptions{
					Tokens: 2, Report: test.report, Acceptance: []options.Acceptance{{Rate: 1}},
				}})
				got := r.post(test.path, test.body).body
				if n := strings.Count(got, test.want); n != 1 {
					t.Errorf("%d times %s in %s", n, test.want, got)
				}
				if test.never != "" && strings.Contains(got, test.never) {
					t.Errorf("%s in %s", test.never, got)
				}
			})
		})
	}
}

// TestSpeculationByCategory checks that the text of a request decides how much is accepted.
func TestSpeculationByCategory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Spec: options.SpecOptions{
			Tokens: 2, Acceptance: []options.Acceptance{{Text: "coding", Rate: 1}, {Text: "writing", Rate: 0}, {Rate: 0.5}},
		}})
		for prompt, want := range map[string][2]float64{"coding": {1, 1}, "writing": {0, 0}, "math": {0.3, 0.45}} { // (0.5 + 0.25) / 2
			got := reportIn(t, r.post(completionPath, fmt.Sprintf(`{"prompt":%q,"max_tokens":2000}`, prompt)).body)
			if got.Rate < want[0] || got.Rate > want[1] {
				t.Errorf("%s: %v of the draft tokens were accepted, want %v", prompt, got.Rate, want)
			}
		}
	})
}

func TestParseAcceptance(t *testing.T) {
	for rule, want := range map[string]options.Acceptance{
		"0.7": {Rate: 0.7}, "coding=0.85": {Text: "coding", Rate: 0.85}, "a=b=1": {Text: "a=b", Rate: 1},
	} {
		if got, err := options.ParseAcceptance(rule); err != nil || got != want || got.String() != rule {
			t.Errorf("ParseAcceptance(%q) = %v, %v, want %v", rule, got, err, want)
		}
	}
	for rule, want := range map[string]string{
		"1.1": `"1.1" is not a number between 0 and 1`, "=0.5": "the text before = is empty", "coding": `"coding" is not a number`, "": `"" is not a number`,
	} {
		if _, err := options.ParseAcceptance(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseAcceptance(%q) = %v, want %s", rule, err, want)
		}
	}
}

func TestSpeculationOptions(t *testing.T) {
	for want, o := range map[string]options.Options{
		"spec-tokens is 65, want 0 (none) to 64":               {Spec: options.SpecOptions{Tokens: 65}},
		"spec-acceptance has no effect without spec-tokens":    {Spec: options.SpecOptions{Acceptance: []options.Acceptance{{Rate: 1}}}},
		"spec-report has no effect without spec-tokens":        {Spec: options.SpecOptions{Report: options.SpecSGLang}},
		`spec-report is "x", want one of summary, detailed`:    {Spec: options.SpecOptions{Tokens: 1, Report: "x"}},
		"tokens-per-chunk cannot be combined with spec-tokens": {Spec: options.SpecOptions{Tokens: 1}, TokensPerChunk: random.ConstLength(4)},
	} {
		if _, err := o.WithDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("WithDefaults() = %v, want %s", err, want)
		}
	}
}
