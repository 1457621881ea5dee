package mock

import (
	"strconv"

	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/seed"
	"aiperfd/internal/mock/token"
)

// logprob is a plausible log-probability of token i of a choice: the same each
// time that it is asked for.
func (c *choice) logprob(i int) float64 {
	return -float64(seed.Mix(uint64(c.piece(i).Id), uint64(i))%1500) / 1000
}

// Piece returns token i, reasoning included.
func (c *choice) piece(i int) *token.Piece {
	p := &c.text
	if i < c.reasoning {
		p = &c.thoughts
	} else {
		i -= c.reasoning
	}
	return &p.Pieces[(p.Start+i)%len(p.Pieces)]
}

// said returns the text of token i as the client gets it.
func (c *choice) said(i int) string {
	text := c.piece(i).Text
	if first := i == 0 || i == c.reasoning; first && len(text) > 1 && text[0] == ' ' {
		return text[1:]
	}
	return text
}

// alternatives calls each with the n most likely tokens at place i, the one that
// was taken first.
func (c *choice) alternatives(i, n int, each func(k int, text string, logprob float64)) {
	if n < 1 {
		return
	}
	base := c.logprob(i)
	each(0, c.said(i), base)
	for k := 1; k < n; k++ {
		// Marked, so that no alternative equals another.
		each(k, c.said(i)+strconv.Itoa(k), base-float64(k)*0.75)
	}
}

func appendLogprob(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'f', 3, 64) }

// appendLogprobs appends chat's object for the tokens from … to−1 of c.
func (chatDialect) appendLogprobs(dst []byte, c *choice, from, to, top int) []byte {
	dst = append(dst, `{"content":[`...)
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		dst = appendTokenLogprob(dst, c.said(i), c.logprob(i))
		dst = append(dst, `,"top_logprobs":[`...)
		c.alternatives(i, top, func(k int, text string, logprob float64) {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = appendTokenLogprob(dst, text, logprob)
			dst = append(dst, '}')
		})
		dst = append(dst, "]}"...)
	}
	return append(dst, "]}"...)
}

// appendTokenLogprob opens the object of a token.
func appendTokenLogprob(dst []byte, text string, logprob float64) []byte {
	dst = append(dst, `{"token":`...)
	dst = jsonappend.String(dst, text)
	dst = append(dst, `,"logprob":`...)
	dst = appendLogprob(dst, logprob)
	dst = append(dst, `,"bytes":[`...)
	for i := range len(text) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(text[i]), 10)
	}
	return append(dst, ']')
}

// appendLogprobs appends the object of completions for the tokens from … to−1.
func (completionDialect) appendLogprobs(dst []byte, c *choice, from, to, top int) []byte {
	dst = append(dst, `{"text_offset":[`...)
	list := func(each func(i int)) {
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, ',')
			}
			each(i)
		}
	}
	offset := 0
	for i := range from {
		offset += len(c.said(i))
	}
	list(func(i int) {
		dst = strconv.AppendInt(dst, int64(offset), 10)
		offset += len(c.said(i))
	})
	dst = append(dst, `],"token_logprobs":[`...)
	list(func(i int) { dst = appendLogprob(dst, c.logprob(i)) })
	dst = append(dst, `],"tokens":[`...)
	list(func(i int) { dst = jsonappend.String(dst, c.said(i)) })
	dst = append(dst, `],"top_logprobs":[`...)
	list(func(i int) {
		dst = append(dst, '{')
		c.alternatives(i, top, func(k int, text string, logprob float64) {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = jsonappend.String(dst, text)
			dst = append(dst, ':')
			dst = appendLogprob(dst, logprob)
		})
		dst = append(dst, '}')
	})
	return append(dst, "]}"...)
}
