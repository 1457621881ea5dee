package vectors

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
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
func NewTokenize() *api.Protocol {
	return api.Reading[tokenized]{Accept: acceptTokenize, Answer: answerTokenize, NoModel: true}.Protocol()
}

func acceptTokenize(m *api.Model, f *api.Fields) (tokenized, []api.Prompt) {
	in := tokenized{ids: [][]int{}, strs: f.Flag("return_token_strs")}
	special := f.Boolean("add_special_tokens", true)
	switch f.OneOf("messages", "inputs") {
	case "messages":
		in.texts, _ = api.Inputs(m, f)
		special = f.Flag("add_special_tokens") // the chat template adds its own
	case "inputs":
		in.texts, in.batch = f.Texts("inputs")
		in.tei = true
	default:
		in.texts, in.batch = f.Texts("prompt")
	}
	if f.Failed() {
		return in, nil
	}
	prompts := m.Read(in.texts)
	for i, text := range in.texts {
		ids := m.Vocabulary.Encode(text)
		if special {
			in.before, in.after = token.Framing(m.Options.Tokenizer)
			ids = slices.Insert(append(ids, in.after...), 0, in.before...)
			prompts[i].Tokens = len(ids)
		}
		in.ids = append(in.ids, ids)
	}
	return in, prompts
}

// tokenList is the answer of vLLM to one prompt.
type tokenList struct {
	Count       int      `json:"count"`
	MaxModelLen int      `json:"max_model_len"`
	Tokens      []int    `json:"tokens"`
	Texts       []string `json:"token_strs"` // null unless the request asks for them
}

// tokenLists is the answer of SGLang to several prompts.
type tokenLists struct {
	Tokens      [][]int `json:"tokens"`
	Counts      []int   `json:"count"`
	MaxModelLen int     `json:"max_model_len"`
}

func answerTokenize(x *api.Answer, in tokenized) any {
	if in.tei {
		teiHead(x)
		out := make([][]placedToken, len(in.ids))
		for i := range in.ids {
			out[i] = in.placed(x.Model, in.ids[i])
		}
		return out
	}
	if in.batch {
		lists := tokenLists{Tokens: in.ids, Counts: make([]int, len(in.ids)), MaxModelLen: x.Options.MaxModelLen}
		for i, ids := range in.ids {
			lists.Counts[i] = len(ids)
		}
		return lists
	}
	ids := in.ids[0][:x.Items(len(in.ids[0]))]
	list := tokenList{Count: len(ids), MaxModelLen: x.Options.MaxModelLen, Tokens: ids}
	if in.strs {
		list.Texts = make([]string, len(ids))
		for i, id := range ids {
			list.Texts[i] = x.Model.Vocabulary.Piece(id)
		}
	}
	return list
}

// placedToken is a token with its position in the text, as TEI describes it.
type placedToken struct {
	ID      int    `json:"id"`
	Text    string `json:"text"`
	Special bool   `json:"special"`
	Start   *int   `json:"start"` // null of a special token
	Stop    *int   `json:"stop"`
}

// placed returns the tokens of a text with their positions.
func (in *tokenized) placed(m *api.Model, ids []int) []placedToken {
	out := make([]placedToken, len(ids))
	at := 0
	for i, id := range ids {
		out[i] = placedToken{ID: id, Text: m.Vocabulary.Piece(id)}
		if i < len(in.before) || i >= len(ids)-len(in.after) {
			out[i].Special = true
			continue
		}
		start, stop := at, at+len(out[i].Text)
		out[i].Start, out[i].Stop = &start, &stop
		at = stop
	}
	return out
}

// detokenized is a request for the texts of tokens, with its answer.
type detokenized struct {
	texts []string
	batch bool // several lists were given
}

// NewDetokenize returns the protocol of POST /detokenize, as vLLM serves it; for lists of
// lists it responds with texts, as SGLang does.
func NewDetokenize() *api.Protocol {
	return api.Reading[detokenized]{
		Accept: func(m *api.Model, f *api.Fields) (in detokenized, read []api.Prompt) {
			in.texts, in.batch = decodeLists(m, f, "tokens")
			return in, m.Read(in.texts)
		},
		Answer: func(x *api.Answer, in detokenized) any {
			texts := in.texts[:x.Items(len(in.texts))]
			if in.batch {
				return map[string][]string{"text": texts}
			}
			return map[string]string{"prompt": strings.Join(texts, "")}
		},
		NoModel: true,
	}.Protocol()
}

// decodeLists returns the text of a member that is a list of ids, or the texts of a nested
// list.
func decodeLists(m *api.Model, f *api.Fields, name string) (texts []string, nested bool) {
	v, _ := f.Get(name)
	if v == nil || v.Type() != fastjson.TypeArray {
		f.Fail(name, "list of token ids")
		return nil, false
	}
	items := v.GetArray()
	if len(items) == 0 || items[0].Type() != fastjson.TypeArray {
		return []string{decodeList(m, f, name, items)}, false
	}
	for _, item := range items {
		texts = append(texts, decodeList(m, f, name, item.GetArray()))
	}
	return texts, true
}

func decodeList(m *api.Model, f *api.Fields, name string, items []*fastjson.Value) string {
	ids := make([]int, len(items))
	for i, v := range items {
		id, err := v.Int()
		if err != nil || id < 0 {
			f.Fail(name, "list of token ids")
			return ""
		}
		ids[i] = id
	}
	return m.Vocabulary.Decode(ids)
}

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
