package pooling

import (
	"math"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
)

// rankReader reads one member of an answer of scores.
type rankReader func(v *fastjson.Value, position int) (bench.Rank, bool)

// ranks is the grammar of scores, by the fields that are there: results[], data[],
// rankings[] or scores[], or a bare list. The order of the answer is kept.
func ranks(item rankReader) *answer.Grammar {
	return rankGrammar(func(b *answer.Builder) answer.Dialect { return newRanks(b, item) })
}

func rankGrammar(dialect func(b *answer.Builder) answer.Dialect) *answer.Grammar {
	return &answer.Grammar{Dialect: dialect, Lists: true, End: answer.EndTerminal}
}

// rankDialect reads scores.
type rankDialect struct {
	itemBuilder

	rank rankReader
}

func newRanks(b *answer.Builder, item rankReader) *rankDialect {
	return &rankDialect{itemBuilder{b}, item}
}

func (d *rankDialect) Reset() {}

func (d *rankDialect) Document(doc *answer.Document) bool {
	list := doc.Value
	if list.Type() == fastjson.TypeArray {
		if items := list.GetArray(); len(items) > 0 && answer.Truthy(items[0].Get("error")) {
			return false
		}
	} else {
		if d.envelope(doc) {
			return true
		}
		list = firstList(doc.Value, "results", "data", "rankings", "scores")
		if list == nil {
			return true
		}
	}
	d.Answered = true
	for i, v := range list.GetArray() {
		if rank, ok := d.rank(v, i); ok {
			d.Answer.Ranks = append(d.Answer.Ranks, rank)
		} else {
			d.Malformed()
		}
	}
	d.endRanks(doc.Size)
	return true
}

// firstList returns the first of the members that is a list.
func firstList(v *fastjson.Value, names ...string) *fastjson.Value {
	for _, name := range names {
		if list := v.Get(name); list != nil && list.Type() == fastjson.TypeArray {
			return list
		}
	}
	return nil
}

// itemIndex reads the index of an item; without one it is the item's position. It
// returns false for what cannot be an index.
func itemIndex(v *fastjson.Value, position int) (int, bool) {
	index := v.Get("index")
	if index == nil {
		return position, true
	}
	n, ok := answer.TokenCount(index)
	return int(n), ok && n <= math.MaxInt32
}

// rankedItem reads an item of an answer in the order of its scores, which is
// nothing without its index.
func rankedItem(v *fastjson.Value, position int) (bench.Rank, bool) {
	if !v.Exists("index") {
		return bench.Rank{}, false
	}
	return scoredItem(v, position)
}

// scoredItem reads the score of a pair: a member, or the item itself, or the first
// of its list (SGLang: one number for each requested label).
func scoredItem(v *fastjson.Value, position int) (bench.Rank, bool) {
	if list := v.GetArray(); len(list) > 0 {
		v = list[0]
	}
	if v.Type() == fastjson.TypeNumber {
		return bench.Rank{Index: position, Score: v.GetFloat64()}, true
	}
	index, ok := itemIndex(v, position)
	if !ok {
		return bench.Rank{}, false
	}
	for _, name := range []string{"relevance_score", "score", "logit"} {
		if score := v.Get(name); score != nil && score.Type() == fastjson.TypeNumber {
			return bench.Rank{Index: index, Score: score.GetFloat64()}, true
		}
	}
	return bench.Rank{}, false
}

// classItem reads the classes of a text: its score is the highest probability.
// Infinity lists labels with their scores instead (REST API, "/classify").
func classItem(v *fastjson.Value, position int) (bench.Rank, bool) {
	if v.Type() == fastjson.TypeArray {
		best := bestScore(v.GetArray())
		return bench.Rank{Index: position, Score: best}, !math.IsNaN(best) && !math.IsInf(best, 0)
	}
	index, ok := itemIndex(v, position)
	probs := v.GetArray("probs")
	if !ok || len(probs) == 0 {
		return bench.Rank{}, false
	}
	best := math.Inf(-1)
	for _, p := range probs {
		if p.Type() == fastjson.TypeNumber {
			best = max(best, p.GetFloat64())
		}
	}
	return bench.Rank{Index: index, Score: best}, !math.IsInf(best, 0)
}

// foundItem reads the objects found in an image: there is no overall score.
func foundItem(v *fastjson.Value, position int) (bench.Rank, bool) {
	index, ok := itemIndex(v, position)
	return bench.Rank{Index: index, Score: math.NaN()}, ok && v.Type() == fastjson.TypeObject
}

// bestScore returns the highest score of labels; NaN = there is none.
func bestScore(labels []*fastjson.Value) float64 {
	best := math.NaN()
	for _, label := range labels {
		score := label.Get("score")
		if score == nil || score.Type() != fastjson.TypeNumber {
			continue
		}
		if n := score.GetFloat64(); !(n <= best) {
			best = n
		}
	}
	return best
}
