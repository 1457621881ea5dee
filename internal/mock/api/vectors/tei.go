package vectors

import (
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
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

// newTEI returns the protocol of a route of TEI that responds with a list.
func newTEI(noModel bool, accept func(m *api.Model, f *api.Fields) ([]any, []api.Prompt)) *api.Protocol {
	return api.Reading[[]any]{
		Accept: accept, NoModel: noModel,
		Answer: func(x *api.Answer, items []any) any {
			teiHead(x)
			return append([]any{}, items[:x.Items(len(items))]...) // a list even if it is empty
		},
		Refuse: func(dst []byte, e *api.Error) []byte {
			if e.Status >= http.StatusInternalServerError {
				return api.TypedError(dst, e, "Backend")
			}
			return api.TypedError(dst, e, "Validation")
		},
	}.Protocol()
}

// NewTEI returns the protocol of a route of TEI whose answer has an item for each input.
func NewTEI(item func(m *api.Model, text string, dim int) any) *api.Protocol {
	return newTEI(false, func(m *api.Model, f *api.Fields) (items []any, _ []api.Prompt) {
		texts, _ := f.Texts("inputs")
		dim := f.Dimensions(DefaultDim)
		if f.Failed() {
			return nil, nil
		}
		for _, text := range texts {
			items = append(items, item(m, text, dim))
		}
		return items, m.Read(texts)
	})
}

// TEIVector is an item of /embed.
func TEIVector(_ *api.Model, text string, dim int) any { return Vector(text, dim) }

// TEIRows is an item of /embed_all.
func TEIRows(m *api.Model, text string, dim int) any {
	return vectorsOf(m.Options.Tokenizer.Pieces(text), dim)
}

// element is a nonzero element of a vector.
type element struct {
	Index int     `json:"index"`
	Value float32 `json:"value"`
}

// TEISparse is an item of /embed_sparse: the nonzero elements of the vector.
func TEISparse(_ *api.Model, text string, dim int) any {
	var elements []element
	for i, value := range Vector(text, dim) {
		if value != 0 {
			elements = append(elements, element{i, value})
		}
	}
	return elements
}

// label is a class with its probability.
type label struct {
	Score float32 `json:"score"`
	Label string  `json:"label"`
}

// labelsOf returns two classes, the more probable first.
func labelsOf(probs []float32) []label {
	both := []label{{probs[0], "LABEL_0"}, {probs[1], "LABEL_1"}}
	if probs[1] > probs[0] {
		both[0], both[1] = both[1], both[0]
	}
	return both
}

// NewTEIPredict returns the protocol of POST /predict: the labels of a text, of a pair,
// or of each of several.
func NewTEIPredict() *api.Protocol {
	return newTEI(false, func(m *api.Model, f *api.Fields) (items []any, _ []api.Prompt) {
		v, ok := f.Get("inputs")
		if batch := v.GetArray(); len(batch) > 0 && batch[0].Type() == fastjson.TypeArray {
			texts, _ := f.Texts("inputs")
			for _, text := range texts {
				items = append(items, labelsOf(classesOf(text)))
			}
			return items, m.Read(texts)
		}
		text := "" // or one pair
		if ok {
			text, _ = api.TextOf(v)
		}
		if text == "" {
			f.Fail("inputs", "string, pair, or list of lists")
		}
		for _, one := range labelsOf(classesOf(text)) {
			items = append(items, one)
		}
		return items, m.Read([]string{text})
	})
}

// NewTEISimilarity returns the protocol of POST /similarity.
func NewTEISimilarity() *api.Protocol {
	return newTEI(false, func(m *api.Model, f *api.Fields) (items []any, _ []api.Prompt) {
		v := f.Member("inputs")
		if v == nil {
			f.Fail("inputs", "dictionary")
			return nil, nil
		}
		in := f.In(v)
		source := in.Text("source_sentence")
		sentences, _ := in.Texts("sentences")
		for _, s := range sentences {
			items = append(items, similarity(source, s))
		}
		return items, m.Read(append([]string{source}, sentences...))
	})
}

// NewTEIDecode returns the protocol of POST /decode.
func NewTEIDecode() *api.Protocol {
	return newTEI(true, func(m *api.Model, f *api.Fields) (items []any, _ []api.Prompt) {
		texts, _ := decodeLists(m, f, "ids")
		for _, text := range texts {
			items = append(items, text)
		}
		return items, m.Read(texts)
	})
}
