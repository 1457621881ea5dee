package vectors

import (
	"slices"
	"strings"

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
