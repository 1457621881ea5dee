package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
)

// Overhead is how many tokens a server adds to every prompt: special tokens and the
// chat template.
type Overhead struct {
	Tokens int
	Source string // of the server's counts: "usage" or "/tokenize"
	// Client and Server are the counts of the probes, the shorter text first.
	Client, Server [2]int
}

// String describes the measurement.
func (o Overhead) String() string {
	return fmt.Sprintf("the server adds %d tokens to each prompt (%s: %d and %d tokens for texts of %d and %d)",
		o.Tokens, o.Source, o.Server[0], o.Server[1], o.Client[0], o.Client[1])
}

// Calibrate measures the overhead of a model at the first server. It sends a short and
// a long text, requests one token for each, and compares the server's counts (the
// usage of the response, or else those of vLLM's and SGLang's /tokenize) with count's.
// It fails if the server does not count, or if the difference depends on the length.
func Calibrate(ctx context.Context, servers *Servers, model string, count func(text string) int) (Overhead, error) {
	s := calibration{servers}
	o := Overhead{Source: "usage"}
	for i, text := range [2]string{"Hello", strings.Repeat("Eleven lamps shone over the quiet harbour.\n", 24)} {
		n, err := s.promptTokens(ctx, model, text)
		if errors.Is(err, errNoUsage) {
			o.Source = tokenizePath
			n, err = s.tokenize(ctx, model, text)
		}
		if err != nil {
			return o, fmt.Errorf("measure how many tokens %s adds to prompts: %w", s.plan.Targets[0].Shown, err)
		}
		o.Client[i], o.Server[i] = count(text), n
	}
	short, long := o.Server[0]-o.Client[0], o.Server[1]-o.Client[1]
	// The lines of the long text may meet in other tokens.
	if tolerance := max(1, o.Client[1]/100); short < 0 || long-short > tolerance || short-long > tolerance {
		return o, fmt.Errorf("%s counts %d and %d tokens for texts of %d and %d: the difference is not constant, so its tokenizer is another one; "+
			"set --tokenizer to that of the model", s.plan.Targets[0].Shown, o.Server[0], o.Server[1], o.Client[0], o.Client[1])
	}
	o.Tokens = short
	return o, nil
}

// calibration sends the requests that measure an overhead.
type calibration struct{ *Servers }

// errNoUsage means that a response has no count of its prompt.
var errNoUsage = errors.New("the response has no usage")

// promptTokens sends a prompt and returns the server's count of it.
func (s calibration) promptTokens(ctx context.Context, model, text string) (int, error) {
	t := &s.plan.Targets[0]
	body, err := s.plan.Kind.Body(nil, &endpoint.Request{
		Model: model, Turn: bench.Turn{Texts: []string{text}, MaxTokens: 1}, Settings: &s.plan.Settings,
	})
	if err != nil {
		return 0, err
	}
	r := s.do(ctx, &call{target: t, method: http.MethodPost, url: t.URL, body: body, timeout: probeTimeout})
	switch usage := r.answer.Usage; {
	case !r.ok():
		return 0, errors.New(r.reason)
	case usage == nil || usage.Input == nil || *usage.Input <= 0:
		return 0, errNoUsage
	default:
		return int(*usage.Input), nil
	}
}

const tokenizePath = "/tokenize"

// tokenize returns the count of /tokenize for the same prompt.
func (s calibration) tokenize(ctx context.Context, model, text string) (int, error) {
	t := &s.plan.Targets[0]
	u, err := t.FunctionURL(tokenizePath, true)
	if err != nil {
		return 0, err
	}
	request := map[string]any{"model": model, "prompt": text}
	if s.plan.Kind.Caps.History && s.plan.Kind.Name != "completions" { // an API with roles
		request = map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": text}}, "add_generation_prompt": true}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	r := s.do(ctx, &call{target: t, method: http.MethodPost, url: u, body: body, timeout: probeTimeout})
	var counted struct{ Count int }
	if !r.ok() || json.Unmarshal(r.body, &counted) != nil || counted.Count <= 0 {
		return 0, fmt.Errorf("the server counts no prompts: %w, and POST %s has no count (HTTP %d)", errNoUsage, tokenizePath, r.status)
	}
	return counted.Count, nil
}
