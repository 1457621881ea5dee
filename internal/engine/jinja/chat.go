package jinja

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nikolalohinski/gonja/v2/exec"

	"aiperfd/internal/engine/plainjson"
)

// Message is one message of a conversation.
type Message struct{ Role, Content string }

// Chat is the chat template of a model: it renders conversations as the text that a server builds
// from the messages of a request and counts. It comes from the repository of the model and has
// access to nothing else. It is immutable and safe for concurrent use.
type Chat struct {
	template *Template
	special  map[string]any // bos_token and the like
}

// ErrNoChat means that a model has no chat template.
var ErrNoChat = errors.New("the model has no chat template")

// maxChatSource bounds a template, in bytes. The largest known ones have some 25 KB.
const maxChatSource = 256 << 10

// tokenizerConfig holds the members of a tokenizer_config.json that are used.
type tokenizerConfig struct {
	Template json.RawMessage `json:"chat_template"`
}

// ParseChat reads a chat template: source is the content of chat_template.jinja, or
// config, that of tokenizer_config.json, contains it; both may be empty. now returns
// the date for templates that print it.
func ParseChat(config, source []byte, now func() time.Time) (*Chat, error) {
	var c tokenizerConfig
	names := map[string]json.RawMessage{}
	if len(config) > 0 {
		if err := errors.Join(json.Unmarshal(config, &c), json.Unmarshal(config, &names)); err != nil {
			return nil, fmt.Errorf("read tokenizer_config.json: %w", err)
		}
	}
	text := string(source)
	if text == "" {
		text = named(c.Template)
	}
	if text == "" {
		return nil, ErrNoChat
	}
	t := &Chat{special: map[string]any{}}
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"} {
		if token, ok := special(names[name]); ok {
			t.special[name] = token
		}
	}
	var err error
	// Python's library drops one line break at the end of a template, and one after
	// a backslash, which only occurs in the middle of a text.
	text = strings.ReplaceAll(text, "\\\n", "")
	t.template, err = Parse(strings.TrimSuffix(text, "\n"), Options{
		Functions: true, Lenient: true, TrimBlocks: true, MaxSource: maxChatSource,
		Filters: map[string]exec.FilterFunction{"tojson": toJSON},
		Globals: map[string]any{
			"raise_exception": raise,
			"strftime_now": func(_ *exec.Evaluator, args *exec.VarArgs) (string, error) {
				if len(args.Args) != 1 {
					return "", errors.New("strftime_now takes one format")
				}
				return strftime(args.Args[0].String(), now())
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// named returns the template of a tokenizer_config.json: a text, or the one called
// default of several named ones.
func named(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var several []struct{ Name, Template string }
	if json.Unmarshal(raw, &several) != nil {
		return ""
	}
	for _, s := range several {
		if s.Name == "default" {
			return s.Template
		}
	}
	return ""
}

// special returns a token of a tokenizer_config.json: a text, or an object that
// contains it.
func special(raw json.RawMessage) (string, bool) {
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		return *text, true
	}
	var token struct{ Content *string }
	if json.Unmarshal(raw, &token) == nil && token.Content != nil {
		return *token.Content, true
	}
	return "", false
}

// raise is raise_exception, with which a template refuses the conversation.
func raise(_ *exec.Evaluator, args *exec.VarArgs) (string, error) {
	reason := "the template refuses the conversation"
	if len(args.Args) > 0 {
		reason = args.Args[0].String()
	}
	return "", errors.New(reason)
}

// toJSON is the filter tojson as Transformers has it: nothing is escaped for HTML.
func toJSON(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	out, err := plainjson.Marshal(in.ToGoSimpleType(false))
	if err != nil {
		return exec.AsValue(fmt.Errorf("tojson: %w", err))
	}
	return exec.AsSafeValue(string(out))
}

// strftime formats a time. It supports the directives that templates use.
func strftime(format string, at time.Time) (string, error) {
	layouts := map[byte]string{
		'd': "02", 'm': "01", 'Y': "2006", 'y': "06", 'b': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday",
		'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'Z': "MST", 'z': "-0700", '%': "%",
	}
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := layouts[format[i]]
		if !ok {
			return "", fmt.Errorf("strftime_now does not support %%%c", format[i])
		}
		out.WriteString(at.Format(layout))
	}
	return out.String(), nil
}

// Render returns the text of a conversation, up to the beginning of the model's
// answer. The error is the reason if the template refuses it.
func (t *Chat) Render(messages []Message) (string, error) {
	list := make([]any, len(messages))
	for i, m := range messages {
		list[i] = map[string]any{"role": m.Role, "content": m.Content}
	}
	variables := map[string]any{"messages": list, "add_generation_prompt": true, "tools": nil, "documents": nil}
	maps.Copy(variables, t.special)
	text, err := t.template.Render(variables)
	return string(text), err
}
