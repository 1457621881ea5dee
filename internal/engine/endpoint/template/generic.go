package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/openai"
)

// genericGrammar describes unknown APIs: the output is at the
// place that the user names, or, with a nil finder, wherever an answer of the APIs
// that we know would have it.
func genericGrammar(find finder) *answer.Grammar {
	return &answer.Grammar{
		Dialect: func(b *answer.Builder) answer.Dialect { return &genericDialect{openai.NewDialect(b), find} },
		Lists:   true, End: answer.EndOfBody,
	}
}

// genericDialect reads answers of any API.
type genericDialect struct {
	openai.Dialect

	find finder
}

func (d *genericDialect) Document(doc *answer.Document) bool {
	if d.find != nil {
		return d.readField(doc)
	}
	return d.readUsual(doc)
}

func (d *genericDialect) Text(body []byte) {
	d.Answered = true
	d.emitAlone(body)
}

// emitAlone records text of the only choice.
func (d *genericDialect) emitAlone(content []byte) {
	if c := d.OnlyChoice(); c != nil {
		d.Emit(c, bench.Text, content)
	}
}

// readField takes the value at the user's place of a document.
func (d *genericDialect) readField(doc *answer.Document) bool {
	if err := doc.Value.Get("error"); answer.Truthy(err) {
		d.FailInObject(doc.Data)
		return true
	}
	d.usageOf(doc.Value)
	dec := json.NewDecoder(bytes.NewReader(doc.Data))
	var whole any
	if dec.Decode(&whole) != nil {
		return false
	}
	found, err := d.find(whole)
	if err != nil || found == nil {
		return true // another event of a stream may have it; a document without it is no answer
	}
	d.Answered = true
	d.output(found)
	return true
}

// usageOf reads the usage block of an object, if it has one.
func (d *genericDialect) usageOf(v *fastjson.Value) {
	if v.Type() == fastjson.TypeObject {
		d.ChunkUsage(v.Get("usage"))
	}
}

// output takes a value that is the output, by its type.
func (d *genericDialect) output(v any) {
	switch v := v.(type) {
	case string:
		d.emitAlone([]byte(v))
	case bool, float64:
		d.emitAlone(fmt.Append(nil, v))
	case map[string]any:
		d.outputList([]any{v})
	case []any:
		d.outputList(v)
	}
}

// outputList takes a list: texts, numbers, vectors, or scored items.
func (d *genericDialect) outputList(list []any) {
	if len(list) == 0 {
		return
	}
	switch first := list[0].(type) {
	case string:
		for _, v := range list {
			if s, ok := v.(string); ok {
				d.emitAlone([]byte(s))
			}
		}
	case float64:
		d.vectors([][]any{list})
	case []any:
		rows := make([][]any, 0, len(list))
		for _, v := range list {
			if row, ok := v.([]any); ok {
				rows = append(rows, row)
			}
		}
		d.vectors(rows)
	case map[string]any:
		if _, ok := first["index"]; ok {
			d.ranks(list)
			return
		}
		for _, v := range list {
			if text, err := json.Marshal(v); err == nil {
				d.emitAlone(text)
			}
		}
	}
}

// vectors records embeddings.
func (d *genericDialect) vectors(rows [][]any) {
	for _, row := range rows {
		d.Answer.Vectors = append(d.Answer.Vectors, bench.Vector{Index: len(d.Answer.Vectors), Dim: len(row), Rows: 1})
	}
	d.Item(bench.Embedding, 0)
}

// ranks records scored items.
func (d *genericDialect) ranks(items []any) {
	for i, v := range items {
		item, _ := v.(map[string]any)
		rank := bench.Rank{Index: i, Score: math.NaN()}
		if index, ok := item["index"].(float64); ok && index >= 0 && index <= answer.MaxIndex {
			rank.Index = int(index)
		}
		for _, name := range []string{"relevance_score", "score", "logit"} {
			if score, ok := item[name].(float64); ok {
				rank.Score = score
				break
			}
		}
		d.Answer.Ranks = append(d.Answer.Ranks, rank)
	}
	d.Item(bench.Ranking, 0)
}

// readUsual takes the output of a document from one of the usual places.
func (d *genericDialect) readUsual(doc *answer.Document) bool {
	v := doc.Value
	if v.Get("choices") != nil {
		return d.Dialect.Document(doc)
	}
	if answer.Truthy(v.Get("error")) {
		d.FailInObject(doc.Data)
		return true
	}
	d.usageOf(v)
	var whole any
	if json.Unmarshal(doc.Data, &whole) != nil {
		return false
	}
	if d.images(v) {
		d.Answered = true
		return true
	}
	if found := usual(whole); found != nil {
		d.Answered = true
		d.output(found)
	}
	return true
}

// images records the images of an answer of OpenAI's image API; false = it has none.
func (d *genericDialect) images(v *fastjson.Value) bool {
	before := len(d.Answer.Chunks)
	for _, item := range v.GetArray("data") {
		if size := openai.ImageSize(item); size > 0 {
			d.Item(bench.Image, size)
		}
	}
	return len(d.Answer.Chunks) > before
}

// usual finds the output of an answer whose API is not known.
func usual(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v // a list: vectors, scored items or texts
	}
	for _, path := range usualPlaces() {
		if found := follow(object, path); found != nil && found != "" {
			return found
		}
	}
	return nil
}

// usualPlaces are the members with the output of the APIs that servers offer, the
// more telling ones first. A star stands for all elements of a list.
func usualPlaces() [][]string {
	places := strings.Fields(`data.*.embedding embeddings embedding rankings results 
		text_output generated_text token.text message.content delta.text response content.*.text content
		text output.text output outputs answer result completion generation generations.*.text predictions`)
	paths := make([][]string, len(places))
	for i, p := range places {
		paths[i] = strings.Split(p, ".")
	}
	return paths
}

// follow goes along a path of members; nil = there is nothing.
func follow(v any, path []string) any {
	if len(path) == 0 {
		return v
	}
	if path[0] != "*" {
		object, _ := v.(map[string]any)
		next := object[path[0]]
		if next == nil {
			return nil
		}
		return follow(next, path[1:])
	}
	list, _ := v.([]any)
	var all []any
	for _, element := range list {
		if found := follow(element, path[1:]); found != nil {
			all = append(all, found)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
