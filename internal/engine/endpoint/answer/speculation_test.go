package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

func TestSpeculation(t *testing.T) {
	want := &bench.Speculation{Steps: 5, Accepted: 7, Drafted: 15}
	for doc, want := range map[string]*bench.Speculation{
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "num_spec_tokens": 3, "acceptance_histogram": [1, 2, 1, 1]}}`: want,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "acceptance_histogram": null}}`:                               want,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15}}`:                                                             want,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "num_spec_tokens": 4, "acceptance_histogram": [1, 2, 1, 1]}}`: nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 8, "num_draft_tokens": 15, "acceptance_histogram": [1, 2, 1, 1]}}`:                       nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "acceptance_histogram": [1, 2, 1, "1"]}}`:                     nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15, "acceptance_histogram": {}}}`:                                 nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 17, "num_draft_tokens": 15}}`:                                                            nil,
		`{"speculative_decoding": {"num_spec_steps": 0, "num_accepted_draft_tokens": 0, "num_draft_tokens": 0}}`:                                                              nil,
		`{"speculative_decoding": {"num_spec_steps": 5, "num_accepted_draft_tokens": 7}}`:                                                                                     nil,
		`{"speculative_decoding": {"num_spec_steps": -5, "num_accepted_draft_tokens": 7, "num_draft_tokens": 15}}`:                                                            nil,
		`{"speculative_decoding": 5}`: nil,
		`{"queue_time_ms": 5}`:        nil,
		`null`:                        nil,
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
	if twice.speculation != (speculation{}) {
		t.Error("the next response has the reports of the one before")
	}
}
