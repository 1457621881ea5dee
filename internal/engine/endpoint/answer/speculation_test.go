package answer

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

func TestSpeculation(t *testing.T) {
	counts := &bench.Speculation{Engine: "vllm", Steps: 5, Accepted: 7, Drafted: 15}
	want := &bench.Speculation{Engine: "vllm", Steps: 5, Accepted: 7, Drafted: 15, Most: 3, Histogram: []bench.Tokens{1, 2, 1, 1}}
	detailed := &bench.Speculation{
		Engine: "vllm", Steps: 2, Accepted: 1, Drafted: 4, Most: 2, Histogram: []bench.Tokens{1, 1},
		StepAccepted: []bench.Tokens{1, 0}, StepDrafted: []bench.Tokens{2, 2},
	}
	for doc, want := range map[string]*bench.Speculation{
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "num_spec_tokens": 3, "acceptance_histogram": [1, 2, 1, 1]}}`: want,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "acceptance_histogram": null}}`:                               counts,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15}}`:                                                             counts,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "num_spec_tokens": 4, "acceptance_histogram": [1, 2, 1, 1]}}`: nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 8, "num_draft_tokens": 15, "acceptance_histogram": [1, 2, 1, 1]}}`:                       nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "acceptance_histogram": [1, 2, 1, "1"]}}`:                     nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "acceptance_histogram": {}}}`:                                 nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 17, "num_draft_tokens": 15}}`:                                                            nil,
		`{"speculative_decoding": {"num_spec_steps": 0, "num_accepted_draft_tokens": 0, "num_draft_tokens": 0}}`:                                                              nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7}}`:                                                                                     nil,
		`{"speculative_decoding": {"num_spec_steps": -5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15}}`:                                                            nil,
		`{"speculative_decoding": 5}`: nil,
		`{"speculative_decoding": {"num_spec_steps": 2, "num_accepted_draft_tokens": 1, "num_draft_tokens": 4, "num_spec_tokens": 2, "acceptance_histogram": [1, 1, 0], "per_step_accepted": [1, 0], "per_step_drafted": [2, 2]}}`:    detailed,
		`{"speculative_decoding": {"num_spec_steps": 2, "num_accepted_draft_tokens": 1, "num_draft_tokens": 4, "num_spec_tokens": 2, "acceptance_histogram": [1, 1, 0], "per_step_accepted": [1, 0], "per_step_drafted": [2]}}`:       nil,
		`{"speculative_decoding": {"num_spec_steps": 2, "num_accepted_draft_tokens": 1, "num_draft_tokens": 4, "num_spec_tokens": 2, "acceptance_histogram": [1, 1, 0], "per_step_accepted": [1, 1], "per_step_drafted": [2, 2]}}`:    nil,
		`{"speculative_decoding": {"num_spec_steps": 2, "num_accepted_draft_tokens": 1, "num_draft_tokens": 4, "num_spec_tokens": 2, "acceptance_histogram": [1, 1, 0], "per_step_accepted": [1, 0, 0], "per_step_drafted": [2, 2]}}`: nil,
		`{"queue_time_ms": 5}`: nil,
		`null`:                 nil,
	} {
		var b Builder
		b.Speculation(fastjson.MustParse(doc))
		if diff := cmp.Diff(want, b.Result().Speculation); diff != "" {
			t.Errorf("%s (-want +got):\n%s", doc, diff)
		}
	}
	var twice Builder
	for range 2 {
		twice.Speculation(fastjson.MustParse(`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15}}`))
	}
	if got := twice.Result().Speculation; got != nil {
		t.Errorf("two reports make %+v", got)
	}
	twice.start(&bench.Response{})
	if !reflect.DeepEqual(twice.speculation, speculation{}) {
		t.Error("the next response has the reports of the one before")
	}
}

// TestSpeculationOfChoices reads the forms of SGLang and TensorRT-LLM, which belong to choices.
func TestSpeculationOfChoices(t *testing.T) {
	const (
		sglang = `{"spec_accept_rate": 0.5, "spec_accept_length": 2.5, "spec_num_correct_drafts": 3, "spec_num_proposed_drafts": 6,
			"spec_verify_ct": 2, "spec_correct_drafts_histogram": [0, 1, 1], "spec_cap_lens_histogram": []}`
		trtllm = `{"acceptance_rate": 0.5, "total_accepted_draft_tokens": 30, "total_draft_tokens": 60, "num_spec_steps": 20,
			"acceptance_histogram": [8, 0, 6, 6], "num_spec_tokens": null}`
	)
	bySGLang := &bench.Speculation{Engine: "sglang", Steps: 2, Accepted: 3, Drafted: 6, Histogram: []bench.Tokens{0, 1, 1}}
	byTensorRTLLM := &bench.Speculation{Engine: "tensorrt_llm", Steps: 20, Accepted: 30, Drafted: 60, Histogram: []bench.Tokens{8, 0, 6, 6}}
	parse := fastjson.MustParse
	for name, row := range map[string]struct {
		read func(b *Builder)
		want *bench.Speculation
	}{
		"sglext":      {func(b *Builder) { b.SGLangSpeculations(parse(`{"spec_tokens_details": ` + sglang + `}`)) }, bySGLang},
		"list of one": {func(b *Builder) { b.SGLangSpeculations(parse(`{"spec_tokens_details": [` + sglang + `]}`)) }, bySGLang},
		"list of two": {func(b *Builder) {
			b.SGLangSpeculations(parse(`{"spec_tokens_details": [` + sglang + `,` + sglang + `]}`))
		}, nil},
		"without":     {func(b *Builder) { b.SGLangSpeculations(parse(`{"cached_tokens_details": {}}`)) }, nil},
		"legacy rate": {func(b *Builder) { b.SGLangSpeculation(parse(`{"spec_accept_rate": 0.5, "spec_verify_ct": 4}`), 0) }, nil},
		"no steps": {func(b *Builder) {
			b.SGLangSpeculation(parse(`{"spec_num_correct_drafts": 0, "spec_num_proposed_drafts": 0, "spec_verify_ct": 0}`), 0)
		}, nil},
		"trtllm":         {func(b *Builder) { b.ChoiceSpeculation(parse(trtllm), 0) }, byTensorRTLLM},
		"trtllm twice":   {func(b *Builder) { b.ChoiceSpeculation(parse(trtllm), 0); b.ChoiceSpeculation(parse(trtllm), 0) }, byTensorRTLLM},
		"trtllm choices": {func(b *Builder) { b.ChoiceSpeculation(parse(trtllm), 0); b.ChoiceSpeculation(parse(trtllm), 1) }, nil},
	} {
		var b Builder
		row.read(&b)
		if diff := cmp.Diff(row.want, b.Result().Speculation); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
