package text

import (
	"strconv"

	"aiperfd/internal/mock/api"
)

func appendLogprob(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'f', 3, 64) }

// appendLogprobs appends chat's object for the tokens from … to−1 of c.
func (chat) appendLogprobs(dst []byte, c *api.Choice, from, to, top int) []byte {
	dst = append(dst, `{"content":[`...)
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		dst = appendTokenLogprob(dst, c.TokenText(i), c.Logprob(i))
		dst = append(dst, `,"top_logprobs":[`...)
		c.Alternatives(i, top, func(k int, text string, logprob float64) {
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
	dst = api.AppendString(dst, text)
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
func (completions) appendLogprobs(dst []byte, c *api.Choice, from, to, top int) []byte {
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
		offset += len(c.TokenText(i))
	}
	list(func(i int) {
		dst = strconv.AppendInt(dst, int64(offset), 10)
		offset += len(c.TokenText(i))
	})
	dst = append(dst, `],"token_logprobs":[`...)
	list(func(i int) { dst = appendLogprob(dst, c.Logprob(i)) })
	dst = append(dst, `],"tokens":[`...)
	list(func(i int) { dst = api.AppendString(dst, c.TokenText(i)) })
	dst = append(dst, `],"top_logprobs":[`...)
	list(func(i int) {
		dst = append(dst, '{')
		c.Alternatives(i, top, func(k int, text string, logprob float64) {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = api.AppendString(dst, text)
			dst = append(dst, ':')
			dst = appendLogprob(dst, logprob)
		})
		dst = append(dst, '}')
	})
	return append(dst, "]}"...)
}
