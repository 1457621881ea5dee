package mock

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/embedding"
	"aiperfd/internal/mock/jsonappend"
)

// teiHead adds what TEI says about a request in the head of its response.
func (x *answer) teiHead() {
	h := x.header
	ms := strconv.FormatInt(int64(x.elapsed()/time.Millisecond), 10)
	h.Set("X-Compute-Type", "cpu")
	h.Set("X-Compute-Tokens", strconv.Itoa(x.truth.PromptTokens))
	for name, value := range map[string]string{"Total": ms, "Tokenization": "0", "Queue": "0", "Inference": ms} {
		h.Set("X-"+name+"-Time", value)
	}
}

// refuseTEI appends an error as TEI writes it.
func refuseTEI(dst []byte, e *apierror.Error) []byte {
	kind := "Validation"
	if e.Status >= http.StatusInternalServerError {
		kind = "Backend"
	}
	dst = jsonappend.String(append(dst, `{"error":`...), e.Message)
	dst = jsonappend.String(append(dst, `,"error_type":`...), kind)
	return append(dst, '}')
}

// newTEI is a route of TEI that answers with a list: an item for each input.
func newTEI(item func(dst []byte, m *model, text string, dim int) []byte) protocol {
	return reading[[][]byte]{
		accept: func(m *model, f *fields) ([][]byte, []prompt) {
			texts, _ := f.texts("inputs")
			dim := f.dimensions(embedding.DefaultDim)
			if f.err != nil {
				return nil, nil
			}
			items := make([][]byte, len(texts))
			for i, text := range texts {
				items[i] = item(nil, m, text, dim)
			}
			return items, m.read(texts)
		},
		answer: appendTEI, refuse: refuseTEI,
	}
}

func appendTEI(dst []byte, x *answer, items [][]byte) []byte {
	x.teiHead()
	dst = append(dst, '[')
	for i := range x.items(len(items)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, items[i]...)
	}
	return append(dst, ']')
}

// teiVector is an item of /embed.
func teiVector(dst []byte, _ *model, text string, dim int) []byte {
	return jsonappend.Floats(dst, embedding.Vector(text, dim))
}

// teiRows is an item of /embed_all.
func teiRows(dst []byte, m *model, text string, dim int) []byte {
	return appendRows(dst, vectorsOf(m.opt.Tokenizer.Pieces(text), dim))
}

// teiSparse is an item of /embed_sparse: the places of the vector that hold something.
func teiSparse(dst []byte, _ *model, text string, dim int) []byte {
	dst = append(dst, '[')
	found := 0
	for i, value := range embedding.Vector(text, dim) {
		if value == 0 {
			continue
		}
		dst = appendIndex(dst, found, i)
		dst = strconv.AppendFloat(append(dst, `,"value":`...), float64(value), 'g', -1, 32)
		dst = append(dst, '}')
		found++
	}
	return append(dst, ']')
}

// newTEIPredict is POST /predict: the labels of a text, or of a pair, or of each of
// several.
func newTEIPredict() protocol {
	return reading[[][]byte]{
		accept: func(m *model, f *fields) ([][]byte, []prompt) {
			v, _ := f.get("inputs")
			batch := v.GetArray()
			if len(batch) == 0 || batch[0].Type() != fastjson.TypeArray { // one text or one pair
				text := ""
				if ok := v != nil; ok {
					text, ok = textOf(v)
					if !ok || text == "" {
						f.fail("inputs", "string, pair, or list of lists")
					}
				} else {
					f.fail("inputs", "string, pair, or list of lists")
				}
				return labelItems(classesOf(text)), m.read([]string{text})
			}
			texts, _ := f.texts("inputs")
			var items [][]byte
			for _, text := range texts {
				pair := labelItems(classesOf(text))
				items = append(items, fmt.Appendf(nil, "[%s,%s]", pair[0], pair[1]))
			}
			return items, m.read(texts)
		},
		answer: appendTEI, refuse: refuseTEI,
	}
}

// labelItems writes two classes, the more probable first.
func labelItems(probs []float32) [][]byte {
	order := []int{0, 1}
	if probs[1] > probs[0] {
		order = []int{1, 0}
	}
	var items [][]byte
	for _, i := range order {
		items = append(items, fmt.Appendf(nil, `{"score":%v,"label":"LABEL_%d"}`, probs[i], i))
	}
	return items
}

// newTEISimilarity is POST /similarity.
func newTEISimilarity() protocol {
	return reading[[][]byte]{
		accept: func(m *model, f *fields) ([][]byte, []prompt) {
			v, ok := f.get("inputs")
			if !ok || v.Type() != fastjson.TypeObject {
				f.fail("inputs", "dictionary")
				return nil, nil
			}
			in := &fields{v: v, err: f.err}
			source := in.text("source_sentence")
			sentences, _ := in.texts("sentences")
			f.err = in.err
			var items [][]byte
			for _, s := range sentences {
				items = append(items, jsonappend.Number(nil, similarity(source, s)))
			}
			return items, m.read(append([]string{source}, sentences...))
		},
		answer: appendTEI, refuse: refuseTEI,
	}
}
