package endpoint

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// itemBuilder collects answers of items: vectors, scores, tokens.
type itemBuilder struct{ *builder }

// envelope reads what answers have beside their content, and reports whether the
// answer is an error.
func (d itemBuilder) envelope(doc *document) (failed bool) {
	v := doc.value
	d.identify(v)
	usage := v.Get("usage")
	switch {
	case usage != nil:
	case v.Get("meta", "tokens") != nil: // Cohere v1
		usage = v.Get("meta")
	case v.Get("prompt_eval_count") != nil: // Ollama
		usage = v
	}
	if u, ok := readUsage(usage); ok {
		d.inputUsage(u)
	}
	if truthy(v.Get("error")) || string(str(v.Get("object"))) == "error" {
		d.failInObject(doc.data)
		return true
	}
	return false
}

// inputUsage sets the usage of an API without output tokens: its total is input.
func (d itemBuilder) inputUsage(u usageCounts) {
	if !u.input.known() && !u.output.known() {
		u.input = u.total
	}
	d.setUsage(u)
}

// inputTokens sets a count of input tokens that is not part of a usage.
func (d itemBuilder) inputTokens(n int64) { d.inputUsage(usageCounts{input: count{n, 1}}) }

// endItems makes one chunk of everything that an answer of size bytes contains.
func (d itemBuilder) endItems(kind bench.ChunkKind, items, size int) {
	if items == 0 || d.answer.Failure != nil {
		return
	}
	d.item(kind, min(size, math.MaxInt32))
	if c := d.only(); c != nil {
		c.finish = bench.FinishStop
	}
	d.terminal = true
}

// endRanks makes one chunk of the scores.
func (d itemBuilder) endRanks(size int) { d.endItems(bench.Ranking, len(d.answer.Ranks), size) }
