package openai

import "aiperfd/internal/mock/api"

// CompletionDialect is POST /v1/completions.
type CompletionDialect struct{}

var _ Dialect = CompletionDialect{}

func (CompletionDialect) names() (idPrefix, object, chunk string) {
	return "cmpl-", "text_completion", "text_completion"
}

func (CompletionDialect) hasRole() bool { return false }

func (CompletionDialect) hasReasoning() bool { return false }

func (CompletionDialect) openDelta(dst []byte, _ bool, _ string) []byte {
	return append(dst, `,"text":"`...)
}

func (CompletionDialect) closeDelta(dst []byte, _ bool, _ string) []byte {
	return append(dst, '"')
}

func (CompletionDialect) appendMessage(dst []byte, c *api.Choice, _ string) []byte {
	dst = append(dst, `,"text":"`...)
	dst = c.AppendTokens(dst, 0, c.Total)
	return append(dst, '"')
}

// Constraints reads structured output and logprobs.
func (CompletionDialect) wishes(f *api.Fields) *api.Constraints {
	w := api.ReadStructured(f)
	if w == nil {
		w = &api.Constraints{}
	}
	if _, ok := f.Get("logprobs"); ok {
		w.Logprobs = true
		w.ReadTop(f, "logprobs")
	}
	if w.Empty() {
		return nil
	}
	return w
}

func (CompletionDialect) Prompts(m *api.Model, f *api.Fields) []api.Prompt {
	return api.CompletionPrompts(m, f)
}
