package vectors

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/token"
)

// tokenized is a request for tokens, with its answer.
type tokenized struct {
	texts []string
	ids   [][]int // of each text, with the special tokens
	// before and after are the special tokens around each text.
	before, after []int

	tei   bool
	strs  bool // the answer repeats the text of each token
	batch bool // several texts were given
}

// NewTokenize returns the protocol of POST /tokenize: TEI's API for a body with inputs,
// else that of vLLM, or SGLang's for a list of prompts.
func NewTokenize() api.Protocol {
	return api.Reading[tokenized]{Accept: acceptTokenize, Answer: appendTokenized, NoModel: true}
}

func acceptTokenize(m *api.Model, f *api.Fields) (tokenized, []api.Prompt) {
	in := tokenized{strs: f.Boolean("return_token_strs")}
	special := api.AddsSpecialTokens(f)
	switch f.OneOf("messages", "inputs") {
	case "messages":
		in.texts, _ = api.Inputs(m, f)
		special = f.Boolean("add_special_tokens") // the chat template adds its own
	case "inputs":
		in.texts, in.batch = f.Texts("inputs")
		in.tei = true
	default:
		in.texts, in.batch = f.Texts("prompt")
	}
	if f.Err != nil {
		return in, nil
	}
	prompts := m.Read(in.texts)
	for i, text := range in.texts {
		ids := m.Vocabulary.Encode(text)
		if special {
			in.before, in.after = token.Framing(m.Options.Tokenizer)
			ids = slices.Concat(in.before, ids, in.after)
			prompts[i].Tokens = len(ids)
		}
		in.ids = append(in.ids, ids)
	}
	return in, prompts
}

func appendTokenized(dst []byte, x *api.Answer, in tokenized) []byte {
	if in.tei {
		teiHead(x)
		return in.appendTEI(dst, x.Model)
	}
	if in.batch {
		return in.appendBatch(dst, x)
	}
	ids := in.ids[0][:x.Items(len(in.ids[0]))]
	dst = strconv.AppendInt(append(dst, `{"count":`...), int64(len(ids)), 10)
	dst = strconv.AppendInt(append(dst, `,"max_model_len":`...), int64(x.Options.MaxModelLen), 10)
	dst = jsonappend.Ints(append(dst, `,"tokens":`...), ids)
	dst = append(dst, `,"token_strs":`...)
	if !in.strs {
		return append(dst, "null}"...)
	}
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonappend.String(dst, x.Model.Vocabulary.Piece(id))
	}
	return append(dst, "]}"...)
}

// appendBatch answers for several prompts, as SGLang does.
func (in *tokenized) appendBatch(dst []byte, x *api.Answer) []byte {
	dst = append(dst, `{"tokens":[`...)
	counts := make([]int, len(in.ids))
	for i, ids := range in.ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonappend.Ints(dst, ids)
		counts[i] = len(ids)
	}
	dst = jsonappend.Ints(append(dst, `],"count":`...), counts)
	dst = strconv.AppendInt(append(dst, `,"max_model_len":`...), int64(x.Options.MaxModelLen), 10)
	return append(dst, '}')
}

// appendTEI appends every token with its position.
func (in *tokenized) appendTEI(dst []byte, m *api.Model) []byte {
	dst = append(dst, '[')
	for i, ids := range in.ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		at := 0
		for k, id := range ids {
			if k > 0 {
				dst = append(dst, ',')
			}
			piece := m.Vocabulary.Piece(id)
			dst = fmt.Appendf(dst, `{"id":%d,"text":`, id)
			dst = jsonappend.String(dst, piece)
			if k < len(in.before) || k >= len(ids)-len(in.after) {
				dst = append(dst, `,"special":true,"start":null,"stop":null}`...)
				continue
			}
			dst = fmt.Appendf(dst, `,"special":false,"start":%d,"stop":%d}`, at, at+len(piece))
			at += len(piece)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// detokenized is a request for the texts of tokens, with its answer.
type detokenized struct {
	texts []string
	batch bool // several lists were given
}

// NewDetokenize returns the protocol of POST /detokenize, as vLLM serves it; for lists of
// lists it responds with texts, as SGLang does.
func NewDetokenize() api.Protocol {
	return api.Reading[detokenized]{
		Accept: func(m *api.Model, f *api.Fields) (in detokenized, read []api.Prompt) {
			v, _ := f.Get("tokens")
			var ok bool
			if in.texts, in.batch, ok = decodeLists(m, v); !ok {
				f.Fail("tokens", "list of token ids")
			}
			return in, m.Read(in.texts)
		},
		Answer: func(dst []byte, x *api.Answer, in detokenized) []byte {
			texts := in.texts[:x.Items(len(in.texts))]
			if in.batch {
				return append(jsonappend.Strings(append(dst, `{"text":`...), texts), '}')
			}
			return append(jsonappend.String(append(dst, `{"prompt":`...), strings.Join(texts, "")), '}')
		},
		NoModel: true,
	}
}

// NewTEIDecode returns the protocol of POST /decode.
func NewTEIDecode() api.Protocol {
	return api.Reading[[][]byte]{
		Accept: func(m *api.Model, f *api.Fields) ([][]byte, []api.Prompt) {
			v, _ := f.Get("ids")
			texts, _, ok := decodeLists(m, v)
			if !ok {
				f.Fail("ids", "list of token ids")
			}
			var items [][]byte
			for _, text := range texts {
				items = append(items, jsonappend.String(nil, text))
			}
			return items, m.Read(texts)
		},
		Answer: appendTEI, Refuse: refuseTEI, NoModel: true,
	}
}

// decodeLists returns the text of a list of ids, or the texts of a nested list.
func decodeLists(m *api.Model, v *fastjson.Value) (texts []string, nested, ok bool) {
	if v == nil || v.Type() != fastjson.TypeArray {
		return nil, false, false
	}
	items := v.GetArray()
	if len(items) == 0 || items[0].Type() != fastjson.TypeArray {
		text, ok := decodeList(m, items)
		return []string{text}, false, ok
	}
	for _, item := range items {
		text, ok := decodeList(m, item.GetArray())
		if !ok {
			return nil, true, false
		}
		texts = append(texts, text)
	}
	return texts, true, true
}

func decodeList(m *api.Model, items []*fastjson.Value) (string, bool) {
	ids := make([]int, len(items))
	for i, v := range items {
		id, err := v.Int()
		if err != nil || id < 0 {
			return "", false
		}
		ids[i] = id
	}
	return m.Vocabulary.Decode(ids), true
}
