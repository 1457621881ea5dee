package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// metaspaceOf reads a Metaspace pre-tokenizer or decoder.
func metaspaceOf(data json.RawMessage) (metaspace, error) {
	var j struct {
		Replacement    string `json:"replacement"`
		StrRep         string `json:"str_rep"` // a copy of replacement in old files
		AddPrefixSpace *bool  `json:"add_prefix_space"`
		PrependScheme  string `json:"prepend_scheme"`
		Split          *bool  `json:"split"`
	}
	if err := fields(data, "Metaspace", &j); err != nil {
		return metaspace{}, err
	}
	if utf8.RuneCountInString(j.Replacement) != 1 {
		return metaspace{}, fmt.Errorf("metaspace: unsupported replacement %q", j.Replacement)
	}
	m := metaspace{replacement: j.Replacement, cut: j.Split == nil || *j.Split}
	switch j.PrependScheme {
	case "always", "":
		if j.AddPrefixSpace != nil && !*j.AddPrefixSpace {
			if j.PrependScheme != "" {
				return m, errors.New("metaspace: unsupported add_prefix_space false with prepend_scheme always")
			}
			m.prepend = prependNever
		}
	case "first":
		m.prepend = prependFirst
	case "never":
		m.prepend = prependNever
	default:
		return m, fmt.Errorf("metaspace: unsupported prepend_scheme %q", j.PrependScheme)
	}
	return m, nil
}

func (p *parser) decoder(data json.RawMessage) (decoder, error) {
	kind, err := typeOf(data)
	if err != nil {
		return nil, err
	}
	var none struct{}
	switch kind {
	case "Sequence":
		var j struct {
			List []json.RawMessage `json:"decoders"`
		}
		if err := fields(data, kind, &j); err != nil {
			return nil, err
		}
		var seq sequenceDec
		for _, item := range j.List {
			d, err := p.decoder(item)
			if err != nil {
				return nil, err
			}
			seq = append(seq, d)
		}
		return seq, nil
	case "ByteLevel":
		var j byteLevelJSON
		return byteLevelDec{p.alphabet}, fields(data, kind, &j)
	case "ByteFallback":
		return byteFallbackDec{}, fields(data, kind, &none)
	case "Fuse":
		return fuseDec{}, fields(data, kind, &none)
	case "Metaspace":
		m, err := metaspaceOf(data)
		return metaspaceDec{m.replacement, m.prepend}, err
	case "WordPiece":
		j := struct {
			Prefix  string `json:"prefix"`
			Cleanup bool   `json:"cleanup"`
		}{Cleanup: true}
		err := fields(data, kind, &j)
		return wordPieceDec{j.Prefix, j.Cleanup}, err
	case "BPEDecoder":
		var j struct {
			Suffix string `json:"suffix"`
		}
		err := fields(data, kind, &j)
		return suffixDec(j.Suffix), err
	case "Strip":
		var j struct {
			Content string `json:"content"`
			Start   int    `json:"start"`
			Stop    int    `json:"stop"`
		}
		err := fields(data, kind, &j)
		return stripDec{j.Content, j.Start, j.Stop}, err
	case "Replace":
		r, err := p.replacer(data)
		return replaceDec{r}, err
	}
	return nil, fmt.Errorf("unsupported type %q", kind)
}

// framing is the special tokens that a post-processor puts around a single sequence.
type framing struct{ before, after []int }

// readFraming reads the framing of a post-processor, which may be absent.
func readFraming(data json.RawMessage) (f framing, err error) {
	if data == nil {
		return f, nil
	}
	var j struct {
		Type       string            `json:"type"`
		Processors []json.RawMessage `json:"processors"`
		CLS        []any             `json:"cls"` // text and id
		SEP        []any             `json:"sep"`
		Single     []struct {
			SpecialToken *struct {
				ID string `json:"id"`
			}
			Sequence *struct{}
		} `json:"single"`
		SpecialTokens map[string]struct {
			IDs []int `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return f, err
	}
	switch j.Type {
	case "ByteLevel":
	case "BertProcessing", "RobertaProcessing":
		f.before, err = marker(j.Type, "cls", j.CLS)
		if err == nil {
			f.after, err = marker(j.Type, "sep", j.SEP)
		}
	case "TemplateProcessing":
		at := &f.before
		for _, part := range j.Single {
			if part.SpecialToken == nil {
				if part.Sequence != nil {
					at = &f.after
				}
				continue
			}
			tok, ok := j.SpecialTokens[part.SpecialToken.ID]
			if !ok {
				return f, fmt.Errorf("TemplateProcessing: special token %q is not defined", part.SpecialToken.ID)
			}
			*at = append(*at, tok.IDs...)
		}
	case "Sequence":
		for _, item := range j.Processors {
			outer, err := readFraming(item)
			if err != nil {
				return f, err
			}
			f.before, f.after = append(outer.before, f.before...), append(f.after, outer.after...)
		}
	default:
		return f, fmt.Errorf("unsupported type %q", j.Type)
	}
	return f, err
}

// marker reads a special token of BERT's post-processors.
func marker(processor, name string, pair []any) ([]int, error) {
	if len(pair) == 2 {
		if id, ok := pair[1].(float64); ok && id >= 0 {
			return []int{int(id)}, nil
		}
	}
	return nil, fmt.Errorf("%s: %s must be a text and an id", processor, name)
}
