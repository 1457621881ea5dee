package flags

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// pairForms describes the accepted forms of pairs of lengths.
const pairForms = "accepted: 256|10,128|5:60;512,256:40 or [(256|10,128|5):60,(512,256):40] or " +
	`{"pairs":[{"isl":256,"isl_stddev":10,"osl":128,"osl_stddev":5,"prob":60},…]}, with percentages that add up to 100`

// layPairs lays the pairs of lengths over the tree.
func layPairs(b *overlay, occ *occurrence, path string) {
	list, err := lengthPairs(occ.values[0])
	if err != nil {
		b.fail(occ, problem.CodeWrongType, err.Error()+"; "+pairForms)
		return
	}
	list.Walk(func(below *tree.Node) {
		below.Place = b.place(occ, "")
		for i := range below.Members {
			below.Members[i].Place = below.Place
		}
	})
	b.set(path, occ, list)
}

// layRatio lays a range ratio over the tree: a number or a JSON object.
func layRatio(b *overlay, occ *occurrence, path string) {
	n := b.number(occ)
	n.Place = b.place(occ, "")
	n = schema.RangeRatio(n)
	if n.Shape != tree.Object {
		b.fail(occ, problem.CodeWrongType, `must be a number, or JSON like {"input": 0.3, "output": 0.5}`)
		return
	}
	b.set(path, occ, n)
}

// lengthPairs reads AIPerf's three forms of pairs of lengths into the list that a
// document has.
func lengthPairs(text string) (*tree.Node, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		return jsonPairs(text)
	}
	divider, pattern := ";", plainPair
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, errors.New("] is missing at the end")
		}
		divider, pattern = "", bracketPair
	}
	list, total := tree.ListNode(), 0.0
	for part := range parts(text, divider) {
		found := pattern().FindStringSubmatch(part)
		if found == nil {
			return nil, fmt.Errorf("%q is no pair of lengths", problem.Clip(part))
		}
		pair, probability := pairNode(found[1], found[2], found[3], found[4], found[5])
		list.Items = append(list.Items, pair)
		total += probability
	}
	return list, checkTotal(list, total)
}

// checkTotal checks the number of pairs and the sum of their probabilities, more
// strictly than in documents, as AIPerf does.
func checkTotal(list *tree.Node, total float64) error {
	const tolerance = 1e-4
	if len(list.Items) == 0 {
		return errors.New("there is no pair of lengths")
	}
	if !(math.Abs(total-100) <= tolerance) {
		return fmt.Errorf("the probabilities add up to %s", schema.FormatNumber(total))
	}
	return nil
}

// parts yields the parts between dividers that are not empty. An empty divider is a
// comma that follows a pair in brackets.
func parts(text, divider string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if divider == "" {
			text, divider = strings.ReplaceAll(text, "(", ";("), ";"
		}
		for part := range strings.SplitSeq(text, divider) {
			if part = strings.TrimSpace(part); part != "" && !yield(part) {
				return
			}
		}
	}
}

// The parts of the patterns: a whole number with an optional standard deviation, and a
// probability.
const (
	lengthPattern  = `(\d+)(?:\|(\d+(?:\.\d+)?|\.\d+))?`
	percentPattern = `(\d+(?:\.\d+)?|\.\d+)`
)

func plainPair() *regexp.Regexp {
	return regexp.MustCompile(`^` + lengthPattern + `\s*,\s*` + lengthPattern + `\s*:\s*` + percentPattern + `$`)
}

func bracketPair() *regexp.Regexp {
	return regexp.MustCompile(`^\(\s*` + lengthPattern + `\s*,\s*` + lengthPattern + `\s*\)\s*:\s*` + percentPattern + `\s*,?$`)
}

// pairNode returns a pair as documents have it; an empty standard deviation is none.
func pairNode(isl, islSpread, osl, oslSpread, percent string) (*tree.Node, float64) {
	number := func(text string) *tree.Node {
		v, _ := strconv.ParseFloat(text, 64) // the pattern has checked it
		return &tree.Node{Shape: tree.Number, Scalar: schema.FormatNumber(v)}
	}
	length := func(mean, spread string) *tree.Node {
		n := tree.ObjectNode(tree.Member{Name: "mean", Value: number(mean)})
		if spread != "" {
			n.Set("stddev", number(spread))
		}
		return n
	}
	probability, _ := strconv.ParseFloat(percent, 64)
	return tree.ObjectNode(
		tree.Member{Name: "isl", Value: length(isl, islSpread)},
		tree.Member{Name: "osl", Value: length(osl, oslSpread)},
		tree.Member{Name: "probability", Value: number(percent)},
	), probability
}

// jsonPairs reads {"pairs": [{"isl", "isl_stddev", "osl", "osl_stddev", "prob"}, …]}.
func jsonPairs(text string) (*tree.Node, error) {
	n, duplicates, err := tree.ParseJSON([]byte(text))
	if err != nil || len(duplicates) > 0 {
		return nil, errors.New("it is no JSON object with unique names")
	}
	pairs := n.Get("pairs")
	if pairs == nil || pairs.Shape != tree.List || len(n.Members) != 1 {
		return nil, errors.New("the JSON object must have the member pairs, a list, and no other")
	}
	list, total := tree.ListNode(), 0.0
	for i, pair := range pairs.Items {
		values := map[string]string{"isl": "", "isl_stddev": "", "osl": "", "osl_stddev": "", "prob": ""}
		if pair.Shape != tree.Object {
			return nil, fmt.Errorf("pairs[%d] is no object", i)
		}
		for _, m := range pair.Members {
			if _, known := values[m.Name]; !known || m.Value.Shape != tree.Number {
				return nil, fmt.Errorf("pairs[%d]: %q: only the numbers isl, isl_stddev, osl, osl_stddev and prob are accepted", i, problem.Clip(m.Name))
			}
			values[m.Name] = m.Value.Scalar
		}
		if values["isl"] == "" || values["osl"] == "" || values["prob"] == "" {
			return nil, fmt.Errorf("pairs[%d]: isl, osl and prob are required", i)
		}
		node, probability := pairNode(values["isl"], values["isl_stddev"], values["osl"], values["osl_stddev"], values["prob"])
		list.Items = append(list.Items, node)
		total += probability
	}
	return list, checkTotal(list, total)
}
