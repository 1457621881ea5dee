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
	reasoning int    // Tokens of reasoning, first
	total     int    // Tokens, reasoning included
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
func (s *Server) plan(q *textRequest, reasoning bool) []choice {
	choices := make([]choice, 0, len(q.prompts)*q.n)
	for i := range q.prompts {
		for k := range q.n {
			salt := seed.Mix(s.opt.Seed^q.seed, uint64(q.prompts[i].hash)+uint64(k)<<32)
			c := choice{index: len(choices), text: s.passageFor(&q.prompts[i], salt)}
			thoughts := 0
			if reasoning && s.opt.ReasoningTokens > 0 {
				thoughts = s.opt.ReasoningTokens
				c.thoughts = s.proseFor(seed.Mix(salt, 1))
			}
			room := max(1, s.opt.MaxModelLen-q.prompts[i].tokens)
			c.total, c.finish = s.outputLength(q, salt, thoughts, room)
			c.reasoning = min(thoughts, c.total)
			if q.wish != nil || s.opt.RefusalRate > 0 {
				if q.maxTokens > 0 {
					room = min(room, q.maxTokens)
				}
				s.grant(q, &c, salt, room)
			}
			choices = append(choices, c)
		}
	}
	return choices
}

// outputLength returns the number of output tokens and the finish reason.
func (s *Server) outputLength(q *textRequest, salt uint64, thoughts, room int) (int, string) {
	if q.silent {
		return 0, "stop"
	}
	if q.length > 0 {
		if q.maxTokens > 0 && q.maxTokens < q.length {
			return q.maxTokens, "length"
		}
		return q.length, "stop"
	}
	if q.maxTokens > 0 && (q.ignoreEOS || s.opt.OutputMode == OutputExact) {
		return q.maxTokens, "length"
	}
	rng := rand.New(rand.NewPCG(salt, s.opt.Seed))
	n := max(s.opt.OutputTokens.Draw(rng)+thoughts, q.minTokens)
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

// Tokens sums up output and reasoning tokens over choices.
func tokens(choices []choice) (output, reasoning int) {
	for i := range choices {
		output += choices[i].total
		reasoning += choices[i].reasoning
	}
	return output, reasoning
}

// passageFor picks the text of an answer: the same for the same seed and prompt.
func (s *Server) passageFor(p *prompt, salt uint64) token.Passage {
	if s.opt.Content == ContentEcho && p.echo != "" {
		return token.Passage{Pieces: token.Cut(s.opt.Tokenizer, p.echo)}
	}
	if s.opt.Content == ContentUnicode {
		return token.Passage{Pieces: s.scripts.Pieces, Start: s.scripts.Starts[salt%uint64(len(s.scripts.Starts))]}
	}
	return s.proseFor(salt)
}

func (s *Server) proseFor(salt uint64) token.Passage {
	return token.Passage{Pieces: s.prose.Pieces, Start: s.prose.Starts[salt%uint64(len(s.prose.Starts))]}
}
