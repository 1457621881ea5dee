package options

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/mock/random"
)

// The forms in which answers report speculative decoding. The first is the default.
const (
	SpecSummary     = "summary"  // vLLM's, with --per-request-spec-decode-metrics summary
	SpecDetailed    = "detailed" // vLLM's, with every step
	SpecSGLang      = "sglang"   // SGLang's, for requests with return_spec_tokens_details
	SpecTensorRTLLM = "trtllm"   // TensorRT-LLM's, with per_request_spec_decode_stats
	SpecNone        = "none"
)

// DefaultAcceptance is how likely a draft token is accepted if those before it were.
const DefaultAcceptance = 0.7

// MaxSpecTokens is the maximum number of draft tokens of a step.
const MaxSpecTokens = 64

// SpecOptions configure speculative decoding.
type SpecOptions struct {
	Tokens     int          // drafted in every step after the first token; 0 = there is no speculative decoding
	Acceptance []Acceptance // the first whose text is in the request decides; none = DefaultAcceptance
	Report     string       // of answers, one of the forms
}

// Acceptance is how likely draft tokens are accepted in the answers to some requests.
type Acceptance struct {
	Text string  // that the body of the request contains; empty = every request
	Rate float64 // of a draft token, if those before it were accepted; 0–1
}

// String returns the rule as [ParseAcceptance] reads it.
func (a Acceptance) String() string {
	rate := strconv.FormatFloat(a.Rate, 'g', -1, 64)
	if a.Text == "" {
		return rate
	}
	return a.Text + "=" + rate
}

// ParseAcceptance parses RATE or TEXT=RATE.
func ParseAcceptance(rule string) (Acceptance, error) {
	a := Acceptance{}
	rate := rule
	if at := strings.LastIndexByte(rule, '='); at >= 0 {
		if a.Text, rate = rule[:at], rule[at+1:]; a.Text == "" {
			return a, fmt.Errorf("acceptance %q: the text before = is empty; accepted: RATE or TEXT=RATE", rule)
		}
	}
	var err error
	if a.Rate, err = random.ParseRatio(rate); err != nil || a.Rate > 1 {
		return a, fmt.Errorf("acceptance %q: %q is not a number between 0 and 1; accepted: RATE or TEXT=RATE", rule, rate)
	}
	return a, nil
}

// AcceptanceOf returns how likely draft tokens are accepted in the answer to a request.
func (s *SpecOptions) AcceptanceOf(body []byte) float64 {
	text := string(body)
	i := slices.IndexFunc(s.Acceptance, func(a Acceptance) bool { return strings.Contains(text, a.Text) })
	if i < 0 {
		return DefaultAcceptance
	}
	return s.Acceptance[i].Rate
}

// checkSpeculation checks the options and those that they exclude.
func (o *Options) checkSpeculation(p *problems) {
	s := &o.Spec
	p.want(s.Tokens >= 0 && s.Tokens <= MaxSpecTokens, "spec-tokens is %d, want 0 (none) to %d", s.Tokens, MaxSpecTokens)
	p.want(s.Tokens > 0 || len(s.Acceptance) == 0, "spec-acceptance has no effect without spec-tokens")
	p.want(s.Tokens > 0 || s.Report == SpecSummary, "spec-report has no effect without spec-tokens")
	p.want(s.Tokens == 0 || o.TokensPerChunk == random.ConstLength(1),
		"tokens-per-chunk cannot be combined with spec-tokens: an event has the tokens of a step")
	for _, a := range s.Acceptance {
		p.want(a.Rate >= 0 && a.Rate <= 1, "spec-acceptance is %v, want a number between 0 and 1", a.Rate)
	}
}
