package tokenizer

import (
	"strings"
	"sync"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// pipeline is a complete tokenizer: added tokens, normalizer, pre-tokenizer,
// model, decoder. Immutable after its constructor.
type pipeline struct {
	name, method string
	added        *addedSet // searched in the raw text; may be nil
	addedNormed  *addedSet // searched in the normalized text; may be nil
	normalizer   normalizer
	pre          preTokenizer // nil: a text is one piece
	model        model
	decoder      decoder

	size    int               // largest id plus one
	byAdded map[uint32]string // added tokens; they shadow the vocabulary
	special map[uint32]bool   // ids that ordinary text does not produce
	framing framing

	// alphabet is set if the vocabulary holds raw bytes that decoders expect as
	// characters; plain are the ids that are stored as characters all the same.
	alphabet *byteAlphabet
	plain    map[uint32]bool
	// direct skips the decoders: the text is the bytes of the tokens.
	direct bool

	buffers sync.Pool // Of *scratch, recycled between calls
}

var _ Tokenizer = (*pipeline)(nil)

func (t *pipeline) Name() string   { return t.name }
func (t *pipeline) Method() string { return t.method }
func (t *pipeline) VocabSize() int { return t.size }

// SpecialTokensToAdd implements [Tokenizer].
func (t *pipeline) SpecialTokensToAdd() int { return len(t.framing.before) + len(t.framing.after) }

// Framing returns the ids that the post-processor puts around a single sequence. Callers
// do not change them.
func (t *pipeline) Framing() (before, after []int) { return t.framing.before, t.framing.after }

// Base implements [Tokenizer] with the numbers that Transformers and tiktoken have as
// vocab_size and all_special_ids, if all special tokens are marked in tokenizer.json.
func (t *pipeline) Base() (size int, reserved []int) {
	v := t.model.vocabulary()
	marked := map[int]bool{}
	for _, set := range []*addedSet{t.added, t.addedNormed} {
		if set == nil {
			continue
		}
		size = v.count
		for _, a := range set.tokens {
			marked[int(a.ID)] = a.Special
		}
	}
	if size == 0 {
		size = t.size
	}
	for id := range size {
		if marked[id] || id >= v.size() || v.text(uint32(id)) == "" {
			reserved = append(reserved, id)
		}
	}
	return size, reserved
}

func (t *pipeline) Encode(text string) []int {
	sc := t.scratch()
	defer t.release(sc)
	sc.ids = t.encode(sc, sc.ids[:0], text)
	out := make([]int, len(sc.ids))
	for i, id := range sc.ids {
		out[i] = int(id)
	}
	return out
}

func (t *pipeline) Count(text string) int {
	sc := t.scratch()
	defer t.release(sc)
	sc.ids = t.encode(sc, sc.ids[:0], text)
	return len(sc.ids)
}

func (t *pipeline) scratch() *scratch {
	if sc, ok := t.buffers.Get().(*scratch); ok {
		return sc
	}
	return new(scratch)
}

func (t *pipeline) release(sc *scratch) {
	if sc.forget() {
		t.buffers.Put(sc)
	}
}

func (t *pipeline) encode(sc *scratch, dst []uint32, text string) []uint32 {
	text = ValidUTF8(text)
	if t.added == nil {
		return t.encodeRaw(sc, dst, text, true)
	}
	at := 0
	for _, f := range t.added.find(nil, text) {
		if f.Start > at {
			dst = t.encodeRaw(sc, dst, text[at:f.Start], at == 0)
		}
		dst = append(dst, f.id)
		at = f.End
	}
	if at < len(text) {
		dst = t.encodeRaw(sc, dst, text[at:], at == 0)
	}
	return dst
}

// encodeRaw encodes text between added tokens; head reports whether it starts the input.
func (t *pipeline) encodeRaw(sc *scratch, dst []uint32, text string, head bool) []uint32 {
	if t.normalizer != nil {
		var cut bool
		text, cut = t.normalizer.normalize(text)
		head = head && !cut
	}
	if t.addedNormed == nil {
		return t.encodePiece(sc, dst, piece{text, head})
	}
	at := 0
	for _, f := range t.addedNormed.find(nil, text) {
		if f.Start > at {
			dst = t.encodePiece(sc, dst, piece{text[at:f.Start], head && at == 0})
		}
		dst = append(dst, f.id)
		at = f.End
	}
	return t.encodePiece(sc, dst, piece{text[at:], head && at == 0})
}

func (t *pipeline) encodePiece(sc *scratch, dst []uint32, p piece) []uint32 {
	if p.text == "" {
		return dst
	}
	if t.pre == nil {
		return t.model.encode(sc, dst, p.text)
	}
	if s, ok := t.pre.(splitter); ok && s.behavior == behaviorIsolated {
		if m, ok := s.matcher.(pattern.Scanner); ok {
			return t.encodeScan(sc, dst, p.text, m)
		}
	}
	sc.pieces = t.pre.split(sc, sc.pieces[:0], p)
	for _, q := range sc.pieces {
		dst = t.model.encode(sc, dst, q.text)
	}
	return dst
}

// encodeScan encodes while it scans, the common case, without a list of pieces.
func (t *pipeline) encodeScan(sc *scratch, dst []uint32, text string, m pattern.Scanner) []uint32 {
	gap := 0 // where text without a match began
	for i := 0; i < len(text); {
		end := m.Scan(m.Classes, text, i)
		if end == i {
			_, w := m.Classes.At(text, i)
			i += w
			continue
		}
		if gap < i {
			dst = t.model.encode(sc, dst, text[gap:i])
		}
		dst = t.model.encode(sc, dst, text[i:end])
		i, gap = end, end
	}
	if gap < len(text) {
		dst = t.model.encode(sc, dst, text[gap:])
	}
	return dst
}

func (t *pipeline) Decode(ids []int) string {
	if t.direct {
		return t.decodeDirect(ids)
	}
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		if s, ok := t.token(id); ok {
			tokens = append(tokens, s)
		}
	}
	return strings.Join(t.decoder.decode(tokens), "")
}

func (t *pipeline) decodeDirect(ids []int) string {
	v := t.model.vocabulary()
	var b strings.Builder
	b.Grow(4 * len(ids))
	for _, id := range ids {
		if id < 0 || id >= t.size {
			continue
		}
		s, ok := t.byAdded[uint32(id)]
		if !ok && !t.plain[uint32(id)] {
			b.WriteString(v.text(uint32(id)))
			continue
		}
		if !ok {
			s = v.text(uint32(id))
		}
		b.WriteString(byteLevelDec{t.alphabet}.bytes(s))
	}
	return ValidUTF8(b.String())
}

// token returns the string of id as decoders expect it.
func (t *pipeline) token(id int) (string, bool) {
	if id < 0 || id >= t.size {
		return "", false
	}
	if s, ok := t.byAdded[uint32(id)]; ok {
		return s, true
	}
	s := t.model.vocabulary().text(uint32(id))
	if s != "" && t.alphabet != nil && !t.plain[uint32(id)] {
		s = t.alphabet.toChars(s)
	}
	return s, s != ""
}

// isSpecial reports whether id is not ordinary text: an added token or the
// unknown token.
func (t *pipeline) isSpecial(id int) bool {
	return id < 0 || t.special[uint32(id)]
}
