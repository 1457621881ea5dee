package engine

import (
	"errors"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/chattemplate"
	"aiperfd/internal/engine/tokenizer"
)

// The files in which models keep their chat template.
const (
	tokenizerConfigFile = "tokenizer_config.json"
	chatTemplateFile    = "chat_template.jinja"
)

// maxBeside bounds the files beside a tokenizer, in bytes.
const maxBeside = 16 << 20

// chat is a tokenizer's chat template with what it costs.
type chat struct {
	template *chattemplate.Template
	overhead int // tokens that it adds to a request of one message
}

// newChat reads the chat template that lies beside a tokenizer; beside reads a file
// there.
func newChat(tok tokenizer.Tokenizer, beside func(file string) ([]byte, error)) (*chat, error) {
	if beside == nil {
		return nil, chattemplate.ErrNone
	}
	source, sourceErr := beside(chatTemplateFile)
	config, configErr := beside(tokenizerConfigFile)
	if sourceErr != nil && configErr != nil {
		return nil, chattemplate.ErrNone
	}
	t, err := chattemplate.Parse(config, source, time.Now)
	if err != nil {
		return nil, err
	}
	const word = "word"
	text, err := t.Render([]chattemplate.Message{{Role: "user", Content: word}})
	if err != nil {
		return nil, err
	}
	overhead := tok.Count(text) - tok.Count(word)
	if overhead < 0 || !strings.Contains(text, word) {
		return nil, errors.New("the template leaves the message out")
	}
	return &chat{t, overhead}, nil
}

// openChat takes the chat template into account if the user asks for it. Without
// one lengths are those of the texts, and the result says so.
func (x *execution) openChat(all *tokenizers) {
	if !x.plan.Tokens.Template {
		return
	}
	if caps := &x.plan.Kind.Caps; !caps.System || !caps.History || x.plan.Kind.Name == "raw" {
		x.warn("chat-template", "--apply-chat-template has no effect: requests of type "+x.plan.Kind.Name+" carry no conversation")
		return
	}
	for _, tok := range all.distinct(x.plan.Models.Names) {
		if tok == nil || tok.missing != "" {
			continue // another note says so
		}
		var err error
		if tok.chat, err = newChat(tok.Tokenizer, tok.beside); err != nil {
			x.warn("chat-template", "prompt lengths leave the chat template out ("+tok.method+"): "+err.Error())
		}
	}
}

// SpecialTokensToAdd implements tokenizer.Tokenizer: with a chat template it is what
// the template adds, special tokens included.
func (n *named) SpecialTokensToAdd() int {
	if n.chat != nil {
		return n.chat.overhead
	}
	return n.Tokenizer.SpecialTokensToAdd()
}

// messages are those of a request in the order in which they were sent.
func (f *finishing) messages() []chattemplate.Message {
	var out []chattemplate.Message
	add := func(role, content string) {
		out = append(out, chattemplate.Message{Role: role, Content: content})
	}
	turn := func(t *bench.Turn) {
		role := t.Role
		if role == "" {
			role = "user"
		}
		add(role, strings.Join(t.Texts, "\n"))
	}
	if f.talk.System != "" {
		add("system", f.talk.System)
	}
	if f.talk.Context != "" {
		add("user", f.talk.Context)
	}
	for i := range f.history {
		turn(&f.history[i].Turn)
		add("assistant", f.history[i].Answer.Text)
	}
	turn(&f.talk.Turns[f.rec.Turn])
	return out
}
