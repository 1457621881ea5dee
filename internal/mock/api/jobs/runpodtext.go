package jobs

import (
	"strings"
	"unicode/utf8"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// streamItem is an item of a stream.
type streamItem struct {
	Metrics *struct{} `json:"metrics,omitempty"`
	Output  any       `json:"output"`
}

// news returns the items that have become available since the last call; elapsed is the time
// since the start of the job, in nanoseconds.
func (t *textJob) news(elapsed int64, done bool) []streamItem {
	items := []streamItem{}
	if t.problem != "" && t.delivered == 0 {
		t.delivered = 1
		return append(items, streamItem{Output: workerError{t.problem}})
	}
	for t.delivered < len(t.batches) && t.batches[t.delivered].after <= elapsed {
		last := done && t.delivered == len(t.batches)-1
		items = append(items, streamItem{&struct{}{}, t.item(t.delivered, last)})
		t.delivered++
	}
	return items
}

// workerError is the worker's output for an error of the engine.
type workerError struct {
	Error string `json:"error"`
}

// item returns the output of one batch.
func (t *textJob) item(i int, last bool) any {
	b := t.batches[i]
	if t.output == options.OutputTokens {
		return t.tokens(b.from, b.to)
	}
	text := t.held + t.events(b.from, b.to)
	t.held = ""
	if last {
		return text + t.tail()
	}
	// Workers forward what they have read from their socket, so the end of an event may be
	// in the next piece.
	cut := len(text) - min(len(text)/2, 7+5*i%23)
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++ // do not split a character
	}
	t.held = text[cut:]
	return text[:cut]
}

// tokenOutput is the output of older workers.
type tokenOutput struct {
	Choices [1]tokenChoice `json:"choices"`
	Usage   tokenCounts    `json:"usage"`
}

type tokenChoice struct {
	Tokens [1]string `json:"tokens"`
}

type tokenCounts struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// tokens returns tokens in the form of older workers.
func (t *textJob) tokens(from, to int) tokenOutput {
	return tokenOutput{
		[1]tokenChoice{{[1]string{t.choice.Text(from, to)}}}, tokenCounts{t.q.PromptTokens(), to},
	}
}

// object is an answer or an event of OpenAI's API.
type object struct {
	ID      string    `json:"id"`
	Object  string    `json:"object"`
	Created int64     `json:"created"`
	Model   string    `json:"model"`
	Choices []choice  `json:"choices"`
	Usage   *objUsage `json:"usage,omitempty"`
}

type objUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Total      int `json:"total_tokens"`
	Completion int `json:"completion_tokens"`
}

// choice is the only choice of an object. One of the three members has its text.
type choice struct {
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"` // of a chat in one piece
	Delta   *message `json:"delta,omitempty"`   // of an event of a chat
	Text    *string  `json:"text,omitempty"`    // of a completion
	Finish  *string  `json:"finish_reason"`
}

type message struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

// object returns an object without choices.
func (t *textJob) object(streamed bool) *object {
	o := &object{ID: "cmpl-mock", Object: "text_completion", Created: t.created, Model: t.q.Model, Choices: []choice{}}
	if t.chat {
		o.ID, o.Object = "chatcmpl-mock", "chat.completion"
		if streamed {
			o.Object += ".chunk"
		}
	}
	return o
}

func (t *textJob) usage() *objUsage {
	in, out := t.q.PromptTokens(), t.choice.Total
	return &objUsage{in, in + out, out}
}

// event returns an event with a text; nil = of the end.
func (t *textJob) event(text *string) string {
	one := choice{Delta: &message{Content: text}}
	if !t.chat {
		one = choice{Text: text}
	}
	if text == nil {
		one.Finish = &t.choice.Finish
		if !t.chat {
			one.Text = new(string)
		}
	}
	o := t.object(true)
	o.Choices = append(o.Choices, one)
	return "data: " + string(api.AppendJSON(nil, o)) + "\n\n"
}

// events returns an event for each of the tokens from … to−1.
func (t *textJob) events(from, to int) string {
	var out strings.Builder
	for n := from; n < to; n++ {
		text := t.choice.Text(n, n+1)
		out.WriteString(t.event(&text))
	}
	return out.String()
}

// tail returns the events that end a stream.
func (t *textJob) tail() string {
	o := t.object(true)
	o.Usage = t.usage()
	return t.event(nil) + "data: " + string(api.AppendJSON(nil, o)) + "\n\ndata: [DONE]\n\n"
}

// whole returns the whole output of a finished job.
func (t *textJob) whole() any {
	switch {
	case t.problem != "":
		return workerError{t.problem}
	case t.output == options.OutputTokens:
		return t.tokens(0, t.choice.Total)
	case t.q.Stream: // all pieces of the stream again
		return t.events(0, t.choice.Total) + t.tail()
	}
	text := t.choice.Text(0, t.choice.Total)
	one := choice{Finish: &t.choice.Finish}
	if t.chat {
		one.Message = &message{"assistant", &text}
	} else {
		one.Text = &text
	}
	o := t.object(false)
	o.Choices, o.Usage = append(o.Choices, one), t.usage()
	return o
}
