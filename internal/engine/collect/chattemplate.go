package collect

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/jinja"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/tokenizer"
)

// The files in which models keep their chat template.
const (
	tokenizerConfigFile = "tokenizer_config.json"
	chatTemplateFile    = "chat_template.jinja"
)

// maxBeside bounds the other files in the folder of a tokenizer, in bytes.
const maxBeside = 16 << 20

// chat is the chat template of a tokenizer with its overhead.
type chat struct {
	template *jinja.Chat
	overhead int // tokens that it adds to a request of one message
}

// newChat reads the chat template in the folder of a tokenizer. beside reads a file of
// that folder.
func newChat(tok tokenizer.Tokenizer, beside func(file string) ([]byte, error)) (*chat, error) {
	if beside == nil {
		return nil, jinja.ErrNoChat
	}
	source, sourceErr := beside(chatTemplateFile)
	config, configErr := beside(tokenizerConfigFile)
	if sourceErr != nil && configErr != nil {
		return nil, jinja.ErrNoChat
	}
	t, err := jinja.ParseChat(config, source, time.Now)
	if err != nil {
		return nil, err
	}
	const word = "word"
	text, err := t.Render([]jinja.Message{{Role: "user", Content: word}})
	if err != nil {
		return nil, err
	}
	overhead := tok.Count(text) - tok.Count(word)
	if overhead < 0 || !strings.Contains(text, word) {
		return nil, errors.New("the template leaves the message out")
	}
	return &chat{t, overhead}, nil
}

// openChat opens the chat templates if the user requested them. Without a template,
// lengths are those of the texts, and the result has a warning.
func (x *TokenOptions) openChat(all *tokenizers) {
	if !x.Plan.Tokens.Template {
		return
	}
	if caps := &x.Plan.Kind.Caps; !caps.System || !caps.History || x.Plan.Kind.Name == "raw" {
		x.Warn("chat-template", "--apply-chat-template has no effect: requests of type "+x.Plan.Kind.Name+" carry no conversation")
		return
	}
	for _, tok := range all.distinct(x.Plan.Models.Names) {
		if tok == nil || tok.missing != "" {
			continue // another warning covers it
		}
		var err error
		if tok.chat, err = newChat(tok.Tokenizer, tok.beside); err != nil {
			x.Warn("chat-template", "prompt lengths exclude the chat template ("+tok.method+"): "+err.Error())
		}
	}
}

// SpecialTokensToAdd implements tokenizer.Tokenizer: with a chat template, it is the
// number of tokens that the template adds, special tokens included.
func (n *named) SpecialTokensToAdd() int {
	if n.chat != nil {
		return n.chat.overhead
	}
	return n.Tokenizer.SpecialTokensToAdd()
}

// messages returns the messages of a request in the order in which they were sent.
func messages(f *load.Finished) []jinja.Message {
	var out []jinja.Message
	add := func(role, content string) {
		out = append(out, jinja.Message{Role: role, Content: content})
	}
	turn := func(t *bench.Turn) {
		for _, m := range codec.MessagesOf(t) {
			add(cmp.Or(m.Role, "user"), strings.Join(m.Texts, "\n"))
		}
	}
	if f.Conversation.System != "" {
		add("system", f.Conversation.System)
	}
	if f.Conversation.Context != "" {
		add("user", f.Conversation.Context)
	}
	for i := range f.History {
		turn(&f.History[i].Turn)
		if !f.History[i].Unanswered {
			add("assistant", f.History[i].Answer.Text)
		}
	}
	turn(f.Turn())
	return out
}
