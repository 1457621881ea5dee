package collect

import (
	"strings"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/tokenizer"
)

// Tokens counts the tokens of requests and responses. Safe for concurrent use.
type Tokens struct {
	plan plan.Tokens
	caps bench.Caps

	all        tokenizers // as found; empty = no tokenizer is needed
	tokenizers tokenizers // empty = the client does not count

	answers    atomic.Int64 // that carry the server's count
	substitute *substitute  // of missing tokenizers; nil = none is missing
	counted    atomic.Bool  // a record has a count of the client
	refused    atomic.Int64 // requests that a chat template refuses
	refusal    atomic.Pointer[error]
	noInput    bool // requests carry no text, even if the dataset has some
}

// ByTokenizer returns the tokenizers of the run without repetition, each with its
// models, in the order of the given models. Models with different tokenizers get
// different prompts. A tokenizer is nil if none is needed.
func (c *Tokens) ByTokenizer(models []string) []ModelTokenizer {
	var out []ModelTokenizer
	for _, tok := range c.all.distinct(models) {
		m := ModelTokenizer{}
		if tok != nil {
			m.Tokenizer = tok
		}
		for _, model := range models {
			if own := c.all.byModel[model]; own != nil && own == tok {
				m.Models = append(m.Models, model)
			}
		}
		out = append(out, m)
	}
	return out
}

// ModelTokenizer is a tokenizer with its models; no models = all.
type ModelTokenizer struct {
	Tokenizer tokenizer.Tokenizer
	Models    []string
}

// Encode returns the tokens of a turn's texts.
func (c *Tokens) Encode(t *bench.Turn, model string) []int {
	encoder := c.all.of(model)
	var ids []int
	for _, named := range t.Named {
		for _, text := range named.Texts {
			ids = append(ids, encoder.Encode(text)...)
		}
	}
	for _, text := range t.Texts {
		ids = append(ids, encoder.Encode(text)...)
	}
	return ids
}

// Count returns the tokens of a text; 0 = the client does not count.
func (c *Tokens) Count(text string) bench.Tokens {
	if text == "" || c.tokenizers.first == nil {
		return 0
	}
	return bench.Tokens(c.tokenizers.first.Count(text))
}

// Substituted reports whether the built-in tokenizer replaces a missing one.
func (c *Tokens) Substituted() bool { return c.substitute != nil }

// SubstituteWarning describes the tokenizer that replaced a missing one, and how far
// lengths may be off; false = none was replaced, or it made no difference.
func (c *Tokens) SubstituteWarning() (bench.Warning, bool) {
	counted := c.counted.Load()
	if c.substitute == nil || c.plan.Fallback && !counted {
		return bench.Warning{}, false
	}
	return c.substitute.warning(counted && c.caps.ProducesTokens), true
}

// Refused returns how many requests a chat template refused, and an example of the
// reasons.
func (c *Tokens) Refused() (n int64, example error) {
	if n = c.refused.Load(); n > 0 {
		example = *c.refusal.Load()
	}
	return n, example
}

// Method describes who counts, for the report.
func (c *Tokens) Method() string {
	switch {
	case c.plan.Server:
		return "server-reported usage"
	case c.tokenizers.first == nil:
	case c.plan.Client:
		return c.tokenizers.methods()
	default:
		return "server-reported usage, otherwise " + c.tokenizers.methods()
	}
	return ""
}

// count fills the token fields of a record: from the usage block of the server, or
// from the client's count if the server sent none. If the user wants server counts
// only, missing ones stay unknown.
func (c *Tokens) count(f *load.Finished) {
	rec := f.Record
	tok := c.tokenizers.of(rec.Model)
	if tok != nil && rec.Stamps.Wrote != 0 {
		c.client(f, tok)
	}
	usage := rec.Answer.Usage
	if usage != nil && tok != nil && tok.missing != "" {
		c.substitute.compare(rec.ClientInput, usage.Input)
	}
	if c.plan.Client {
		c.byClient(rec)
		return
	}
	if usage != nil && usage.Output != nil {
		rec.TokenSource = bench.TokensServer
		rec.InputTokens = usage.Input
		reasoning := bench.Tokens(0)
		if usage.Reasoning != nil {
			reasoning = *usage.Reasoning
			rec.ReasoningTokens = usage.Reasoning
		}
		visible := max(0, *usage.Output-reasoning)
		rec.OutputTokens = &visible
		if rec.InputTokens == nil && !c.plan.Server {
			rec.InputTokens = rec.ClientInput
		}
		return
	}
	if c.plan.Server {
		if usage != nil {
			rec.InputTokens = usage.Input
		}
		return
	}
	if !c.caps.ProducesTokens && usage != nil && usage.Input != nil {
		rec.TokenSource, rec.InputTokens = bench.TokensServer, usage.Input
		return
	}
	if tok != nil {
		c.byClient(rec)
	}
}

// byClient fills the token fields with the client's counts.
func (c *Tokens) byClient(rec *bench.Record) {
	c.counted.Store(true)
	rec.TokenSource = bench.TokensClient
	rec.InputTokens, rec.OutputTokens, rec.ReasoningTokens = rec.ClientInput, rec.ClientOutput, rec.ClientReasoning
}

// client counts with the run's tokenizer: the texts of the request joined by one
// space, and all answer texts joined without a separator, tool calls included.
func (c *Tokens) client(f *load.Finished, tok *named) {
	rec, usage := f.Record, f.Record.Answer.Usage
	turn := f.Turn()
	compare := c.plan.Client || usage == nil || usage.Output == nil || c.compares()
	if c.noInput {
		rec.ClientInput = nil
	} else if turn.Script != nil {
		rec.ClientInput = new(turn.InputTokens) // whoever wrote it knows
	} else if tok.chat != nil && (turn.Payload == nil || len(codec.MessagesOf(turn)) > 0) {
		if compare || usage.Input == nil {
			rec.ClientInput = c.templated(f, tok)
		}
	} else if known := turn.InputTokens; known > 0 && (len(f.History) == 0 || !c.caps.History) && (f.Conversation.System == "" && f.Conversation.Context == "" || !c.caps.System) {
		rec.ClientInput = &known
	} else if compare || usage.Input == nil {
		n := bench.Tokens(tok.Count(strings.Join(texts(f, &c.caps), " ")))
		rec.ClientInput = &n
	}
	if compare && rec.Answer.Failure == nil { // no metric covers the answers of failed requests
		answerLengths(rec, tok)
	}
}

// templated counts a request with its chat template, or without it if the template
// refuses the conversation.
func (c *Tokens) templated(f *load.Finished, tok *named) *bench.Tokens {
	text, err := tok.chat.template.Render(messages(f))
	if err != nil {
		c.refused.Add(1)
		c.refusal.CompareAndSwap(nil, &err)
		text = strings.Join(texts(f, &c.caps), " ")
	}
	n := bench.Tokens(tok.Count(text))
	return &n
}

// answerLengths counts the tokens of the response.
func answerLengths(rec *bench.Record, tok tokenizer.Tokenizer) {
	var output, reasoning strings.Builder
	for i := range rec.Answer.Choices {
		choice := &rec.Answer.Choices[i]
		reasoning.WriteString(choice.Reasoning)
		output.WriteString(choice.Text)
		output.WriteString(choice.Refusal)
		for _, call := range choice.ToolCalls {
			output.WriteString(call.Name)
			output.WriteString(call.Arguments)
		}
	}
	if output.Len() > 0 {
		n := bench.Tokens(tok.Count(output.String()))
		rec.ClientOutput = &n
	}
	if reasoning.Len() > 0 {
		n := bench.Tokens(tok.Count(reasoning.String()))
		rec.ClientReasoning = &n
	}
}

// The client counts answers with a server count only for comparison: the first
// comparedAll of them, and then every comparedEvery-th. Counting all would be a tenth
// of the client's work.
const (
	comparedAll   = 1000
	comparedEvery = 8
)

func (c *Tokens) compares() bool {
	n := c.answers.Add(1)
	return n <= comparedAll || n%comparedEvery == 0
}

// texts returns the texts of a request in the order in which they were sent.
func texts(f *load.Finished, caps *bench.Caps) []string {
	var out []string
	if caps.System {
		for _, fixed := range []string{f.Conversation.System, f.Conversation.Context} {
			if fixed != "" {
				out = append(out, fixed)
			}
		}
	}
	if caps.History {
		for i := range f.History {
			out = appendTexts(out, &f.History[i].Turn)
			out = append(out, f.History[i].Answer.Text)
		}
	}
	turn := f.Turn()
	for _, named := range turn.Named {
		out = append(out, named.Texts...)
	}
	return appendTexts(out, turn)
}

// appendTexts appends the texts of a turn.
func appendTexts(out []string, t *bench.Turn) []string {
	for _, m := range codec.MessagesOf(t) {
		out = append(out, m.Texts...)
	}
	return out
}
