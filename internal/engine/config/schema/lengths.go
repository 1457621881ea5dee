package schema

import "aiperfd/internal/engine/config/tree"

// normalisePrompts expands the short forms of pairs of lengths and of a range ratio.
func (e expander) normalisePrompts(prompts *tree.Node) {
	if prompts == nil || prompts.Shape != tree.Object {
		return
	}
	for _, name := range spellings("randomRangeRatio") {
		if n := prompts.Get(name); n != nil {
			prompts.Set(name, RangeRatio(n))
		}
	}
	for _, name := range spellings("sequenceDistribution") {
		pairs := prompts.Get(name)
		if pairs == nil || pairs.Shape != tree.List {
			continue
		}
		for _, pair := range pairs.Items {
			if pair.Shape == tree.Object {
				e.moveSpread(pair, "isl")
				e.moveSpread(pair, "osl")
			}
		}
	}
}

// spellings returns a name and its form in snake_case.
func spellings(name string) []string { return []string{name, tree.SnakeCase(name)} }

// RangeRatio turns a number, or the text of a number or an object, into an object with
// both ratios. It returns any other value unchanged.
func RangeRatio(n *tree.Node) *tree.Node {
	at := n.Place
	if n.Shape == tree.Text {
		inner, duplicates, err := tree.ParseJSON([]byte(n.Scalar))
		if err != nil || len(duplicates) > 0 {
			return n
		}
		inner.Walk(func(below *tree.Node) {
			below.Place = at
			for i := range below.Members {
				below.Members[i].Place = at
			}
		})
		n = inner
	}
	if n.Shape != tree.Number {
		return n
	}
	both := tree.ObjectNode()
	both.Place = at
	for _, name := range []string{"input", "output"} {
		ratio := *n
		both.Members = append(both.Members, tree.Member{Place: at, Name: name, Value: &ratio})
	}
	return both
}

// moveSpread moves a standard deviation that stands beside a plain length into it.
func (e expander) moveSpread(pair *tree.Node, length string) {
	for _, name := range spellings(length + "Stddev") {
		i := pair.Index(name)
		if i < 0 {
			continue
		}
		at := pair.Members[i].Place
		spread, mean := pair.Drop(name), pair.Get(length)
		if spread.Shape == tree.Null {
			continue
		}
		if mean == nil || mean.Shape != tree.Number {
			e.Conflict(at, "%q needs a plain number as %q", name, length)
			continue
		}
		both := tree.ObjectNode(
			tree.Member{Place: mean.Place, Name: "mean", Value: mean}, tree.Member{Place: at, Name: "stddev", Value: spread})
		both.Place = mean.Place
		pair.Set(length, both)
	}
}
