package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// document is a tokenizer.json without its model. Truncation and padding
// limit the input of a model; they do not affect counts, so they are not read.
type document struct {
	added         []addedToken
	normalizer    json.RawMessage
	preTokenizer  json.RawMessage
	postProcessor json.RawMessage
	decoder       json.RawMessage
}

// parser turns a document into a pipeline and records the components that it found.
type parser struct {
	alphabet *byteAlphabet
	rawBytes bool            // the model takes raw bytes after the byte-level pre-tokenizer
	generic  bool            // some pattern runs on the generic engine
	plain    map[uint32]bool // ids of a byte vocabulary that are not made of the byte alphabet
}

// MaxFile bounds a tokenizer.json, in bytes, so that the edges of its tries fit their
// table. The largest vocabularies of today have files of 40 MB.
const MaxFile = 1<<edgeBits - 1

// parse reads a tokenizer.json.
func parse(name string, data []byte) (*pipeline, error) {
	var doc document
	var modelJSON map[string]json.RawMessage
	if len(data) > MaxFile {
		return nil, fmt.Errorf("unsupported size: %d bytes, accepted: up to %d", len(data), MaxFile)
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("parse json: %w", json.Unmarshal(data, &struct{}{}))
	}
	root, err := members(data)
	if err != nil || root["model"] == nil {
		return nil, errors.New("no tokenizer.json: member model is missing")
	}
	if modelJSON, err = members(root["model"]); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	doc.normalizer, doc.preTokenizer = root["normalizer"], root["pre_tokenizer"]
	doc.postProcessor, doc.decoder = root["post_processor"], root["decoder"]
	if err := decodeInto(root["added_tokens"], &doc.added); err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	p := &parser{alphabet: newByteAlphabet()}
	t, err := p.pipeline(doc, modelJSON)
	if err != nil {
		return nil, err
	}
	engine := ""
	if p.generic {
		engine = " (generic pattern engine)"
	}
	t.name = name
	t.method = fmt.Sprintf("tokenizer.json %s%s sha256:%.6x", t.model.kind(), engine, sha256.Sum256(data))
	return t, nil
}

// decodeInto decodes strictly: an unknown member may change the
// result, so it is an error. Absent data leaves v alone.
func decodeInto(data json.RawMessage, v any) error {
	if data == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func (p *parser) pipeline(doc document, modelJSON map[string]json.RawMessage) (*pipeline, error) {
	m, err := p.model(modelJSON, endsInByteLevel(doc.preTokenizer))
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	t := &pipeline{model: m, size: m.vocabulary().size()}
	if b, ok := m.(*bpe); ok && b.byteMode {
		p.rawBytes = true
		t.alphabet = p.alphabet
		t.plain = p.plain
	}
	if doc.normalizer != nil {
		if t.normalizer, err = p.normalizer(doc.normalizer); err != nil {
			return nil, fmt.Errorf("normalizer: %w", err)
		}
	}
	if doc.preTokenizer != nil {
		if t.pre, err = p.preTokenizer(doc.preTokenizer); err != nil {
			return nil, fmt.Errorf("pre_tokenizer: %w", err)
		}
	}
	t.decoder = joinDec{}
	if doc.decoder != nil {
		if t.decoder, err = p.decoder(doc.decoder); err != nil {
			return nil, fmt.Errorf("decoder: %w", err)
		}
	}
	_, byteLevel := t.decoder.(byteLevelDec)
	t.direct = byteLevel && p.rawBytes
	if t.framing, err = readFraming(doc.postProcessor); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	t.setAdded(doc.added)
	t.markUnknown()
	return t, nil
}

// setAdded numbers the added tokens as the reference does (the model's id, else
// the next free one) and prepares the search for them.
func (t *pipeline) setAdded(tokens []addedToken) {
	t.byAdded, t.special = map[uint32]string{}, map[uint32]bool{}
	ids := make(map[string]uint32, len(tokens))
	var rawTokens, normTokens []addedToken
	var rawTexts, normTexts []string
	next := uint32(t.model.vocabulary().count)
	for _, a := range tokens {
		if a.Content == "" {
			continue
		}
		id, known := t.modelID(a.Content)
		if !known {
			id, known = ids[a.Content]
		}
		if !known {
			id = next
		}
		a.ID, ids[a.Content] = id, id
		next = max(next, id+1)
		t.byAdded[id], t.special[id] = a.Content, true
		t.size = max(t.size, int(id)+1)
		if !a.Normalized {
			rawTokens, rawTexts = append(rawTokens, a), append(rawTexts, a.Content)
			continue
		}
		text := a.Content
		if t.normalizer != nil {
			text, _ = t.normalizer.normalize(text)
			t.byAdded[id] = text
		}
		normTokens, normTexts = append(normTokens, a), append(normTexts, text)
	}
	t.added, t.addedNormed = newAddedSet(rawTokens, rawTexts), newAddedSet(normTokens, normTexts)
}

// modelID looks up a token by its string in tokenizer.json.
func (t *pipeline) modelID(content string) (uint32, bool) {
	v := t.model.vocabulary()
	if t.alphabet == nil {
		return v.lookup(content)
	}
	if bytes, ok := t.alphabet.toBytes(content); ok {
		return v.lookup(bytes)
	}
	for id := range t.plain {
		if v.text(id) == content {
			return id, true
		}
	}
	return 0, false
}

// markUnknown makes the unknown token special: no text spells it.
func (t *pipeline) markUnknown() {
	unk := noValue
	switch m := t.model.(type) {
	case *bpe:
		unk = m.unk
	case *unigram:
		unk = m.unk
	case *wordPiece:
		unk = m.unk
	case *wordLevel:
		unk = m.unk
	}
	if unk != noValue {
		t.special[unk] = true
	}
}
