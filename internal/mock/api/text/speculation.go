package text

import (
	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// vllmSpeculation is the member speculative_decoding of vLLM's metrics.
type vllmSpeculation struct {
	Length       float64 `json:"mean_acceptance_length"`
	Rate         float64 `json:"draft_acceptance_rate"`
	Histogram    []int   `json:"acceptance_histogram"`
	Steps        int     `json:"num_spec_steps"`
	Accepted     int     `json:"num_accepted_draft_tokens"`
	Drafted      int     `json:"num_draft_tokens"`
	Tokens       int     `json:"num_spec_tokens"`
	StepAccepted []int   `json:"per_step_accepted,omitempty"`
	StepDrafted  []int   `json:"per_step_drafted,omitempty"`
}

// appendMetrics appends vLLM's member metrics, which answers with one choice have.
func appendMetrics(dst []byte, x *api.Answer) []byte {
	report := x.Options.Spec.Report
	if len(x.Choices) != 1 || report != options.SpecSummary && report != options.SpecDetailed {
		return dst
	}
	s, ok := x.Speculated(&x.Choices[0])
	if !ok {
		return dst
	}
	v := vllmSpeculation{
		Length: s.Length(), Rate: s.Rate(), Histogram: s.Histogram, Steps: len(s.Steps),
		Accepted: s.Accepted, Drafted: s.Drafted, Tokens: s.Tokens,
	}
	if report == options.SpecDetailed {
		for _, step := range s.Steps {
			v.StepAccepted, v.StepDrafted = append(v.StepAccepted, step.Accepted), append(v.StepDrafted, step.Drafted)
		}
	}
	dst = append(dst, `,"metrics":{"speculative_decoding":`...)
	return append(api.AppendJSON(dst, &v), '}')
}

// sglangSpeculation are SGLang's details of speculative decoding.
type sglangSpeculation struct {
	Rate      float64 `json:"spec_accept_rate"`
	Length    float64 `json:"spec_accept_length"` // output tokens per step
	Accepted  int     `json:"spec_num_correct_drafts"`
	Drafted   int     `json:"spec_num_proposed_drafts"`
	Steps     int     `json:"spec_verify_ct"`
	Histogram []int   `json:"spec_correct_drafts_histogram"`
}

// newSGLangSpeculation returns the details of a choice; nil = there are none.
func newSGLangSpeculation(x *api.Answer, c *api.Choice) *sglangSpeculation {
	if x.Options.Spec.Report != options.SpecSGLang {
		return nil
	}
	s, ok := x.Speculated(c)
	if !ok {
		return nil
	}
	return &sglangSpeculation{
		Rate: s.Rate(), Length: float64(s.Output) / float64(len(s.Steps)),
		Accepted: s.Accepted, Drafted: s.Drafted, Steps: len(s.Steps), Histogram: s.Histogram,
	}
}

// appendSGLExt appends SGLang's member sglext, if the request asks for the details. Those of
// several choices are a list.
func appendSGLExt(dst []byte, x *api.Answer) ([]byte, bool) {
	if !x.Request.SpecDetails {
		return dst, false
	}
	var all []*sglangSpeculation
	for i := range x.Choices {
		if s := newSGLangSpeculation(x, &x.Choices[i]); s != nil {
			all = append(all, s)
		}
	}
	var details any = all
	switch len(all) {
	case 0:
		return dst, false
	case 1:
		details = all[0]
	}
	dst = append(dst, `,"sglext":{"spec_tokens_details":`...)
	return append(api.AppendJSON(dst, details), '}'), true
}

// trtllmSpeculation is the member speculative_decoding of TensorRT-LLM's choices.
type trtllmSpeculation struct {
	Rate      float64 `json:"acceptance_rate"`
	Accepted  int     `json:"total_accepted_draft_tokens"`
	Drafted   int     `json:"total_draft_tokens"`
	Steps     int     `json:"num_spec_steps"`
	Histogram []int   `json:"acceptance_histogram"`
	Tokens    int     `json:"num_spec_tokens"`
}

// appendChoiceSpeculation appends the members of TensorRT-LLM to a choice that has ended.
func appendChoiceSpeculation(dst []byte, x *api.Answer, c *api.Choice) []byte {
	if x.Options.Spec.Report != options.SpecTensorRTLLM {
		return dst
	}
	s, ok := x.Speculated(c)
	if !ok {
		return dst
	}
	dst = append(dst, `,"avg_decoded_tokens_per_iter":`...)
	dst = api.AppendJSON(dst, s.Length())
	dst = append(dst, `,"speculative_decoding":`...)
	return api.AppendJSON(dst, &trtllmSpeculation{
		Rate: s.Rate(), Accepted: s.Accepted, Drafted: s.Drafted, Steps: len(s.Steps), Histogram: s.Histogram, Tokens: s.Tokens,
	})
}
