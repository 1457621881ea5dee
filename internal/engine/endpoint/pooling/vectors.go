// Package pooling has the codecs of the APIs of pooling models: embeddings, scores,
// rankings and classes. Those of tokenizers are answered in the same way.
package pooling

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
)

// Vectors is the grammar of embeddings, by the fields that are there: data[] or
// embeddings[] or embedding, or bare lists.
func Vectors() *answer.Grammar {
	return vectorGrammar(newVectors)
}

func vectorGrammar(dialect func(b *answer.Builder) answer.Dialect) *answer.Grammar {
	return &answer.Grammar{Dialect: dialect, Lists: true, Folds: true, End: answer.EndTerminal}
}

// vectorDialect reads vectors, of which only the sizes are kept.
type vectorDialect struct {
	itemBuilder

	scratch []byte        // a decoded vector
	json    answer.Parser // of a header
}

func newVectors(b *answer.Builder) answer.Dialect { return &vectorDialect{itemBuilder: itemBuilder{b}} }

func (d *vectorDialect) Reset() {}

func (d *vectorDialect) Document(doc *answer.Document) bool {
	v := doc.Value
	if v.Type() == fastjson.TypeArray {
		return d.bareVectors(doc)
	}
	d.Answered = true
	if d.envelope(doc) {
		return true
	}
	switch data, many, one := v.Get("data"), v.Get("embeddings"), v.Get("embedding"); {
	case data != nil && data.Type() == fastjson.TypeArray && !v.Exists("request_id"):
		for i, item := range data.GetArray() {
			d.vectorItem(item, i)
		}
	case answer.Truthy(data): // the answer of a plugin, of any form
		d.Answer.Vectors = append(d.Answer.Vectors, bench.Vector{Rows: 1})
	case many != nil && many.Type() == fastjson.TypeArray:
		for i, item := range many.GetArray() {
			d.vector(item, i)
		}
	case one != nil:
		d.vector(one, 0)
	}
	d.endVectors(doc.Size)
	return true
}

// bareVectors reads an answer that is a list: a vector, a list of vectors, one of
// sparse vectors, or the probabilities of labels, as the native routes of TEI answer.
func (d *vectorDialect) bareVectors(doc *answer.Document) bool {
	items := doc.Value.GetArray()
	if len(items) > 0 && answer.Truthy(items[0].Get("error")) {
		return false
	}
	d.Answered = true
	first := fastjson.TypeNull
	if len(items) > 0 {
		first = items[0].Type()
	}
	switch {
	case first == fastjson.TypeNumber: // the root is not folded
		d.Answer.Vectors = append(d.Answer.Vectors, bench.Vector{Dim: len(items), Rows: 1})
	case first == fastjson.TypeObject && items[0].Exists("label"):
		d.Answer.Ranks = append(d.Answer.Ranks, bench.Rank{Score: bestScore(items)})
		d.endRanks(doc.Size)
		return true
	case first == fastjson.TypeObject && items[0].Exists("value"):
		d.Answer.Vectors = append(d.Answer.Vectors, bench.Vector{Dim: len(items), Rows: 1})
	default:
		for i, item := range items {
			if labels := item.GetArray(); len(labels) > 0 && labels[0].Exists("label") {
				d.Answer.Ranks = append(d.Answer.Ranks, bench.Rank{Index: i, Score: bestScore(labels)})
			} else {
				d.vectorItem(item, i)
			}
		}
		if len(d.Answer.Ranks) > 0 {
			d.endRanks(doc.Size)
			return true
		}
	}
	d.endVectors(doc.Size)
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
		d.Malformed()
		return
	}
	d.vector(content, index)
}

// vector keeps the size of a vector: a list of numbers, nested lists of numbers, or
// base64.
func (d *vectorDialect) vector(v *fastjson.Value, index int) {
	dim, rows, ok := d.sizeOf(v)
	if !ok {
		d.Malformed()
		return
	}
	d.Answer.Vectors = append(d.Answer.Vectors, bench.Vector{Index: index, Dim: dim, Rows: rows})
}

// floatSize is the size of an element in base64 in bytes: a float32, unless the
// request has another type, which the answer does not repeat.
const floatSize = 4

func (d *vectorDialect) sizeOf(v *fastjson.Value) (dim, rows int, ok bool) {
	if v.Type() == fastjson.TypeString {
		text := answer.Str(v)
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
	slices.SortStableFunc(d.Answer.Vectors, func(a, b bench.Vector) int { return a.Index - b.Index })
	d.endItems(bench.Embedding, len(d.Answer.Vectors), size)
}

// Binary reads vLLM's encoding_format bytes: the numbers in the layout of memory, and
// their description in the header "metadata", unless only bytes were requested.
func (d *vectorDialect) Binary(resp *bench.Response) {
	d.Answered = true
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
		d.Malformed()
		d.endItems(bench.Embedding, 1, size)
		return
	}
	d.Answer.ResponseID, d.Answer.Model = about.ID, about.Model
	if v := d.json.Parse(about.Usage); v != nil {
		if u, ok := answer.ReadUsage(v); ok {
			d.inputUsage(u)
		}
	}
	received := 0
	for _, p := range resp.Pieces {
		received += int(p.Size)
	}
	for _, item := range about.Data {
		dim, rows, ok := shapeOf(item.Shape, received)
		if !ok {
			d.Malformed()
			continue
		}
		d.Answer.Vectors = append(d.Answer.Vectors, bench.Vector{Index: item.Index, Dim: dim, Rows: rows})
		size = max(size, item.End)
	}
	d.endVectors(min(size, received))
}

// shapeOf returns the length of the last axis of a shape, and the product of the others.
// ok = false if an axis is not positive, or if the numbers do not fit in the received bytes
// even with one bit for each.
func shapeOf(shape []int, received int) (dim, rows int, ok bool) {
	const perByte = 8
	dim, rows = 0, 1
	for i, axis := range shape {
		if axis <= 0 || axis > perByte*received/rows {
			return 0, 0, false
		}
		if i == len(shape)-1 {
			dim = axis
		} else {
			rows *= axis
		}
	}
	return dim, rows, true
}
