package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// anyGrammar reads answers of APIs that nobody has described: at the place that
// the user names, or, with a nil finder, wherever an answer of the APIs that we
// know would have its output.
func anyGrammar(find finder) *grammar {
	g := &grammar{lists: true, end: endOfBody, text: func(d *decoder, body []byte) {
		d.answers = true
		d.emitAlone(body)
	}}
	g.read = readAnything
	if find != nil {
		g.read = func(d *decoder, doc *document) bool { return d.readField(doc, find) }
	}
	return g
}

// emitAlone records text of the only choice.
func (d *decoder) emitAlone(content []byte) {
	if c := d.state(nil, 0); c != nil {
		d.emit(c, bench.Text, content)
	}
}

// readField takes what stands at a place of a document.
func (d *decoder) readField(doc *document, find finder) bool {
	if err := doc.value.Get("error"); truthy(err) {
		d.failInObject(doc.data)
		return true
	}
	d.usageOf(doc.value)
	dec := json.NewDecoder(bytes.NewReader(doc.data))
	var whole any
	if dec.Decode(&whole) != nil {
		return false
	}
	found, err := find(whole)
	if err != nil || found == nil {
		return true // in a stream another event may have it; a document without it is no answer
	}
	d.answers = true
	d.output(found)
	return true
}

// usageOf reads the usage block of an object, if it has one.
func (d *decoder) usageOf(v *fastjson.Value) {
	if v.Type() == fastjson.TypeObject {
		d.readUsage(&chunk{usage: v.Get("usage")})
	}
}

// output takes a value that is the output, by what it is.
func (d *decoder) output(v any) {
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
func (d *decoder) outputList(list []any) {
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
func (d *decoder) vectors(rows [][]any) {
	for _, row := range rows {
		d.a.Vectors = append(d.a.Vectors, bench.Vector{Index: len(d.a.Vectors), Dim: len(row), Rows: 1})
	}
	d.item(bench.Embedding, 0)
}

// ranks records scored items.
func (d *decoder) ranks(items []any) {
	for i, v := range items {
		item, _ := v.(map[string]any)
		rank := bench.Rank{Index: i, Score: math.NaN()}
		if index, ok := item["index"].(float64); ok && index >= 0 && index <= maxIndex {
			rank.Index = int(index)
		}
		for _, name := range []string{"relevance_score", "score", "logit"} {
			if score, ok := item[name].(float64); ok {
				rank.Score = score
				break
			}
		}
		d.a.Ranks = append(d.a.Ranks, rank)
	}
	d.item(bench.Ranking, 0)
}

// readAnything takes the output of a document from where it usually stands.
func readAnything(d *decoder, doc *document) bool {
	v := doc.value
	if v.Get("choices") != nil {
		return readOpenAI(d, doc)
	}
	if truthy(v.Get("error")) {
		d.failInObject(doc.data)
		return true
	}
	d.usageOf(v)
	var whole any
	if json.Unmarshal(doc.data, &whole) != nil {
		return false
	}
	if d.pictures(v) {
		d.answers = true
		return true
	}
	if found := usual(whole); found != nil {
		d.answers = true
		d.output(found)
	}
	return true
}

// pictures records the images of an answer of OpenAI's image API; false = it has
// none.
func (d *decoder) pictures(v *fastjson.Value) bool {
	before := len(d.a.Chunks)
	for _, item := range v.GetArray("data") {
		if picture := str(item.Get("b64_json")); len(picture) > 0 {
			d.item(bench.Image, len(picture))
		} else if picture := str(item.Get("url")); len(picture) > 0 {
			d.item(bench.Image, len(picture))
		}
	}
	return len(d.a.Chunks) > before
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
