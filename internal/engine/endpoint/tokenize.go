package endpoint

import (
	"errors"
	"math"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// tokenize is vLLM's API for the tokens of a text; SGLang has it too.
func tokenize() Kind {
	return Kind{
		Name: "tokenize",
		Path: "/tokenize", RootPath: true, Title: "Tokenizer Metrics",
		Caps:   bench.Caps{TokenizesInput: true, System: true, Images: true, Audio: true, Video: true},
		Encode: encodeTokenize, Decode: decodeWith(tokenLists()),
	}
}

// encodeTokenize writes a body for POST /tokenize (vLLM, "Tokenizer API"): a
// prompt, or messages for a turn that needs them. Only SGLang takes several texts.
func encodeTokenize(dst []byte, r *Request) ([]byte, error) {
	if isChat(r) {
		return object(dst, r, modelField(r), message(r))
	}
	texts, err := someTexts("tokenize", &r.Turn)
	if err != nil {
		return dst, err
	}
	return object(dst, r, modelField(r), Field{"prompt", oneOrList(texts)})
}

// tokenLists is the grammar of tokens, by the fields that are there: those of vLLM,
// SGLang and llama.cpp, or the bare lists of TGI and TEI. What was counted is the
// input; the answer itself is one event.
func tokenLists() *grammar {
	return &grammar{dialect: stateless(readTokens), lists: true, folds: true, end: endTerminal}
}

func readTokens(b *builder, doc *document) bool {
	d := itemBuilder{b}
	list := doc.value
	if list.Type() == fastjson.TypeObject {
		if d.envelope(doc) {
			return true
		}
		list = firstList(doc.value, "tokens", "tokenize_response")
	} else if items := list.GetArray(); len(items) > 0 && truthy(items[0].Get("error")) {
		return false
	}
	tokens, ok := int64(0), false
	if list != nil {
		tokens, ok = listedTokens(list, maxTokenLists), true
	} else if count := doc.value.Get("count"); count != nil {
		tokens, ok = tokenCount(count)
	}
	if !ok {
		return true
	}
	d.answered = true
	d.inputTokens(tokens)
	d.endItems(bench.Binary, 1, doc.size)
	return true
}

// maxTokenLists is how deep lists of tokens lie in each other: one list for each of
// several texts.
const maxTokenLists = 2

// listedTokens counts the tokens in a list, which holds numbers (folded below the
// root), objects, or further lists.
func listedTokens(list *fastjson.Value, depth int) int64 {
	items := list.GetArray()
	switch {
	case len(items) == 1 && items[0].Type() == fastjson.TypeNumber:
		return max(0, items[0].GetInt64())
	case len(items) == 0 || depth == 0 || items[0].Type() != fastjson.TypeArray:
		return int64(len(items))
	}
	n := int64(0)
	for _, inner := range items {
		n += listedTokens(inner, depth-1)
	}
	return n
}

// detokenize is vLLM's API for the text of tokens; SGLang has it too.
func detokenize() Kind {
	return Kind{
		Name: "detokenize",
		Path: "/detokenize", RootPath: true, Title: "Tokenizer Metrics",
		Caps:   bench.Caps{TokenizesInput: true, TokenIDs: true},
		Encode: encodeDetokenize, Decode: decodeWith(plainTexts()),
	}
}

// encodeDetokenize writes a body for POST /detokenize (vLLM, "Tokenizer API"), with
// the ids that the run's tokenizer gives to the turn's text.
func encodeDetokenize(dst []byte, r *Request) ([]byte, error) {
	tokens := []byte{'['}
	for i, id := range r.TokenIDs {
		if i > 0 {
			tokens = append(tokens, ',')
		}
		tokens = strconv.AppendInt(tokens, int64(id), 10)
	}
	dst, err := object(dst, r, modelField(r), Field{"tokens", append(tokens, ']')})
	if err == nil && len(r.TokenIDs) == 0 && !given(r, "tokens") {
		return dst, errors.New("endpoint type detokenize needs the tokens of a text: give the turn a text, or extra.tokens")
	}
	return dst, err
}

// plainTexts is the grammar of text that was not generated: that of vLLM, SGLang
// and llama.cpp, or TEI's bare list.
func plainTexts() *grammar {
	return &grammar{dialect: stateless(readTexts), lists: true, end: endTerminal}
}

func readTexts(b *builder, doc *document) bool {
	d := itemBuilder{b}
	texts := doc.value
	if texts.Type() == fastjson.TypeObject {
		if d.envelope(doc) {
			return true
		}
		for _, name := range [...]string{"prompt", "text", "content"} {
			if texts = doc.value.Get(name); texts != nil {
				break
			}
		}
		if texts == nil {
			return true
		}
	} else if items := texts.GetArray(); len(items) > 0 && truthy(items[0].Get("error")) {
		return false
	}
	list := []*fastjson.Value{texts}
	if texts.Type() == fastjson.TypeArray {
		list = texts.GetArray()
	}
	for i, v := range list[:min(len(list), math.MaxUint16)] {
		if v.Type() != fastjson.TypeString {
			d.malformed()
			continue
		}
		d.answered = true
		if c := d.choice(nil, i); c != nil {
			d.emit(c, bench.Text, str(v))
			c.finish = bench.FinishStop
		}
	}
	d.terminal = true
	return true
}
