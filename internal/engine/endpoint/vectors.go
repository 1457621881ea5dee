package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// vectors is the grammar of embeddings, by the fields that are there: data[] or
// embeddings[] or embedding, or bare lists. Only the sizes of vectors are kept.
func vectors() *grammar {
	return &grammar{read: readVectors, binary: readVectorBytes, lists: true, folds: true, end: endTerminal}
}

func readVectors(d *decoder, doc *document) bool {
	v := doc.value
	if v.Type() == fastjson.TypeArray {
		return d.bareVectors(v.GetArray())
	}
	d.answers = true
	if d.head(doc) {
		return true
	}
	switch data, many, one := v.Get("data"), v.Get("embeddings"), v.Get("embedding"); {
	case data != nil && data.Type() == fastjson.TypeArray && !v.Exists("request_id"):
		for i, item := range data.GetArray() {
			d.vectorItem(item, i)
		}
	case truthy(data): // the answer of a plugin, whatever it is
		d.a.Vectors = append(d.a.Vectors, bench.Vector{Rows: 1})
	case many != nil && many.Type() == fastjson.TypeArray:
		for i, item := range many.GetArray() {
			d.vector(item, i)
		}
	case one != nil:
		d.vector(one, 0)
	}
	d.endVectors()
	return true
}

// head reads what answers of all shapes have beside their content, and reports
// whether the answer is an error.
func (d *decoder) head(doc *document) (failed bool) {
	v := doc.value
	keepFirst(&d.a.ResponseID, v.Get("id"))
	keepFirst(&d.a.Model, v.Get("model"))
	usage := v.Get("usage")
	switch {
	case usage != nil:
	case v.Get("meta", "tokens") != nil: // Cohere v1
		usage = v.Get("meta")
	case v.Get("prompt_eval_count") != nil: // Ollama
		usage = v
	}
	if usage != nil {
		if u, ok := readUsage(usage); ok {
			d.inputUsage(u)
		}
	}
	if truthy(v.Get("error")) || string(str(v.Get("object"))) == "error" {
		d.failInObject(doc.data)
		return true
	}
	return false
}

// inputUsage takes the usage of an API without output tokens: what it counts in
// total is input.
func (d *decoder) inputUsage(u usageCounts) {
	if !u.input.known() && !u.output.known() {
		u.input = u.total
	}
	d.usage, d.hasUsage = u, true
}

// inputTokens takes a count of input tokens that stands outside of a usage.
func (d *decoder) inputTokens(n int64) { d.inputUsage(usageCounts{input: count{n, 1}}) }

// bareVectors reads an answer that is a list: a vector, a list of vectors, one of
// sparse vectors, or the probabilities of labels, as the native routes of TEI answer.
func (d *decoder) bareVectors(items []*fastjson.Value) bool {
	if len(items) > 0 && truthy(items[0].Get("error")) {
		return false
	}
	d.answers = true
	first := fastjson.TypeNull
	if len(items) > 0 {
		first = items[0].Type()
	}
	switch {
	case first == fastjson.TypeNumber: // the root is not folded
		d.a.Vectors = append(d.a.Vectors, bench.Vector{Dim: len(items), Rows: 1})
	case first == fastjson.TypeObject && items[0].Exists("label"):
		d.a.Ranks = append(d.a.Ranks, bench.Rank{Score: bestScore(items)})
		d.endRanks()
		return true
	case first == fastjson.TypeObject && items[0].Exists("value"):
		d.a.Vectors = append(d.a.Vectors, bench.Vector{Dim: len(items), Rows: 1})
	default:
		for i, item := range items {
			if labels := item.GetArray(); len(labels) > 0 && labels[0].Exists("label") {
				d.a.Ranks = append(d.a.Ranks, bench.Rank{Index: i, Score: bestScore(labels)})
			} else {
				d.vectorItem(item, i)
			}
		}
		if len(d.a.Ranks) > 0 {
			d.endRanks()
			return true
		}
	}
	d.endVectors()
	return true
}

// vectorItem reads one member of data: an object around a vector, or a vector.
func (d *decoder) vectorItem(v *fastjson.Value, position int) {
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
func (d *decoder) vector(v *fastjson.Value, index int) {
	dim, rows, ok := d.sizeOf(v)
	if !ok {
		d.malformed()
		return
	}
	d.a.Vectors = append(d.a.Vectors, bench.Vector{Index: index, Dim: dim, Rows: rows})
}

func (d *decoder) malformed() {
	d.bad++
	d.warn(warnMalformedEvent)
}

// floatSize is the size of an element in base64 in bytes: a float32, unless the
// request asked for another type, which the answer does not repeat.
const floatSize = 4

func (d *decoder) sizeOf(v *fastjson.Value) (dim, rows int, ok bool) {
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

// endVectors makes one event of the vectors, with the answer's last byte.
func (d *decoder) endVectors() {
	slices.SortStableFunc(d.a.Vectors, func(a, b bench.Vector) int { return a.Index - b.Index })
	d.endItems(bench.Embedding, len(d.a.Vectors))
}

// endItems makes one event of everything that an answer holds.
func (d *decoder) endItems(kind bench.ChunkKind, items int) {
	if items == 0 || d.a.Failure != nil {
		return
	}
	d.item(kind, min(d.sent, math.MaxInt32))
	if c := d.state(nil, 0); c != nil {
		c.finish = bench.FinishStop
	}
	d.terminal = true
}

// readVectorBytes reads vLLM's encoding_format bytes: the numbers as they lie in
// memory, and what they are in the header "metadata", unless only bytes were asked for.
func readVectorBytes(d *decoder, resp *bench.Response) {
	d.answers = true
	d.sent, _ = strconv.Atoi(resp.Header.Get("Content-Length"))
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
		d.endItems(bench.Embedding, 1)
		return
	}
	if err := json.Unmarshal([]byte(text), &about); err != nil {
		d.malformed()
		d.endItems(bench.Embedding, 1)
		return
	}
	d.a.ResponseID, d.a.Model = about.ID, about.Model
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
		d.a.Vectors = append(d.a.Vectors, v)
		d.sent = max(d.sent, item.End)
	}
	d.endVectors()
}
