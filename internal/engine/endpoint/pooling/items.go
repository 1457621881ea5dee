package pooling

import (
	"math"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
)

// itemBuilder collects answers of items: vectors, scores, tokens.
type itemBuilder struct{ *answer.Builder }

// envelope reads the members beside the content of an answer, and reports whether the
// answer is an error.
func (d itemBuilder) envelope(doc *answer.Document) (failed bool) {
	v := doc.Value
	d.Identify(v)
	usage := v.Get("usage")
	switch {
	case usage != nil:
	case v.Get("meta", "tokens") != nil: // Cohere v1
		usage = v.Get("meta")
	case v.Get("prompt_eval_count") != nil: // Ollama
		usage = v
	}
	if u, ok := answer.ReadUsage(usage); ok {
		d.inputUsage(u)
	}
	if answer.Truthy(v.Get("error")) || string(answer.Str(v.Get("object"))) == "error" {
		d.FailInObject(doc.Data)
		return true
	}
	return false
}

// inputUsage sets the usage of an API without output tokens: its total is input.
func (d itemBuilder) inputUsage(u answer.UsageCounts) {
	if !u.Input.Known() && !u.Output.Known() {
		u.Input = u.Total
	}
	d.SetUsage(u)
}

// inputTokens sets a count of input tokens that is not part of a usage.
func (d itemBuilder) inputTokens(n int64) {
	d.inputUsage(answer.UsageCounts{Input: answer.Count{N: n, Rank: 1}})
}

// endItems makes one chunk of everything that an answer of size bytes contains.
func (d itemBuilder) endItems(kind bench.ChunkKind, items, size int) {
	if items == 0 || d.Answer.Failure != nil {
		return
	}
	d.Item(kind, min(size, math.MaxInt32))
	if c := d.OnlyChoice(); c != nil {
		c.Finish = bench.FinishStop
	}
	d.Terminal = true
}

// endRanks makes one chunk of the scores.
func (d itemBuilder) endRanks(size int) { d.endItems(bench.Ranking, len(d.Answer.Ranks), size) }
