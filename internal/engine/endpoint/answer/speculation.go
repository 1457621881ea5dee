package answer

import (
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// The servers whose reports of speculative decoding are read, by AIPerf's names.
const (
	engineVLLM        = "vllm"
	engineSGLang      = "sglang"
	engineTensorRTLLM = "tensorrt_llm"
)

// maxAcceptance bounds the numbers of a histogram: drafts are a few tokens long.
const maxAcceptance = 1024

// speculation collects reports of speculative decoding.
type speculation struct {
	found  bench.Speculation
	n      int // reports, each choice counted once
	choice int // of found
}

// reportNames are the names of the numbers of a report. An empty one means that the server does
// not report the number.
type reportNames struct {
	engine                   string
	steps, accepted, drafted string
	histogram, most          string
	kept, tried              string // lists of the steps
}

func vllmNames() reportNames {
	return reportNames{
		engineVLLM, "num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens",
		"acceptance_histogram", "num_spec_tokens", "per_step_accepted", "per_step_drafted",
	}
}

func sglangNames() reportNames {
	return reportNames{
		engineSGLang, "spec_verify_ct", "spec_num_correct_drafts", "spec_num_proposed_drafts",
		"spec_correct_drafts_histogram", "", "", "",
	}
}

func tensorRTLLMNames() reportNames {
	return reportNames{
		engineTensorRTLLM, "num_spec_steps", "total_accepted_draft_tokens", "total_draft_tokens",
		"acceptance_histogram", "num_spec_tokens", "", "",
	}
}

// Speculation records the member speculative_decoding of vLLM's metrics. A report whose
// numbers contradict each other is left out.
func (b *Builder) Speculation(metrics *fastjson.Value) {
	if s, ok := readSpeculation(metrics.Get("speculative_decoding"), vllmNames()); ok {
		b.speculation.add(&s, -1)
	}
}

// SGLangSpeculation records SGLang's details of a choice, those in sglext or in meta_info.
func (b *Builder) SGLangSpeculation(details *fastjson.Value, choice int) {
	if s, ok := readSpeculation(details, sglangNames()); ok {
		b.speculation.add(&s, choice)
	}
}

// SGLangSpeculations records the details in SGLang's member sglext: those of one choice, or a
// list of those of several.
func (b *Builder) SGLangSpeculations(ext *fastjson.Value) {
	details := ext.Get("spec_tokens_details")
	if details == nil {
		return
	}
	if details.Type() != fastjson.TypeArray {
		b.SGLangSpeculation(details, 0)
		return
	}
	for i, v := range details.GetArray() {
		b.SGLangSpeculation(v, i)
	}
}

// ChoiceSpeculation records the member speculative_decoding of a choice, as TensorRT-LLM has it.
func (b *Builder) ChoiceSpeculation(v *fastjson.Value, choice int) {
	if s, ok := readSpeculation(v, tensorRTLLMNames()); ok {
		b.speculation.add(&s, choice)
	}
}

// add adds a report. A later one of the same choice replaces the earlier one.
func (s *speculation) add(found *bench.Speculation, choice int) {
	if s.n == 0 || choice < 0 || choice != s.choice {
		s.n++
	}
	s.found, s.choice = *found, choice
}

// readSpeculation reads a report. ok is false if a number is missing, or if they contradict
// each other.
func readSpeculation(v *fastjson.Value, names reportNames) (s bench.Speculation, ok bool) {
	if v == nil || v.GetObject() == nil {
		return s, false
	}
	s.Engine = names.engine
	for _, f := range []struct {
		name string
		to   *bench.Tokens
	}{{names.steps, &s.Steps}, {names.accepted, &s.Accepted}, {names.drafted, &s.Drafted}} {
		n := v.Get(f.name)
		if n == nil {
			return s, false
		}
		count, ok := TokenCount(n)
		if !ok {
			return s, false
		}
		*f.to = bench.Tokens(count)
	}
	if s.Steps == 0 || s.Accepted > s.Drafted {
		return s, false
	}
	if n := optional(v, names.most); n != nil {
		count, ok := TokenCount(n)
		if !ok {
			return s, false
		}
		s.Most = bench.Tokens(count)
	}
	if s.Histogram, ok = tokenList(optional(v, names.histogram), maxAcceptance); !ok || !agrees(&s) {
		return s, false
	}
	for n := len(s.Histogram); n > 0 && s.Histogram[n-1] == 0; n-- {
		s.Histogram = s.Histogram[:n-1]
	}
	s.StepAccepted, ok = tokenList(optional(v, names.kept), int(min(s.Steps, MaxTokens)))
	tried, also := tokenList(optional(v, names.tried), int(min(s.Steps, MaxTokens)))
	if s.StepDrafted = tried; !ok || !also || len(s.StepAccepted) != len(tried) || sumOf(s.StepAccepted) > s.Accepted {
		return s, false
	}
	return s, true
}

// optional returns a member; nil = it is absent or null, or has no name.
func optional(v *fastjson.Value, name string) *fastjson.Value {
	if name == "" {
		return nil
	}
	if v = v.Get(name); v == nil || v.Type() == fastjson.TypeNull {
		return nil
	}
	return v
}

// tokenList reads a list of at most most counts; nil if v is nil or empty.
func tokenList(v *fastjson.Value, most int) (list []bench.Tokens, ok bool) {
	if v == nil {
		return nil, true
	}
	if v.Type() != fastjson.TypeArray || len(v.GetArray()) > most {
		return nil, false
	}
	for _, item := range v.GetArray() {
		n, ok := TokenCount(item)
		if !ok || n > MaxTokens {
			return nil, false
		}
		list = append(list, bench.Tokens(n))
	}
	return list, true
}

// agrees reports whether a histogram, whose index is the number of draft tokens that a
// step accepted, has the steps and tokens of a report. There may be none.
func agrees(s *bench.Speculation) bool {
	if s.Histogram == nil {
		return true
	}
	var steps, accepted bench.Tokens
	for i, n := range s.Histogram {
		steps, accepted = steps+n, accepted+bench.Tokens(i)*n
	}
	if s.Most > 0 && s.Engine != engineSGLang && len(s.Histogram) != int(s.Most)+1 {
		return false
	}
	return steps == s.Steps && accepted == s.Accepted
}

func sumOf(list []bench.Tokens) (sum bench.Tokens) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// result returns the report; nil if there was none, or several, as with more than one
// choice.
func (s *speculation) result() *bench.Speculation {
	if s.n != 1 {
		return nil
	}
	found := s.found
	return &found
}
