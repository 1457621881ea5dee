// Package token has the tokenizers of the simulated server and the texts of its answers.
package token

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"aiperfd/internal/mock/random"
)

// Longest piece of one word and of one number in Words.
const (
	wordPiece  = 6 // letters
	digitPiece = 3 // digits
)

// Words is the built-in tokenizer: a token is a word of up to six letters with
// the space before it, a further part of a longer word, up to three digits, one
// ideograph, one other character, or a run of white space. English prose has
// about 1.3 tokens per word. It is stateless; the joined pieces equal the text, invalid
// UTF-8 included.
type Words struct{}

var _ Tokenizer = Words{}

// Count returns the number of tokens of text; 0 for "".
func (Words) Count(text string) int {
	n := 0
	for text != "" {
		text = text[nextPiece(text):]
		n++
	}
	return n
}

// Pieces returns the tokens of text in order. The strings share text's memory.
func (Words) Pieces(text string) []string {
	var pieces []string
	for text != "" {
		n := nextPiece(text)
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// Identify returns the checksums of the tokens.
func (Words) Identify(text string) []uint32 {
	ids := make([]uint32, 0, len(text)/4)
	for text != "" {
		n := nextPiece(text)
		ids = append(ids, random.Checksum(text[:n]))
		text = text[n:]
	}
	return ids
}

type charClass uint8

const (
	classOther charClass = iota
	classLetter
	classDigit
	classSpace
	classIdeograph
)

// nextPiece returns the length in bytes of the first token of s, which is not
// empty.
func nextPiece(s string) int {
	class, size := classify(s)
	if class == classSpace {
		end := spaceRun(s)
		if s[end-1] != ' ' || end == len(s) {
			return end
		}
		if end > 1 {
			return end - 1 // the last space belongs to the next word
		}
		class, size = classify(s[1:])
		return 1 + wordRun(s[1:], class, size)
	}
	return wordRun(s, class, size)
}

// wordRun returns the length of the token at the start of s, whose first
// character has the given class and size.
func wordRun(s string, class charClass, size int) int {
	limit := 1
	switch class {
	case classLetter:
		limit = wordPiece
	case classDigit:
		limit = digitPiece
	case classOther, classIdeograph, classSpace:
	}
	end := size
	for n := 1; n < limit && end < len(s); n++ {
		c, size := classify(s[end:])
		if c != class {
			break
		}
		end += size
	}
	return end
}

func spaceRun(s string) int {
	end := 0
	for end < len(s) {
		c, size := classify(s[end:])
		if c != classSpace {
			break
		}
		end += size
	}
	return end
}

// classify returns the class and size of the first character of s, which must not be
// empty.
func classify(s string) (charClass, int) {
	switch c := s[0]; {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return classLetter, 1
	case c == ' ', c >= '\t' && c <= '\r':
		return classSpace, 1
	case c >= '0' && c <= '9':
		return classDigit, 1
	case c < utf8.RuneSelf:
		return classOther, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return classIdeograph, size
	case unicode.IsLetter(r):
		return classLetter, size
	case unicode.IsSpace(r):
		return classSpace, size
	case unicode.IsDigit(r):
		return classDigit, size
	}
	return classOther, size
}

// Tokenizer counts and splits text. All methods must be safe for concurrent use and
// consistent: Count(t) equals len(Pieces(t)), and the joined pieces equal t. Identify returns
// a number for each token; equal tokens have equal numbers.
type Tokenizer interface {
	Count(text string) int
	Pieces(text string) []string
	Identify(text string) []uint32
}

// Codec is the interface of a tokenizer of another package. All methods must be safe for
// concurrent use.
type Codec interface {
	Count(text string) int
	Encode(text string) []int
	Decode(ids []int) string
}

// FromCodec returns a Tokenizer that uses c.
//
// A character of several tokens is the text of the last one; the others are empty, as if
// a server held back incomplete characters.
func FromCodec(c Codec) Tokenizer { return codecTokenizer{c} }

type codecTokenizer struct{ codec Codec }

var _ Tokenizer = codecTokenizer{}

func (t codecTokenizer) Count(text string) int { return t.codec.Count(text) }

// Pieces decodes token by token, each after the previous one, because some decoders drop
// the space before the first token.
func (t codecTokenizer) Pieces(text string) []string {
	const incomplete = "\uFFFD"
	ids := t.codec.Encode(text)
	pieces := make([]string, len(ids))
	from, shown := 0, "" // ids[from:i] decode to shown, all of it in pieces
	for i := range ids {
		full := t.codec.Decode(ids[from : i+1])
		if strings.HasSuffix(full, incomplete) && i < len(ids)-1 {
			continue
		}
		pieces[i] = strings.TrimPrefix(full, shown)
		from, shown = i, t.codec.Decode(ids[i:i+1])
	}
	return pieces
}

// framer is a Codec that knows the special tokens around a prompt, such as BOS.
type framer interface {
	Framing() (before, after []int)
}

// Framing returns the special tokens that a tokenizer puts around a prompt; most have
// none. Callers do not change them.
func Framing(t Tokenizer) (before, after []int) {
	if own, ok := t.(codecTokenizer); ok {
		if f, ok := own.codec.(framer); ok {
			return f.Framing()
		}
	}
	return nil, nil
}

// Identify returns the ids of the tokens.
func (t codecTokenizer) Identify(text string) []uint32 {
	ids := t.codec.Encode(text)
	out := make([]uint32, len(ids))
	for i, id := range ids {
		out[i] = uint32(id)
	}
	return out
}
