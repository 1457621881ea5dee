package pooling

import (
	"errors"
	"math"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// Tokenize is vLLM's API for the tokens of a text ("Tokenizer API"); SGLang has it too. The
// body has a prompt, or messages for a turn that needs them. Only SGLang takes several texts.
func Tokenize() codec.Kind {
	return codec.Kind{
		Name: "tokenize",
		Path: "/tokenize", RootPath: true, Title: "Tokenizer Metrics",
		Caps:   bench.Caps{TokenizesInput: true, System: true, Images: true, Audio: true, Video: true},
		Encode: orChat(encodeTexts("tokenize", "prompt", codec.OneOrList)), Decode: answer.Decode(tokenLists()),
	}
}

// tokenLists is the grammar of tokens, by the fields that are there: those of vLLM,
// SGLang and llama.cpp, or the bare lists of TGI and TEI. What was counted is the
// input; the answer itself is one event.
func tokenLists() *answer.Grammar {
	return &answer.Grammar{Dialect: answer.Stateless(readTokens), Lists: true, Folds: true, End: answer.EndTerminal}
}

func readTokens(b *answer.Builder, doc *answer.Document) bool {
	d := itemBuilder{b}
	list := doc.Value
	if list.Type() == fastjson.TypeObject {
		if d.envelope(doc) {
			return true
		}
		list = firstList(doc.Value, "tokens", "tokenize_response")
	} else if items := list.GetArray(); len(items) > 0 && answer.Truthy(items[0].Get("error")) {
		return false
	}
	tokens, ok := int64(0), false
	if list != nil {
		tokens, ok = listedTokens(list, maxTokenLists), true
	} else if count := doc.Value.Get("count"); count != nil {
		tokens, ok = answer.TokenCount(count)
	}
	if !ok {
		return true
	}
	d.Answered = true
	d.inputTokens(tokens)
	d.endItems(bench.Binary, 1, doc.Size)
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

// Detokenize is vLLM's API for the text of tokens; SGLang has it too.
func Detokenize() codec.Kind {
	return codec.Kind{
		Name: "detokenize",
		Path: "/detokenize", RootPath: true, Title: "Tokenizer Metrics",
		Caps:   bench.Caps{TokenizesInput: true, TokenIDs: true},
		Encode: encodeDetokenize, Decode: answer.Decode(plainTexts()),
	}
}

// encodeDetokenize writes a body for POST /detokenize (vLLM, "Tokenizer API"), with
// the ids that the run's tokenizer gives to the turn's text.
func encodeDetokenize(dst []byte, r *codec.Request) ([]byte, error) {
	tokens := codec.AppendList(nil, r.TokenIDs, func(dst []byte, id *int) []byte {
		return strconv.AppendInt(dst, int64(*id), 10)
	})
	dst, err := codec.Object(dst, r, codec.ModelField(r), codec.RawField("tokens", tokens))
	if err == nil && len(r.TokenIDs) == 0 && !codec.Given(r, "tokens") {
		return dst, errors.New("endpoint type detokenize needs the tokens of a text: give the turn a text, or extra.tokens")
	}
	return dst, err
}

// plainTexts is the grammar of text that was not generated: that of vLLM, SGLang
// and llama.cpp, or TEI's bare list.
func plainTexts() *answer.Grammar {
	return &answer.Grammar{Dialect: answer.Stateless(readTexts), Lists: true, End: answer.EndTerminal}
}

func readTexts(b *answer.Builder, doc *answer.Document) bool {
	d := itemBuilder{b}
	texts := doc.Value
	if texts.Type() == fastjson.TypeObject {
		if d.envelope(doc) {
			return true
		}
		for _, name := range [...]string{"prompt", "text", "content"} {
			if texts = doc.Value.Get(name); texts != nil {
				break
			}
		}
		if texts == nil {
			return true
		}
	} else if items := texts.GetArray(); len(items) > 0 && answer.Truthy(items[0].Get("error")) {
		return false
	}
	list := []*fastjson.Value{texts}
	if texts.Type() == fastjson.TypeArray {
		list = texts.GetArray()
	}
	for i, v := range list[:min(len(list), math.MaxUint16)] {
		if v.Type() != fastjson.TypeString {
			d.Malformed()
			continue
		}
		d.Answered = true
		if c := d.Choice(nil, i); c != nil {
			d.Emit(c, bench.Text, answer.Str(v))
			c.Finish = bench.FinishStop
		}
	}
	d.Terminal = true
	return true
}
