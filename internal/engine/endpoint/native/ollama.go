package native

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

const (
	nameOllamaChat     = "ollama_chat"
	nameOllamaGenerate = "ollama_generate"
	ndjson             = "application/x-ndjson"
)

// OllamaChat is Ollama's own chat API.
func OllamaChat() codec.Kind { return ollamaKind(nameOllamaChat, "/api/chat", encodeOllamaChat) }

// OllamaGenerate is Ollama's API for text without roles.
func OllamaGenerate() codec.Kind {
	return ollamaKind(nameOllamaGenerate, "/api/generate", encodeOllamaGenerate)
}

func ollamaKind(name, path string, encode func(dst []byte, r *codec.Request) ([]byte, error)) codec.Kind {
	return codec.Kind{
		Name: name, Path: path, RootPath: true, Title: "LLM Metrics", StreamAccept: ndjson,
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true,
		},
		Encode: encode, Decode: answer.Decode(ollama()),
	}
}

func ollama() *answer.Grammar {
	return &answer.Grammar{Dialect: answer.Stateless(readOllama), End: answer.EndTerminal}
}

// ollamaBody completes a body: Ollama streams by default, and keeps
// sampling parameters in options.
func ollamaBody(outer []codec.Field, r *codec.Request) *codec.Wrapped {
	return &codec.Wrapped{
		Object: "options",
		Top: []string{
			"keep_alive", "format", "think", "raw", "system", "template", "truncate", "shift",
			"logprobs", "top_logprobs", "tools", "suffix", "images", "context",
		},
		Outer: append(outer, codec.RawField(codec.FieldStream, codec.JSONBool(r.Settings.Streaming))),
		Inner: []codec.Field{codec.RawField("num_predict", codec.AppendMax(r.Turn.MaxTokens))},
	}
}

// encodeOllamaChat writes a body for POST /api/chat (Ollama API documentation,
// "Generate a chat completion").
func encodeOllamaChat(dst []byte, r *codec.Request) ([]byte, error) {
	m := ollamaMessages{dst: append(make([]byte, 0, codec.MessagesSize(r)), '[')}
	if r.System != "" {
		m.add("system", r.System, codec.Field{})
	}
	if r.Context != "" {
		m.add("user", r.Context, codec.Field{})
	}
	err := codec.EachTurn(r, 0, m.turn, func(c *bench.Choice) {
		if c != nil {
			m.answer(c)
		}
	})
	if err != nil {
		return dst, err
	}
	return ollamaBody([]codec.Field{
		codec.TextField("model", codec.ModelOf(r)), codec.RawField("messages", append(m.dst, ']')),
	}, r).Finish(dst, r)
}

// encodeOllamaGenerate writes a body for POST /api/generate ("Generate a
// completion"). It has a system message but no roles: context, earlier turns,
// their answers and this turn are joined with spaces.
func encodeOllamaGenerate(dst []byte, r *codec.Request) ([]byte, error) {
	rest := *r
	rest.System = ""
	outer := []codec.Field{codec.TextField("model", codec.ModelOf(r)), codec.TextField("prompt", codec.JoinPrompt(&rest))}
	if r.System != "" {
		outer = append(outer, codec.TextField("system", r.System))
	}
	if len(r.Turn.Images) > 0 {
		images, err := appendImages(nil, r.Turn.Images)
		if err != nil {
			return dst, err
		}
		outer = append(outer, codec.RawField("images", images))
	}
	return ollamaBody(outer, r).Finish(dst, r)
}

// appendImages appends images as Ollama takes them: a list of bare base64.
func appendImages(dst []byte, images []bench.Media) ([]byte, error) {
	for i := range images {
		if images[i].URL != "" {
			return dst, fmt.Errorf("image %d is a URL, and Ollama takes only the bytes of images", i+1)
		}
	}
	return codec.AppendList(dst, images, codec.AppendMediaData), nil
}

// ollamaMessages appends messages, separated by commas.
type ollamaMessages struct {
	dst   []byte
	count int
}

// add appends a message. Content is always text; images or calls stand beside it.
func (m *ollamaMessages) add(role, content string, beside codec.Field) {
	if m.count++; m.count > 1 {
		m.dst = append(m.dst, ',')
	}
	message := []codec.Field{codec.TextField("role", role), codec.TextField("content", content), beside}
	m.dst = codec.AppendObject(m.dst, message)
}

func (m *ollamaMessages) turn(t *bench.Turn) error {
	var beside codec.Field
	if len(t.Images) > 0 {
		images, err := appendImages(nil, t.Images)
		if err != nil {
			return err
		}
		beside = codec.RawField("images", images)
	}
	m.add(cmp.Or(t.Role, "user"), strings.Join(t.Texts, "\n"), beside)
	return nil
}

// answer appends the text and the tool calls of an answer, without its reasoning. Arguments of tools
// are objects here.
func (m *ollamaMessages) answer(c *bench.Choice) {
	var beside codec.Field
	if len(c.ToolCalls) > 0 {
		calls := codec.AppendList(nil, c.ToolCalls, func(dst []byte, call *bench.ToolCall) []byte {
			arguments := codec.RawField("arguments", []byte(call.Arguments))
			if !json.Valid(arguments.Value) {
				arguments = codec.TextField("arguments", call.Arguments)
			}
			function := codec.AppendObject(nil, []codec.Field{codec.TextField("name", call.Name), arguments})
			return codec.AppendObject(dst, []codec.Field{codec.RawField("function", function)})
		})
		beside = codec.RawField("tool_calls", calls)
	}
	m.add("assistant", c.Text, beside)
}

// readOllama takes one object of a stream, or a whole answer, of either API.
func readOllama(d *answer.Builder, doc *answer.Document) bool {
	v := doc.Value
	if answer.Truthy(v.Get("error")) {
		d.FailInObject(doc.Data)
		return true
	}
	message, response, done := v.Get("message"), v.Get("response"), v.Get("done")
	if message.GetObject() == nil && response == nil && done == nil {
		return true // nothing of an answer
	}
	answer.KeepFirst(&d.Answer.Model, v.Get("model"))
	c := d.OnlyChoice()
	d.Answered = true
	from := v
	if message.GetObject() != nil {
		from = message
	}
	d.Emit(c, bench.Reasoning, answer.Str(from.Get("thinking")))
	d.Emit(c, bench.Text, answer.Str(from.Get("content")))
	d.Emit(c, bench.Text, answer.Str(response))
	for _, call := range from.GetArray("tool_calls") {
		if function := call.Get("function"); function.GetObject() != nil {
			d.Call(c, c.CallAt(len(c.Calls)), answer.Str(call.Get("id")), function) // every call is complete
		}
	}
	if done != nil && done.Type() == fastjson.TypeTrue {
		endOllama(d, c, v, doc.Data)
	}
	return true
}

// endOllama reads the counts and times at the end of an answer.
func endOllama(d *answer.Builder, c *answer.Choice, v *fastjson.Value, data []byte) {
	d.Terminal = true
	d.TakeUsage(v)
	for _, name := range []string{"total_duration", "load_duration", "prompt_eval_duration", "eval_duration"} {
		d.Times.Value(name, v.Get(name), time.Nanosecond)
	}
	d.Finish(c, v.Get("done_reason"), nil, data)
}
