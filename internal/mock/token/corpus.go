package token

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/mock/random"
)

// Prose is the text of answers with the content ContentCorpus. It ends in a paragraph
// break, so that it can be repeated.
//
//go:embed prose.txt
var Prose string

// Scripts is the text of answers with the content ContentUnicode: characters of two,
// three and four bytes, combining and right-to-left ones.
//
//go:embed scripts.txt
var Scripts string

// Piece is one token of output.
type Piece struct {
	Text string
	JSON string // text escaped for a JSON string
	ID   uint32
}

// Corpus is a text cut into tokens. It is immutable.
type Corpus struct {
	Pieces []Piece
	Starts []int // indexes at which a sentence begins
}

// NewCorpus cuts text, which is not empty.
func NewCorpus(t Tokenizer, text string) Corpus {
	c := Corpus{Pieces: Cut(t, text), Starts: []int{0}}
	ended := false
	for i, p := range c.Pieces {
		if word := strings.TrimSpace(p.Text); word != "" {
			// A start loses its leading space and must still be one token then.
			if ended && word[0] >= 'A' && word[0] <= 'Z' && t.Count(word) == 1 {
				c.Starts = append(c.Starts, i)
			}
			ended = word == "."
		}
	}
	return c
}

// Cut cuts a text into its tokens.
func Cut(t Tokenizer, text string) []Piece {
	texts, ids := t.Pieces(text), t.Identify(text)
	pieces := make([]Piece, len(texts))
	for i, s := range texts {
		pieces[i] = Piece{Text: s, JSON: string(AppendEscaped(nil, s)), ID: ids[i]}
	}
	return pieces
}

const hexDigits = "0123456789abcdef"

// AppendEscaped appends s escaped for a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD;
// HTML characters are not escaped.
func AppendEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// Passage is an endless text that begins at some index of a list of pieces and repeats
// them. The list must not be empty.
type Passage struct {
	Pieces []Piece
	Start  int
}

// AppendJSON appends token number i of the passage, escaped for JSON. The first
// token loses its leading space.
func (p *Passage) AppendJSON(dst []byte, i int) []byte {
	s := p.Pieces[(p.Start+i)%len(p.Pieces)].JSON
	if i == 0 && len(s) > 1 && s[0] == ' ' {
		s = s[1:]
	}
	return append(dst, s...)
}

// Identify returns the number of token i of the passage.
func (p *Passage) Identify(i int) uint32 {
	at := &p.Pieces[(p.Start+i)%len(p.Pieces)]
	if i == 0 && len(at.Text) > 1 && at.Text[0] == ' ' {
		return random.Checksum(at.Text[1:])
	}
	return at.ID
}
