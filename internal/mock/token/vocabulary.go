package token

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"aiperfd/internal/mock/random"
)

// Sizes of the vocabulary: the first ids are single bytes, as in models with byte
// fallback; the others are assigned to pieces on demand.
const (
	byteIDs     = 256
	vocabSize   = 128_000
	longestWord = 32 // bytes; longer pieces (runs of blanks) are encoded as bytes
)

// Vocabulary assigns ids to pieces of text, the same ones in every run unless hashes of
// pieces collide, and decodes them. Its size is bounded. It is safe for concurrent use.
type Vocabulary struct {
	tokenizer Tokenizer
	prose     Corpus

	mu     sync.Mutex
	ids    map[string]int // guarded by mu
	pieces map[int]string // guarded by mu
}

// NewVocabulary returns the vocabulary of a tokenizer. Ids that are not assigned decode
// to words of prose.
func NewVocabulary(t Tokenizer, prose Corpus) *Vocabulary {
	return &Vocabulary{tokenizer: t, prose: prose}
}

// Encode returns the ids of text: those of the tokenizer if it has any, otherwise those
// of the vocabulary.
func (v *Vocabulary) Encode(text string) []int {
	if own, ok := v.tokenizer.(codecTokenizer); ok {
		return own.codec.Encode(text)
	}
	ids := []int{}
	for _, piece := range v.tokenizer.Pieces(text) {
		ids = v.appendIDs(ids, piece)
	}
	return ids
}

// Decode returns the text of ids. An id that is not assigned decodes to a word of the
// prose, so that the tokens of any model have a text.
func (v *Vocabulary) Decode(ids []int) string {
	if own, ok := v.tokenizer.(codecTokenizer); ok {
		return own.codec.Decode(ids)
	}
	var text []byte
	for _, id := range ids {
		piece := v.own(id)
		if piece == "" {
			piece = v.prose.Pieces[id%len(v.prose.Pieces)].Text
		}
		text = append(text, piece...)
	}
	return string(text)
}

// Piece returns the text of one id; "" if it is not assigned.
func (v *Vocabulary) Piece(id int) string {
	if own, ok := v.tokenizer.(codecTokenizer); ok {
		return own.codec.Decode([]int{id})
	}
	return v.own(id)
}

// appendIDs appends the ids of a piece: one, or one per byte if the piece is too long or
// no id is left.
func (v *Vocabulary) appendIDs(ids []int, piece string) []int {
	if len(piece) > 1 && len(piece) <= longestWord {
		if id, ok := v.id(piece); ok {
			return append(ids, id)
		}
	}
	for i := range len(piece) {
		ids = append(ids, int(piece[i]))
	}
	return ids
}

func (v *Vocabulary) id(piece string) (int, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id, ok := v.ids[piece]; ok {
		return id, true
	}
	const room = vocabSize - byteIDs
	if len(v.ids) >= room/2 { // above, the search for a free id takes long
		return 0, false
	}
	if v.ids == nil {
		v.ids, v.pieces = map[string]int{}, map[int]string{}
	}
	place := int(random.Hash(0, []byte(piece)) % room)
	for v.pieces[byteIDs+place] != "" {
		place = (place + 1) % room
	}
	id := byteIDs + place
	v.ids[piece], v.pieces[id] = id, piece
	return id, true
}

// own returns the text of an id of the vocabulary; "" if it is not assigned.
func (v *Vocabulary) own(id int) string {
	if id < byteIDs {
		return string([]byte{byte(id)})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pieces[id]
}

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
