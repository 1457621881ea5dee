package native

import (
	"encoding/json"
	"strings"

	"aiperfd/internal/engine/bench"
)

// dropPrompt takes the prompt off an answer in one piece that begins with it. Some
// backends of Triton put it there unless exclude_input_in_output is true, and it
// would count as output.
func dropPrompt(a *bench.Answer, resp *bench.Response, sent []byte) {
	if a.Streamed || a.Failure != nil || len(a.Choices) != 1 || len(a.Chunks) != 1 {
		return
	}
	text, ok := strings.CutPrefix(a.Choices[0].Text, sentPrompt(sent))
	if !ok || len(text) == len(a.Choices[0].Text) {
		return
	}
	a.Choices[0].Text, a.Chunks[0].Bytes = text, int32(len(text))
	if text == "" {
		a.Chunks = nil
		a.Failure = &bench.Failure{
			Class: bench.EmptyOutput, Step: bench.StepBody, Status: resp.Status,
			Message: "the answer holds nothing but the prompt",
		}
	}
}

// sentPrompt returns the prompt in a body of Triton or KServe; empty if there is
// none, or if the body requests answers without it.
func sentPrompt(body []byte) string {
	var sent struct {
		Text    string `json:"text_input"`
		Exclude bool   `json:"exclude_input_in_output"`
		Inputs  []struct {
			Datatype string `json:"datatype"`
			Data     []any  `json:"data"`
		} `json:"inputs"`
	}
	if json.Unmarshal(body, &sent) != nil || sent.Exclude {
		return ""
	}
	for _, input := range sent.Inputs {
		if text, ok := firstOf(input.Data).(string); ok && input.Datatype == "BYTES" && sent.Text == "" {
			sent.Text = text
		}
	}
	return sent.Text
}

// firstOf returns the first value in lists of lists; nil = there is none.
func firstOf(list []any) any {
	for len(list) > 0 {
		inner, ok := list[0].([]any)
		if !ok {
			return list[0]
		}
		list = inner
	}
	return nil
}
