package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// vectors is the grammar of embeddings, by the fields that are there: data[] or
// embeddings[] or embedding, or bare lists.
func vectors() *grammar {
	return vectorGrammar(newVectors)
}

func vectorGrammar(dialect func(b *builder) dialect) *grammar {
	return &grammar{dialect: dialect, lists: true, folds: true, end: endTerminal}
}

// vectorDialect reads vectors, of which only the sizes are kept.
type vectorDialect struct {
	itemBuilder

	scratch []byte     // a decoded vector
	json    jsonParser // of a header
}

func newVectors(b *builder) dialect { return &vectorDialect{itemBuilder: itemBuilder{b}} }

func (d *vectorDialect) reset() {}

func (d *vectorDialect) document(doc *document) bool {
	v := doc.value
	if v.Type() == fastjson.TypeArray {
		return d.bareVectors(doc)
	}
	d.answered = true
	if d.envelope(doc) {
		return true
	}
	switch data, many, one := v.Get("data"), v.Get("embeddings"), v.Get("embedding"); {
	case data != nil && data.Type() == fastjson.TypeArray && !v.Exists("request_id"):
		for i, item := range data.GetArray() {
			d.vectorItem(item, i)
		}
	case truthy(data): // the answer of a plugin, whatever it is
		d.answer.Vectors = append(d.answer.Vectors, bench.Vector{Rows: 1})
	case many != nil && many.Type() == fastjson.TypeArray:
		for i, item := range many.GetArray() {
			d.vector(item, i)
		}
	case one != nil:
		d.vector(one, 0)
	}
	d.endVectors(doc.size)
	return true
}

// bareVectors reads an answer that is a list: a vector, a list of vectors, one of
// sparse vectors, or the probabilities of labels, as the native routes of TEI answer.
func (d *vectorDialect) bareVectors(doc *document) bool {
	items := doc.value.GetArray()
	if len(items) > 0 && truthy(items[0].Get("error")) {
		return false
	}
	d.answered = true
	first := fastjson.TypeNull
	if len(items) > 0 {
		first = items[0].Type()
	}
	switch {
	case first == fastjson.TypeNumber: // the root is not folded
		d.answer.Vectors = append(d.answer.Vectors, bench.Vector{Dim: len(items), Rows: 1})
	case first == fastjson.TypeObject && items[0].Exists("label"):
		d.answer.Ranks = append(d.answer.Ranks, bench.Rank{Score: bestScore(items)})
		d.endRanks(doc.size)
		return true
	case first == fastjson.TypeObject && items[0].Exists("value"):
		d.answer.Vectors = append(d.answer.Vectors, bench.Vector{Dim: len(items), Rows: 1})
	default:
		for i, item := range items {
			if labels := item.GetArray(); len(labels) > 0 && labels[0].Exists("label") {
				d.answer.Ranks = append(d.answer.Ranks, bench.Rank{Index: i, Score: bestScore(labels)})
			} else {
				d.vectorItem(item, i)
			}
		}
		if len(d.answer.Ranks) > 0 {
			d.endRanks(doc.size)
			return true
		}
	}
	d.endVectors(doc.size)
	return true
}

// vectorItem reads one member of data: an object around a vector, or a vector.
func (d *vectorDialect) vectorItem(v *fastjson.Value, position int) {
	if v.Type() != fastjson.TypeObject {
		d.vector(v, position)
		return
	}
	index, ok := itemIndex(v, position)
	content := v.Get("embedding")
	if content == nil {
		content = v.Get("data")
	}
	if !ok || content == nil {
		d.malformed()
		return
	}
	d.vector(content, index)
}

// vector keeps the size of a vector: a list of numbers, a nest of such lists, or
// base64.
func (d *vectorDialect) vector(v *fastjson.Value, index int) {
	dim, rows, ok := d.sizeOf(v)
	if !ok {
		d.malformed()
		return
	}
	d.answer.Vectors = append(d.answer.Vectors, bench.Vector{Index: index, Dim: dim, Rows: rows})
}

// floatSize is the size of an element in base64 in bytes: a float32, unless the
// request asked for another type, which the answer does not repeat.
const floatSize = 4

func (d *vectorDialect) sizeOf(v *fastjson.Value) (dim, rows int, ok bool) {
	if v.Type() == fastjson.TypeString {
		text := str(v)
		d.scratch = slices.Grow(d.scratch[:0], base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(d.scratch[:cap(d.scratch)], text)
		return n / floatSize, 1, err == nil && n >= floatSize
	}
	items := v.GetArray()
	switch {
	case len(items) == 0:
		return 0, 0, false
	case items[0].Type() == fastjson.TypeArray:
		dim, rows, ok = d.sizeOf(items[0])
		return dim, rows * len(items), ok
	case len(items) == 1 && items[0].Type() == fastjson.TypeNumber:
		return items[0].GetInt(), 1, true // folded
	}
	return len(items), 1, true // sparse, or numbers that are none
}

// endVectors makes one chunk of the vectors, which end with the answer's last byte.
func (d *vectorDialect) endVectors(size int) {
	slices.SortStableFunc(d.answer.Vectors, func(a, b bench.Vector) int { return a.Index - b.Index })
	d.endItems(bench.Embedding, len(d.answer.Vectors), size)
}

// binary reads vLLM's encoding_format bytes: the numbers in the layout of memory, and
// their description in the header "metadata", unless only bytes were requested.
func (d *vectorDialect) binary(resp *bench.Response) {
	d.answered = true
	size, _ := strconv.Atoi(resp.Header.Get("Content-Length"))
	var about struct {
		ID, Model string
		Data      []struct {
			Index int
			End   int
			Shape []int
		}
		Usage json.RawMessage
	}
	text := resp.Header.Get("metadata")
	if text == "" {
		d.endItems(bench.Embedding, 1, size)
		return
	}
	if err := json.Unmarshal([]byte(text), &about); err != nil {
		d.malformed()
		d.endItems(bench.Embedding, 1, size)
		return
	}
	d.answer.ResponseID, d.answer.Model = about.ID, about.Model
	if v := d.json.parse(about.Usage); v != nil {
		if u, ok := readUsage(v); ok {
			d.inputUsage(u)
		}
	}
	for _, item := range about.Data {
		v := bench.Vector{Index: item.Index, Rows: 1}
		if n := len(item.Shape); n > 0 {
			v.Dim = item.Shape[n-1]
			for _, rows := range item.Shape[:n-1] {
				v.Rows *= rows
			}
		}
		d.answer.Vectors = append(d.answer.Vectors, v)
		size = max(size, item.End)
	}
	d.endVectors(size)
}
