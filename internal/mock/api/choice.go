package api

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/token"
)

// Choice is one generated text.
type Choice struct {
	Index     int
	text      token.Passage
	thoughts  token.Passage
	Reasoning int    // tokens of reasoning, first
	Total     int    // tokens, reasoning included
	Finish    string // "length", "stop" or "tool_calls"
	Calls     []ToolCall
	Refused   bool         // the text is a refusal
	Drafts    []batch.Step // of speculative decoding, which give the tokens after the first; nil = there are none
}

// AppendTokens appends the tokens from, from+1 … to−1, escaped for JSON.
func (c *Choice) AppendTokens(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		if i < c.Reasoning {
			dst = c.thoughts.AppendJSON(dst, i)
		} else {
			dst = c.text.AppendJSON(dst, i-c.Reasoning)
		}
	}
	return dst
}

// Text returns the tokens from, from+1 … to−1 as plain text.
func (c *Choice) Text(from, to int) string {
	var text strings.Builder
	for i := from; i < to; i++ {
		text.WriteString(c.TokenText(i))
	}
	return text.String()
}

// Plan draws the lengths and texts of all choices. It depends only on the seeds and the
// request.
func (m *Model) Plan(q *Request, reasoning bool) []Choice {
	choices := make([]Choice, 0, len(q.Prompts)*q.N)
	for i := range q.Prompts {
		for k := range q.N {
			salt := random.Mix(m.Options.Seed^q.Seed, uint64(q.Prompts[i].Hash)+uint64(k)<<32)
			c := Choice{Index: len(choices), text: m.passageFor(&q.Prompts[i], salt)}
			thoughts := 0
			if reasoning && m.Options.ReasoningTokens > 0 {
				thoughts = m.Options.ReasoningTokens
				c.thoughts = m.proseFor(random.Mix(salt, 1))
			}
			room := max(1, m.Options.MaxModelLen-q.Prompts[i].Tokens)
			c.Total, c.Finish = m.outputLength(q, salt, thoughts, room)
			c.Reasoning = min(thoughts, c.Total)
			if q.Constraints != nil || m.Options.RefusalRate > 0 {
				if q.MaxTokens > 0 {
					room = min(room, q.MaxTokens)
				}
				m.apply(q, &c, salt, room)
			}
			m.speculate(q, &c)
			choices = append(choices, c)
		}
	}
	return choices
}

// outputLength returns the number of output tokens and the finish reason.
func (m *Model) outputLength(q *Request, salt uint64, thoughts, room int) (int, string) {
	if q.NoOutput {
		return 0, "stop"
	}
	if q.Length > 0 {
		if q.MaxTokens > 0 && q.MaxTokens < q.Length {
			return q.MaxTokens, "length"
		}
		return q.Length, "stop"
	}
	if q.MaxTokens > 0 && (q.IgnoreEOS || m.Options.OutputMode == options.OutputExact) {
		return q.MaxTokens, "length"
	}
	rng := rand.New(rand.NewPCG(salt, m.Options.Seed))
	n := max(m.Options.OutputTokens.Draw(rng)+thoughts, q.MinTokens)
	limit := room
	if q.MaxTokens > 0 {
		limit = min(limit, q.MaxTokens)
	}
	if n >= limit {
		return limit, "length"
	}
	return n, "stop"
}

// LongestChoice returns the number of tokens of the longest choice.
func LongestChoice(choices []Choice) int {
	longest := 0
	for i := range choices {
		longest = max(longest, choices[i].Total)
	}
	return longest
}

// Tokens returns the output and reasoning tokens of all choices.
func Tokens(choices []Choice) (output, reasoning int) {
	for i := range choices {
		output += choices[i].Total
		reasoning += choices[i].Reasoning
	}
	return output, reasoning
}

// passageFor selects the text of an answer: the same for the same seed and prompt.
func (m *Model) passageFor(p *Prompt, salt uint64) token.Passage {
	if m.Options.Content == options.ContentEcho && p.Echo != "" {
		return token.Passage{Pieces: token.Cut(m.Options.Tokenizer, p.Echo)}
	}
	if m.Options.Content == options.ContentUnicode {
		return token.Passage{Pieces: m.scripts.Pieces, Start: m.scripts.Starts[salt%uint64(len(m.scripts.Starts))]}
	}
	return m.proseFor(salt)
}

func (m *Model) proseFor(salt uint64) token.Passage {
	return token.Passage{Pieces: m.prose.Pieces, Start: m.prose.Starts[salt%uint64(len(m.prose.Starts))]}
}

// Logprob returns a plausible log-probability of token i, the same for every call.
func (c *Choice) Logprob(i int) float64 {
	return -float64(random.Mix(uint64(c.piece(i).ID), uint64(i))%1500) / 1000
}

// piece returns token i, reasoning included.
func (c *Choice) piece(i int) *token.Piece {
	p := &c.text
	if i < c.Reasoning {
		p = &c.thoughts
	} else {
		i -= c.Reasoning
	}
	return &p.Pieces[(p.Start+i)%len(p.Pieces)]
}

// TokenText returns the text of token i as the client receives it.
func (c *Choice) TokenText(i int) string {
	text := c.piece(i).Text
	if first := i == 0 || i == c.Reasoning; first && len(text) > 1 && text[0] == ' ' {
		return text[1:]
	}
	return text
}

// Alternatives calls each with the n most likely tokens at position i, the chosen one
// first.
func (c *Choice) Alternatives(i, n int, each func(k int, text string, logprob float64)) {
	if n < 1 {
		return
	}
	base := c.Logprob(i)
	each(0, c.TokenText(i), base)
	for k := 1; k < n; k++ {
		// The number makes alternatives distinct.
		each(k, c.TokenText(i)+strconv.Itoa(k), base-float64(k)*0.75)
	}
}

// Identify returns the tokens of the prompt, as many as it counts and at least
// one. What a protocol has counted without reading tokens gets numbers of its own.
func (p *Prompt) Identify() []uint32 {
	wanted := max(p.Tokens, 1)
	ids := p.ids[:min(len(p.ids), wanted)]
	for i := len(ids); i < wanted; i++ {
		ids = append(ids, uint32(random.Mix(uint64(p.Hash), uint64(i))))
	}
	return ids
}

// Identify returns the tokens of the answer, at least one. The answer's own are
// those that the next turn of a conversation repeats.
func (c *Choice) Identify() []uint32 {
	ids := make([]uint32, 0, max(c.Total, 1))
	for i := range c.Total {
		if i < c.Reasoning {
			ids = append(ids, ofRole("reasoning", c.thoughts.Identify(i)))
		} else {
			ids = append(ids, ofRole("assistant", c.text.Identify(i-c.Reasoning)))
		}
	}
	if len(ids) == 0 {
		ids = append(ids, 0)
	}
	return ids
}

// ofRole makes equal tokens of different roles distinct.
func ofRole(role string, id uint32) uint32 { return id ^ random.Checksum(role) }

// apply applies the constraints of the request to a planned choice. limit is the maximum
// number of tokens, reasoning included. It depends only on seeds and the request.
func (m *Model) apply(q *Request, c *Choice, salt uint64, limit int) {
	rng := rand.New(rand.NewPCG(salt, random.Mix(m.Options.Seed, 2)))
	w := q.Constraints
	switch {
	case q.Chat && rng.Float64() < m.Options.RefusalRate:
		c.Refused = true
		m.setText(c, limit, token.Cut(m.Options.Tokenizer, RefusalText))
	case w == nil:
	case len(w.Tools) > 0 && (w.MustCall || rng.Float64() < *m.Options.ToolRate):
		m.call(c, w, rng, limit)
	case w.choices != nil:
		m.setText(c, limit, token.Cut(m.Options.Tokenizer, w.choices[rng.IntN(len(w.choices))]))
	case w.Structured != nil:
		m.setText(c, limit, token.Cut(m.Options.Tokenizer, string(m.Conform(w.Structured, rng))))
	case w.AnyObject:
		m.setText(c, limit, token.Cut(m.Options.Tokenizer, string(m.Conform([]byte(anyObjectSchema), rng))))
	}
}

// RefusalText is the text of a refusal.
const RefusalText = "I'm sorry, but I can't help with that request."

// anyObjectSchema is the schema of the answer to a request for any JSON object.
const anyObjectSchema = `{"type":"object","properties":{"answer":{"type":"string"},` +
	`"confidence":{"type":"number","minimum":0,"maximum":1},"sources":{"type":"array","items":{"type":"string"}}}}`

// setText replaces the text of a choice with pieces, truncated to limit tokens.
func (m *Model) setText(c *Choice, limit int, pieces []token.Piece) {
	c.text = token.Passage{Pieces: pieces}
	c.Finish = "stop"
	c.Total = c.Reasoning + len(pieces)
	if len(pieces) == 0 {
		c.text = token.Passage{Pieces: []token.Piece{{}}} // not read, but a passage must not be empty
	}
	if c.Total > limit {
		c.Total, c.Finish = limit, "length"
		c.Reasoning = min(c.Reasoning, c.Total)
	}
}

// call replaces the text of a choice with tool calls.
func (m *Model) call(c *Choice, w *Constraints, rng *rand.Rand, limit int) {
	calls := m.Options.ParallelTools
	if w.OneCall {
		calls = 1
	}
	var pieces []token.Piece
	for range calls {
		t := w.Tools[rng.IntN(len(w.Tools))]
		from := len(pieces)
		name := string(token.AppendEscaped(nil, t.Name))
		pieces = append(pieces, token.Piece{Text: t.Name, JSON: name, ID: random.Checksum(t.Name)})
		arguments := []byte("{}")
		if t.Schema != nil {
			arguments = m.Conform(t.Schema, rng)
		}
		pieces = append(pieces, token.Cut(m.Options.Tokenizer, string(arguments))...)
		id := "call_" + strconv.FormatUint(rng.Uint64(), 36)
		c.Calls = append(c.Calls, ToolCall{ID: id, From: from, To: len(pieces)})
	}
	m.setText(c, limit, pieces)
	if c.Finish == "stop" {
		c.Finish = "tool_calls"
	}
}

// PartKind is the kind of a part of an answer.
type PartKind uint8

// The parts of an answer: reasoning first, then the text, or calls in its place.
const (
	Reasoning PartKind = iota
	Text
	Call
)

// Part is a part of a choice.
type Part struct {
	Kind     PartKind
	Index    int // among the parts
	Call     int // number of the call
	From, To int // its tokens: From … To−1, as far as they come
}

// PartAt returns the part of token i.
func (c *Choice) PartAt(i int) Part {
	if i < c.Reasoning {
		return Part{Kind: Reasoning, To: c.Reasoning}
	}
	p := Part{Kind: Text, From: c.Reasoning, To: c.Total}
	if c.Reasoning > 0 {
		p.Index = 1
	}
	for n := range c.Calls {
		if call := &c.Calls[n]; i < c.Reasoning+call.To {
			p.Kind, p.Index, p.Call = Call, p.Index+n, n
			p.From, p.To = c.Reasoning+call.From, min(c.Reasoning+call.To, c.Total)
			break
		}
	}
	return p
}

// Parts returns the parts that have tokens.
func (c *Choice) Parts() (parts []Part) {
	for at := 0; at < c.Total; {
		p := c.PartAt(at)
		parts = append(parts, p)
		at = p.To
	}
	return parts
}

// Bound limits an event that begins after the first sent tokens to one part of the
// choice: reasoning, the answer, the name of a call, or its arguments.
func (c *Choice) Bound(sent, k int) int {
	switch p := c.PartAt(sent); {
	case p.Kind == Text:
		return k
	case p.Kind == Call && sent == p.From:
		return min(k, 1)
	default:
		return min(k, p.To-sent)
	}
}
