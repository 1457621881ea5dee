package text

import "aiperfd/internal/mock/api"

// completions is POST /v1/completions.
type completions struct{}

var _ dialect = completions{}

func (completions) names() (idPrefix, object, chunk string) {
	return "cmpl-", "text_completion", "text_completion"
}

func (completions) isChat() bool { return false }

func (completions) openDelta(dst []byte, _ bool, _ string) []byte {
	return append(dst, `,"text":"`...)
}

func (completions) closeDelta(dst []byte, _ bool, _ string) []byte {
	return append(dst, '"')
}

func (completions) appendMessage(dst []byte, c *api.Choice, _ string) []byte {
	dst = append(dst, `,"text":"`...)
	dst = c.AppendTokens(dst, 0, c.Total)
	return append(dst, '"')
}

// constraints reads structured output and logprobs.
func (completions) constraints(f *api.Fields) *api.Constraints {
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

func (completions) prompts(m *api.Model, f *api.Fields) []api.Prompt {
	return api.CompletionPrompts(m, f)
}
