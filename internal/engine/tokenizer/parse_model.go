package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// modelFields are the scalar members of a model. What a file leaves out has
// the reference's default.
type modelFields struct {
	Type         string   `json:"type"`
	Dropout      *float64 `json:"dropout"`
	UnkToken     *string  `json:"unk_token"`
	Prefix       *string  `json:"continuing_subword_prefix"`
	Suffix       *string  `json:"end_of_word_suffix"`
	FuseUnk      bool     `json:"fuse_unk"`
	ByteFallback bool     `json:"byte_fallback"`
	IgnoreMerges bool     `json:"ignore_merges"`
	UnkID        *int     `json:"unk_id"`
	MaxChars     int      `json:"max_input_chars_per_word"`
}

// maxID bounds ids, so that a broken file cannot exhaust the memory and merges fit
// their table.
const maxID = 1<<mergeBits - 1

// model builds the model. byteLevel reports whether pieces come from a byte-level
// pre-tokenizer.
func (p *parser) model(all map[string]json.RawMessage, byteLevel bool) (model, error) {
	vocabJSON, merges := all["vocab"], all["merges"]
	scalars := make(map[string]json.RawMessage, len(all))
	for k, v := range all {
		if k != "vocab" && k != "merges" {
			scalars[k] = v
		}
	}
	text, err := json.Marshal(scalars)
	if err != nil {
		return nil, err
	}
	f := modelFields{MaxChars: 100}
	if err := decodeInto(text, &f); err != nil {
		return nil, fmt.Errorf("unsupported: %w", err)
	}
	if f.Type == "" {
		f.Type = guessModel(all)
	}
	switch f.Type {
	case "BPE":
		return p.bpe(f, vocabJSON, merges, byteLevel)
	case "Unigram":
		return newUnigram(f, vocabJSON)
	case "WordPiece", "WordLevel":
		tokens, err := vocabTokens(vocabJSON)
		if err != nil {
			return nil, err
		}
		voc := newVocab(tokens, nil)
		unk, err := unknownID(f, voc, true)
		if err != nil {
			return nil, err
		}
		if f.Type == "WordLevel" {
			return &wordLevel{voc, unk}, nil
		}
		prefix := "##"
		if f.Prefix != nil {
			prefix = *f.Prefix
		}
		return newWordPiece(voc, prefix, unk, f.MaxChars), nil
	}
	return nil, fmt.Errorf("unsupported type %q", f.Type)
}

// guessModel names the model of files older than the type member.
func guessModel(all map[string]json.RawMessage) string {
	switch {
	case all["merges"] != nil:
		return "BPE"
	case all["max_input_chars_per_word"] != nil:
		return "WordPiece"
	case strings.HasPrefix(string(all["vocab"][:min(1, len(all["vocab"]))]), "["):
		return "Unigram"
	case all["unk_token"] != nil:
		return "WordLevel"
	}
	return ""
}

// vocabTokens reads a vocabulary object into tokens by id.
func vocabTokens(data json.RawMessage) ([]string, error) {
	c := cursor{data: data}
	var tokens []string
	c.object(func(token string) {
		id := c.index(maxID)
		if id >= len(tokens) {
			tokens = append(tokens, make([]string, id+1-len(tokens))...)
		}
		tokens[id] = token
	})
	if c.err != nil {
		return nil, fmt.Errorf("vocab: %w", c.err)
	}
	return tokens, nil
}

// unknownID returns the id of unk_token; noValue if the model has none.
func unknownID(f modelFields, voc *vocab, required bool) (uint32, error) {
	if f.UnkToken == nil || *f.UnkToken == "" {
		if required {
			return noValue, errors.New("unk_token is missing")
		}
		return noValue, nil
	}
	id, ok := voc.lookup(*f.UnkToken)
	if !ok {
		return noValue, fmt.Errorf("unk_token %q is not in the vocabulary", *f.UnkToken)
	}
	return id, nil
}

func (p *parser) bpe(f modelFields, vocabJSON, merges json.RawMessage, byteLevel bool) (model, error) {
	if f.Dropout != nil && *f.Dropout != 0 {
		return nil, errors.New("unsupported dropout: it makes counts random")
	}
	tokens, err := vocabTokens(vocabJSON)
	if err != nil {
		return nil, err
	}
	m := &bpe{
		vocab:        newVocab(tokens, nil),
		unk:          noValue,
		fuseUnk:      f.FuseUnk,
		byteFallback: f.ByteFallback,
		takeWhole:    f.IgnoreMerges,
		reachable:    make([]atomic.Uint32, len(tokens)/16+1),
	}
	if f.Prefix != nil {
		m.prefix = *f.Prefix
	}
	if f.Suffix != nil {
		m.suffix = *f.Suffix
	}
	if err := m.setMerges(merges); err != nil {
		return nil, fmt.Errorf("merges: %w", err)
	}
	if byteLevel && m.prefix == "" && m.suffix == "" {
		if plain, ok := m.toBytes(tokens, p.alphabet); ok {
			p.plain = plain
			return m, nil
		}
	}
	if m.unk, err = unknownID(f, m.vocab, false); err != nil {
		return nil, err
	}
	m.fallback = fallbackIDs(m.vocab)
	return m, nil
}

// toBytes changes a byte-level vocabulary from characters to raw bytes and
// returns the ids that are not made of the byte alphabet. It does nothing, and
// ok is false, if some byte has no token.
func (m *bpe) toBytes(tokens []string, a *byteAlphabet) (plain map[uint32]bool, ok bool) {
	for b := range m.byteIDs {
		id, ok := m.vocab.lookup(string(a.chars[b]))
		if !ok {
			return nil, false
		}
		m.byteIDs[b] = id
	}
	plain = make(map[uint32]bool)
	for id, s := range tokens {
		r, ok := a.toBytes(s)
		if !ok {
			plain[uint32(id)] = true
			continue
		}
		tokens[id] = r
	}
	m.vocab = newVocab(tokens, func(id int) bool { return plain[uint32(id)] })
	m.byteMode = true
	return plain, true
}

// setMerges fills the merge table from a list of "left right" or ["left",
// "right"]. A pair that is listed twice has its later rank.
func (m *bpe) setMerges(data json.RawMessage) error {
	type merge struct{ left, right, to uint32 }
	var all []merge
	var bad error
	c := cursor{data: data}
	pair := make([]string, 0, 2)
	c.array(func() {
		if c.peek() == '[' {
			pair = pair[:0]
			c.array(func() { pair = append(pair, c.string()) })
		} else {
			left, right, _ := strings.Cut(c.string(), " ")
			pair = append(pair[:0], left, right)
		}
		if c.err != nil || bad != nil || len(pair) != 2 {
			bad = firstErr(bad, "merge %d is no pair", len(all))
			return
		}
		l, ok1 := m.vocab.lookup(pair[0])
		r, ok2 := m.vocab.lookup(pair[1])
		to, ok3 := m.vocab.lookup(pair[0] + strings.TrimPrefix(pair[1], m.prefix))
		if !ok1 || !ok2 || !ok3 {
			bad = firstErr(bad, "merge %d %q is outside the vocabulary", len(all), slices.Clone(pair))
		}
		all = append(all, merge{l, r, to})
	})
	if err := errors.Join(c.err, bad); err != nil {
		return err
	}
	if len(all) > maxID {
		return fmt.Errorf("unsupported number %d, accepted: up to %d", len(all), maxID)
	}
	m.merges = newMerges(len(all))
	m.results = make([]uint32, len(all))
	for rank, e := range all {
		m.merges.put(e.left, e.right, uint32(rank))
		m.results[rank] = e.to
	}
	return nil
}

// firstErr keeps the first error.
func firstErr(first error, format string, args ...any) error {
	if first != nil {
		return first
	}
	return fmt.Errorf(format, args...)
}

func newUnigram(f modelFields, vocabJSON json.RawMessage) (model, error) {
	m := &unigram{unk: noValue, byteFallback: f.ByteFallback}
	var tokens []string
	lowest := 0.0
	c := cursor{data: vocabJSON}
	c.array(func() {
		n := 0
		c.array(func() {
			if n++; n == 1 {
				tokens = append(tokens, c.string())
				return
			}
			m.scores = append(m.scores, c.number())
			lowest = min(lowest, m.scores[len(m.scores)-1])
		})
		if n != 2 {
			c.fail("a pair of token and score")
		}
	})
	switch {
	case c.err != nil:
		return nil, fmt.Errorf("vocab: %w", c.err)
	case len(tokens) == 0 || len(tokens) > maxID:
		return nil, fmt.Errorf("vocab: unsupported size %d", len(tokens))
	case f.UnkID != nil && (*f.UnkID < 0 || *f.UnkID >= len(tokens)):
		return nil, fmt.Errorf("unk_id %d is not in the vocabulary", *f.UnkID)
	case f.UnkID != nil:
		m.unk = uint32(*f.UnkID)
	}
	m.unkScore = lowest - unkPenalty
	m.vocab = newVocab(tokens, nil)
	m.trie = newTrie(vocabTexts(m.vocab))
	m.fallback = fallbackIDs(m.vocab)
	return m, nil
}
