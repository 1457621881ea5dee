package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// typeOf returns the type member of a component.
func typeOf(data json.RawMessage) (string, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return "", err
	}
	return head.Type, nil
}

// fields decodes the members of a component into v, a pointer to a struct,
// strictly.
func fields(data json.RawMessage, kind string, v any) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	delete(all, "type")
	rest, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := decodeInto(rest, v); err != nil {
		return fmt.Errorf("%s: unsupported: %w", kind, err)
	}
	return nil
}

// patternJSON is {"String": …} or {"Regex": …}.
type patternJSON struct {
	String *string
	Regex  *string
}

func (p *parser) pattern(j patternJSON) (pattern.Matcher, error) {
	switch {
	case j.String != nil && *j.String != "":
		return pattern.Literal(*j.String), nil
	case j.Regex != nil:
		m, generic, err := pattern.Compile(*j.Regex)
		p.generic = p.generic || generic
		return m, err
	}
	return nil, errors.New("unsupported empty pattern")
}

func (p *parser) normalizer(data json.RawMessage) (normalizer, error) {
	kind, err := typeOf(data)
	if err != nil {
		return nil, err
	}
	if n := p.plainNormalizer(kind); n != nil {
		return n, fields(data, kind, new(struct{}))
	}
	switch kind {
	case "Sequence":
		return p.normalizers(data)
	case "Strip":
		var j struct {
			Left  bool `json:"strip_left"`
			Right bool `json:"strip_right"`
		}
		err := fields(data, kind, &j)
		return stripper{pattern.Reference(), j.Left, j.Right}, err
	case "Prepend":
		var j struct {
			Prepend string `json:"prepend"`
		}
		err := fields(data, kind, &j)
		return prepender(j.Prepend), err
	case "Replace":
		r, err := p.replacer(data)
		return r, err
	case "Precompiled":
		var j struct {
			Map string `json:"precompiled_charsmap"`
		}
		if err := fields(data, kind, &j); err != nil {
			return nil, err
		}
		return newPrecompiled(j.Map)
	case "BertNormalizer":
		j := bertJSON{CleanText: true, CJK: true, Lowercase: true}
		if err := fields(data, kind, &j); err != nil {
			return nil, err
		}
		accents := j.Lowercase
		if j.StripAccents != nil {
			accents = *j.StripAccents
		}
		return bertNorm(j.CleanText, j.CJK, accents, j.Lowercase), nil
	}
	return nil, fmt.Errorf("unsupported type %q", kind)
}

// plainNormalizer returns the normalizer of a kind without members, else nil.
func (p *parser) plainNormalizer(kind string) normalizer {
	c := pattern.Reference()
	switch kind {
	case "NFC":
		return unicodeForm{nfc, c}
	case "NFD":
		return unicodeForm{nfd, c}
	case "NFKC":
		return unicodeForm{nfkc, c}
	case "NFKD":
		return unicodeForm{nfkd, c}
	case "Lowercase":
		return lowercaser{c}
	case "StripAccents":
		return dropper(c, pattern.PropAccent)
	case "Nmt":
		return perRune(nmt)
	case "ByteLevel":
		return byteLevelNorm{p.alphabet}
	}
	return nil
}

type bertJSON struct {
	CleanText    bool  `json:"clean_text"`
	CJK          bool  `json:"handle_chinese_chars"`
	StripAccents *bool `json:"strip_accents"`
	Lowercase    bool  `json:"lowercase"`
}

func (p *parser) normalizers(data json.RawMessage) (normalizer, error) {
	var j struct {
		List []json.RawMessage `json:"normalizers"`
	}
	if err := fields(data, "Sequence", &j); err != nil {
		return nil, err
	}
	var seq sequenceNorm
	for _, item := range j.List {
		n, err := p.normalizer(item)
		if err != nil {
			return nil, err
		}
		seq = append(seq, n)
	}
	return seq, nil
}

func (p *parser) replacer(data json.RawMessage) (replacer, error) {
	var j struct {
		Pattern patternJSON `json:"pattern"`
		Content string      `json:"content"`
	}
	if err := fields(data, "Replace", &j); err != nil {
		return replacer{}, err
	}
	m, err := p.pattern(j.Pattern)
	return replacer{m, j.Content}, err
}

// preTokenizerSteps returns the steps of a pre-tokenizer, itself if it is not a sequence.
func preTokenizerSteps(data json.RawMessage) []json.RawMessage {
	var j struct {
		Type  string            `json:"type"`
		Steps []json.RawMessage `json:"pretokenizers"`
	}
	if json.Unmarshal(data, &j) != nil || j.Type != "Sequence" {
		return []json.RawMessage{data}
	}
	var all []json.RawMessage
	for _, s := range j.Steps {
		all = append(all, preTokenizerSteps(s)...)
	}
	return all
}

// endsInByteLevel reports whether ByteLevel is the last step, and only that.
func endsInByteLevel(data json.RawMessage) bool {
	if data == nil {
		return false
	}
	steps, n := preTokenizerSteps(data), 0
	last := ""
	for _, s := range steps {
		last, _ = typeOf(s)
		if last == "ByteLevel" {
			n++
		}
	}
	return n == 1 && last == "ByteLevel"
}

func (p *parser) preTokenizer(data json.RawMessage) (preTokenizer, error) {
	var seq sequencePre
	for _, step := range preTokenizerSteps(data) {
		t, err := p.preTokenizerStep(step)
		if err != nil {
			return nil, err
		}
		if b, ok := t.(byteLevelPre); ok && b == (byteLevelPre{}) {
			continue // raw bytes as they are
		}
		seq = append(seq, t)
	}
	switch len(seq) {
	case 0:
		return nil, nil
	case 1:
		return seq[0], nil
	}
	return seq, nil
}

func (p *parser) preTokenizerStep(data json.RawMessage) (preTokenizer, error) {
	kind, err := typeOf(data)
	if err != nil {
		return nil, err
	}
	if t := plainPreTokenizer(kind); t != nil {
		return t, fields(data, kind, new(struct{}))
	}
	switch kind {
	case "ByteLevel":
		return p.byteLevel(data)
	case "Metaspace":
		m, err := metaspaceOf(data)
		return m, err
	case "Split":
		return p.splitStep(data)
	case "Digits":
		var j struct {
			Individual bool `json:"individual_digits"`
		}
		err := fields(data, kind, &j)
		b := behaviorContiguous
		if j.Individual {
			b = behaviorIsolated
		}
		return splitter{matcher: pattern.NewEach(pattern.PropNumeric), behavior: b}, err
	case "Punctuation":
		j := struct {
			Behavior string `json:"behavior"`
		}{"Isolated"}
		if err := fields(data, kind, &j); err != nil {
			return nil, err
		}
		b, err := behaviorOf(j.Behavior)
		return splitter{matcher: pattern.NewEach(pattern.PropPunct), behavior: b}, err
	case "CharDelimiterSplit":
		var j struct {
			Delimiter string `json:"delimiter"`
		}
		err := fields(data, kind, &j)
		return splitter{matcher: pattern.Literal(j.Delimiter), behavior: behaviorRemoved}, err
	case "FixedLength":
		var j struct {
			Length int `json:"length"`
		}
		if err := fields(data, kind, &j); err != nil {
			return nil, err
		}
		if j.Length < 1 {
			return nil, fmt.Errorf("FixedLength: unsupported length %d", j.Length)
		}
		return fixedLength(j.Length), nil
	}
	return nil, fmt.Errorf("unsupported type %q", kind)
}

// plainPreTokenizer returns the pre-tokenizer of a kind without members, else nil.
func plainPreTokenizer(kind string) preTokenizer {
	switch kind {
	case "BertPreTokenizer":
		return sequencePre{
			splitter{matcher: pattern.NewEach(pattern.PropSpace), behavior: behaviorRemoved},
			splitter{matcher: pattern.NewEach(pattern.PropPunct), behavior: behaviorIsolated},
		}
	case "Whitespace":
		return splitter{matcher: pattern.NewScanner(scanWhitespace), behavior: behaviorRemoved, invert: true}
	case "WhitespaceSplit":
		return splitter{matcher: pattern.NewEach(pattern.PropSpace), behavior: behaviorRemoved}
	}
	return nil
}

// scanWhitespace matches \w+|[^\w\s]+, the pieces of the Whitespace pre-tokenizer.
func scanWhitespace(c *pattern.Table, s string, i int) int {
	p, _ := c.At(s, i)
	switch {
	case p&pattern.PropWord != 0:
		return c.Run(s, i, pattern.PropWord)
	case p&pattern.PropSpace != 0:
		return i
	}
	return c.RunNot(s, i, pattern.PropWord|pattern.PropSpace)
}

func (p *parser) splitStep(data json.RawMessage) (preTokenizer, error) {
	var j struct {
		Pattern  patternJSON `json:"pattern"`
		Behavior string      `json:"behavior"`
		Invert   bool        `json:"invert"`
	}
	if err := fields(data, "Split", &j); err != nil {
		return nil, err
	}
	b, err := behaviorOf(j.Behavior)
	if err != nil {
		return nil, err
	}
	m, err := p.pattern(j.Pattern)
	return splitter{m, b, j.Invert}, err
}

func behaviorOf(name string) (behavior, error) {
	switch name {
	case "Removed":
		return behaviorRemoved, nil
	case "Isolated":
		return behaviorIsolated, nil
	case "MergedWithPrevious":
		return behaviorMergedWithPrevious, nil
	case "MergedWithNext":
		return behaviorMergedWithNext, nil
	case "Contiguous":
		return behaviorContiguous, nil
	}
	return 0, fmt.Errorf("unsupported behavior %q", name)
}

// byteLevelJSON is shared by the components named ByteLevel; offsets are ignored.
type byteLevelJSON struct {
	AddPrefixSpace bool  `json:"add_prefix_space"`
	TrimOffsets    bool  `json:"trim_offsets"`
	UseRegex       *bool `json:"use_regex"`
}

func (p *parser) byteLevel(data json.RawMessage) (preTokenizer, error) {
	var j byteLevelJSON
	if err := fields(data, "ByteLevel", &j); err != nil {
		return nil, err
	}
	t := byteLevelPre{addPrefixSpace: j.AddPrefixSpace}
	if j.UseRegex == nil || *j.UseRegex {
		t.splitter = &splitter{matcher: pattern.NewScanner(pattern.ScanGPT2), behavior: behaviorIsolated}
	}
	if !p.rawBytes {
		t.alphabet = p.alphabet
	}
	return t, nil
}
