package mock

import (
	"math/rand/v2"

	"aiperfd/internal/mock/seed"
	"aiperfd/internal/mock/token"
)

// choice is one generated text.
type choice struct {
	index     int
	text      token.Passage
	thoughts  token.Passage
	reasoning int    // tokens of reasoning, first
	total     int    // tokens, reasoning included
	finish    string // "length", "stop" or "tool_calls"
	calls     []toolCall
	refused   bool // the text is a refusal
}

// appendTokens appends the tokens from, from+1 … to−1, escaped for JSON.
func (c *choice) appendTokens(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		if i < c.reasoning {
			dst = c.thoughts.AppendJSON(dst, i)
		} else {
			dst = c.text.AppendJSON(dst, i-c.reasoning)
		}
	}
	return dst
}

// plan decides lengths and texts of all choices. It depends on the seeds and the
// request only.
func (m *model) plan(q *textRequest, reasoning bool) []choice {
	choices := make([]choice, 0, len(q.prompts)*q.n)
	for i := range q.prompts {
		for k := range q.n {
			salt := seed.Mix(m.opt.Seed^q.seed, uint64(q.prompts[i].hash)+uint64(k)<<32)
			c := choice{index: len(choices), text: m.passageFor(&q.prompts[i], salt)}
			thoughts := 0
			if reasoning && m.opt.ReasoningTokens > 0 {
				thoughts = m.opt.ReasoningTokens
				c.thoughts = m.proseFor(seed.Mix(salt, 1))
			}
			room := max(1, m.opt.MaxModelLen-q.prompts[i].tokens)
			c.total, c.finish = m.outputLength(q, salt, thoughts, room)
			c.reasoning = min(thoughts, c.total)
			if q.wish != nil || m.opt.RefusalRate > 0 {
				if q.maxTokens > 0 {
					room = min(room, q.maxTokens)
				}
				m.grant(q, &c, salt, room)
			}
			choices = append(choices, c)
		}
	}
	return choices
}

// outputLength returns the number of output tokens and the finish reason.
func (m *model) outputLength(q *textRequest, salt uint64, thoughts, room int) (int, string) {
	if q.silent {
		return 0, "stop"
	}
	if q.length > 0 {
		if q.maxTokens > 0 && q.maxTokens < q.length {
			return q.maxTokens, "length"
		}
		return q.length, "stop"
	}
	if q.maxTokens > 0 && (q.ignoreEOS || m.opt.OutputMode == OutputExact) {
		return q.maxTokens, "length"
	}
	rng := rand.New(rand.NewPCG(salt, m.opt.Seed))
	n := max(m.opt.OutputTokens.Draw(rng)+thoughts, q.minTokens)
	limit := room
	if q.maxTokens > 0 {
		limit = min(limit, q.maxTokens)
	}
	if n >= limit {
		return limit, "length"
	}
	return n, "stop"
}

func longestChoice(choices []choice) int {
	longest := 0
	for i := range choices {
		longest = max(longest, choices[i].total)
	}
	return longest
}

// tokens sums up output and reasoning tokens over choices.
func tokens(choices []choice) (output, reasoning int) {
	for i := range choices {
		output += choices[i].total
		reasoning += choices[i].reasoning
	}
	return output, reasoning
}

// passageFor picks the text of an answer: the same for the same seed and prompt.
func (m *model) passageFor(p *prompt, salt uint64) token.Passage {
	if m.opt.Content == ContentEcho && p.echo != "" {
		return token.Passage{Pieces: token.Cut(m.opt.Tokenizer, p.echo)}
	}
	if m.opt.Content == ContentUnicode {
		return token.Passage{Pieces: m.scripts.Pieces, Start: m.scripts.Starts[salt%uint64(len(m.scripts.Starts))]}
	}
	return m.proseFor(salt)
}

func (m *model) proseFor(salt uint64) token.Passage {
	return token.Passage{Pieces: m.prose.Pieces, Start: m.prose.Starts[salt%uint64(len(m.prose.Starts))]}
}
