package mock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/jsonappend"
)

// tokenized is a request for tokens, with its answer.
type tokenized struct {
	texts []string
	ids   [][]int // of each text
	tei   bool
	strs  bool // the answer repeats the text of each token
	batch bool // several texts were given
}

// newTokenize is POST /tokenize: a body with inputs speaks TEI's API, another one
// that of vLLM, or SGLang's with a list of prompts.
func newTokenize() protocol {
	return reading[tokenized]{accept: acceptTokenize, answer: appendTokenized, apart: true}
}

func acceptTokenize(m *model, f *fields) (tokenized, []prompt) {
	in := tokenized{strs: f.boolean("return_token_strs")}
	switch f.oneOf("messages", "inputs") {
	case "messages":
		in.texts, _ = inputs(m, f)
	case "inputs":
		in.texts, in.batch = f.texts("inputs")
		in.tei = true
	default:
		in.texts, in.batch = f.texts("prompt")
	}
	if f.err != nil {
		return in, nil
	}
	for _, text := range in.texts {
		in.ids = append(in.ids, m.vocabulary.Encode(text))
	}
	return in, m.read(in.texts)
}

func appendTokenized(dst []byte, x *answer, in tokenized) []byte {
	if in.tei {
		x.teiHead()
		return in.appendTEI(dst, x.model)
	}
	if in.batch {
		return in.appendBatch(dst, x)
	}
	ids := in.ids[0][:x.items(len(in.ids[0]))]
	dst = strconv.AppendInt(append(dst, `{"count":`...), int64(len(ids)), 10)
	dst = strconv.AppendInt(append(dst, `,"max_model_len":`...), int64(x.opt.MaxModelLen), 10)
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
		dst = jsonappend.String(dst, x.model.vocabulary.Piece(id))
	}
	return append(dst, "]}"...)
}

// appendBatch answers for several prompts, as SGLang does.
func (in *tokenized) appendBatch(dst []byte, x *answer) []byte {
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
	dst = strconv.AppendInt(append(dst, `,"max_model_len":`...), int64(x.opt.MaxModelLen), 10)
	return append(dst, '}')
}

// appendTEI answers with every token and where it stands.
func (in *tokenized) appendTEI(dst []byte, m *model) []byte {
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
			piece := m.vocabulary.Piece(id)
			dst = fmt.Appendf(dst, `{"id":%d,"text":`, id)
			dst = jsonappend.String(dst, piece)
			dst = fmt.Appendf(dst, `,"special":false,"start":%d,"stop":%d}`, at, at+len(piece))
			at += len(piece)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// detokenized is the answer to a request for texts.
type detokenized struct {
	texts []string
	batch bool // several lists were given
}

// newDetokenize is POST /detokenize as vLLM serves it, with texts for lists of lists as
// SGLang does.
func newDetokenize() protocol {
	return reading[detokenized]{
		accept: func(m *model, f *fields) (in detokenized, read []prompt) {
			v, _ := f.get("tokens")
			var ok bool
			if in.texts, in.batch, ok = m.decodeLists(v); !ok {
				f.fail("tokens", "list of token ids")
			}
			return in, m.read(in.texts)
		},
		answer: func(dst []byte, x *answer, in detokenized) []byte {
			texts := in.texts[:x.items(len(in.texts))]
			if in.batch {
				return append(jsonappend.Strings(append(dst, `{"text":`...), texts), '}')
			}
			return append(jsonappend.String(append(dst, `{"prompt":`...), strings.Join(texts, "")), '}')
		},
		apart: true,
	}
}

// newTEIDecode is POST /decode.
func newTEIDecode() protocol {
	return reading[[][]byte]{
		accept: func(m *model, f *fields) ([][]byte, []prompt) {
			v, _ := f.get("ids")
			texts, _, ok := m.decodeLists(v)
			if !ok {
				f.fail("ids", "list of token ids")
			}
			var items [][]byte
			for _, text := range texts {
				items = append(items, jsonappend.String(nil, text))
			}
			return items, m.read(texts)
		},
		answer: appendTEI, refuse: refuseTEI, apart: true,
	}
}

// decodeLists returns the text of a list of ids, or the texts of a list of such
// lists, which is nested then.
func (m *model) decodeLists(v *fastjson.Value) (texts []string, nested, ok bool) {
	if v == nil || v.Type() != fastjson.TypeArray {
		return nil, false, false
	}
	items := v.GetArray()
	if len(items) == 0 || items[0].Type() != fastjson.TypeArray {
		text, ok := m.decodeList(items)
		return []string{text}, false, ok
	}
	for _, item := range items {
		text, ok := m.decodeList(item.GetArray())
		if !ok {
			return nil, true, false
		}
		texts = append(texts, text)
	}
	return texts, true, true
}

func (m *model) decodeList(items []*fastjson.Value) (string, bool) {
	ids := make([]int, len(items))
	for i, v := range items {
		id, err := v.Int()
		if err != nil || id < 0 {
			return "", false
		}
		ids[i] = id
	}
	return m.vocabulary.Decode(ids), true
}
