package vectors

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/embedding"
	"aiperfd/internal/mock/jsonappend"
)

// teiHead adds TEI's headers about a request to the response.
func teiHead(x *api.Answer) {
	h := x.Header
	ms := strconv.FormatInt(int64(x.Elapsed()/time.Millisecond), 10)
	h.Set("X-Compute-Type", "cpu")
	h.Set("X-Compute-Tokens", strconv.Itoa(x.Truth.PromptTokens))
	for name, value := range map[string]string{"Total": ms, "Tokenization": "0", "Queue": "0", "Inference": ms} {
		h.Set("X-"+name+"-Time", value)
	}
}

// refuseTEI appends an error in TEI's form.
func refuseTEI(dst []byte, e *apierror.Error) []byte {
	kind := "Validation"
	if e.Status >= http.StatusInternalServerError {
		kind = "Backend"
	}
	dst = jsonappend.String(append(dst, `{"error":`...), e.Message)
	dst = jsonappend.String(append(dst, `,"error_type":`...), kind)
	return append(dst, '}')
}

// NewTEI returns the protocol of a route of TEI that responds with a list: an item for
// each input.
func NewTEI(item func(dst []byte, m *api.Model, text string, dim int) []byte) api.Protocol {
	return api.Reading[[][]byte]{
		Accept: func(m *api.Model, f *api.Fields) ([][]byte, []api.Prompt) {
			texts, _ := f.Texts("inputs")
			dim := f.Dimensions(embedding.DefaultDim)
			if f.Err != nil {
				return nil, nil
			}
			items := make([][]byte, len(texts))
			for i, text := range texts {
				items[i] = item(nil, m, text, dim)
			}
			return items, m.Read(texts)
		},
		Answer: appendTEI, Refuse: refuseTEI,
	}
}

func appendTEI(dst []byte, x *api.Answer, items [][]byte) []byte {
	teiHead(x)
	dst = append(dst, '[')
	for i := range x.Items(len(items)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, items[i]...)
	}
	return append(dst, ']')
}

// TEIVector is an item of /embed.
func TEIVector(dst []byte, _ *api.Model, text string, dim int) []byte {
	return jsonappend.Floats(dst, embedding.Vector(text, dim))
}

// TEIRows is an item of /embed_all.
func TEIRows(dst []byte, m *api.Model, text string, dim int) []byte {
	return appendRows(dst, vectorsOf(m.Options.Tokenizer.Pieces(text), dim))
}

// TEISparse is an item of /embed_sparse: the nonzero elements of the vector.
func TEISparse(dst []byte, _ *api.Model, text string, dim int) []byte {
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

// NewTEIPredict returns the protocol of POST /predict: the labels of a text, of a pair,
// or of each of several.
func NewTEIPredict() api.Protocol {
	return api.Reading[[][]byte]{
		Accept: func(m *api.Model, f *api.Fields) ([][]byte, []api.Prompt) {
			v, _ := f.Get("inputs")
			batch := v.GetArray()
			if len(batch) == 0 || batch[0].Type() != fastjson.TypeArray { // one text or one pair
				text := ""
				if ok := v != nil; ok {
					text, ok = api.TextOf(v)
					if !ok || text == "" {
						f.Fail("inputs", "string, pair, or list of lists")
					}
				} else {
					f.Fail("inputs", "string, pair, or list of lists")
				}
				return labelItems(classesOf(text)), m.Read([]string{text})
			}
			texts, _ := f.Texts("inputs")
			var items [][]byte
			for _, text := range texts {
				pair := labelItems(classesOf(text))
				items = append(items, fmt.Appendf(nil, "[%s,%s]", pair[0], pair[1]))
			}
			return items, m.Read(texts)
		},
		Answer: appendTEI, Refuse: refuseTEI,
	}
}

// labelItems appends two classes, the more probable first.
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

// NewTEISimilarity returns the protocol of POST /similarity.
func NewTEISimilarity() api.Protocol {
	return api.Reading[[][]byte]{
		Accept: func(m *api.Model, f *api.Fields) ([][]byte, []api.Prompt) {
			v, ok := f.Get("inputs")
			if !ok || v.Type() != fastjson.TypeObject {
				f.Fail("inputs", "dictionary")
				return nil, nil
			}
			in := &api.Fields{Value: v, Err: f.Err}
			source := in.Text("source_sentence")
			sentences, _ := in.Texts("sentences")
			f.Err = in.Err
			var items [][]byte
			for _, s := range sentences {
				items = append(items, jsonappend.Number(nil, similarity(source, s)))
			}
			return items, m.Read(append([]string{source}, sentences...))
		},
		Answer: appendTEI, Refuse: refuseTEI,
	}
}
