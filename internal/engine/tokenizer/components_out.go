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

// specialTokensToAdd counts the tokens that a post-processor adds to a single sequence.
func specialTokensToAdd(data json.RawMessage) (int, error) {
	if data == nil {
		return 0, nil
	}
	var j struct {
		Type       string            `json:"type"`
		Processors []json.RawMessage `json:"processors"`
		Single     []struct {
			SpecialToken *struct {
				ID string `json:"id"`
			}
		} `json:"single"`
		SpecialTokens map[string]struct {
			IDs []int `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return 0, err
	}
	total := 0
	switch j.Type {
	case "ByteLevel":
	case "BertProcessing", "RobertaProcessing":
		total = 2
	case "TemplateProcessing":
		for _, part := range j.Single {
			if part.SpecialToken == nil {
				continue
			}
			tok, ok := j.SpecialTokens[part.SpecialToken.ID]
			if !ok {
				return 0, fmt.Errorf("TemplateProcessing: special token %q is not defined", part.SpecialToken.ID)
			}
			total += len(tok.IDs)
		}
	case "Sequence":
		for _, item := range j.Processors {
			n, err := specialTokensToAdd(item)
			if err != nil {
				return 0, err
			}
			total += n
		}
	default:
		return 0, fmt.Errorf("unsupported type %q", j.Type)
	}
	return total, nil
}
