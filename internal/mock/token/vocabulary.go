package token

import (
	"sync"

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
