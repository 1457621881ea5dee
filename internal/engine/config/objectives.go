package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// Objectives are the objectives of each request: metric tag → threshold in the
// metric's display unit.
type Objectives map[string]float64

// Decode reads an object of metric tags, or their short names, and numbers.
func (o *Objectives) Decode(f schema.Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object with metric tags and numbers")
	}
	objectives := schema.ChoiceNames(f.Options.Lists("objectives"))
	for _, m := range n.Members {
		name := ""
		if m.Flag != "" {
			name = m.Flag + ": "
		}
		tag := cmp.Or(ObjectiveAliases()[strings.ToLower(m.Name)], m.Name)
		at := schema.Join(f.Path, tag)
		if f.Given[at] != nil {
			f.Fail(m.Place, problem.CodeConflict, "%sthe objective %s is given twice", name, tag)
			continue
		}
		f.Given[at] = m.Value
		if !slices.Contains(objectives, tag) {
			known := append(slices.Sorted(maps.Keys(ObjectiveAliases())), objectives...)
			f.Fail(m.Place, problem.CodeUnknownField, "%s%q is not a metric%s", name, problem.Clip(m.Name),
				suggest.DidYouMean(m.Name, known))
			continue
		}
		limit, ok := f.Float(m.Value, at)
		if !ok {
			continue
		}
		if *o == nil {
			*o = make(Objectives)
		}
		(*o)[tag] = limit
	}
	return true
}

// ObjectiveAliases returns the usual short names of metrics in objectives, in lower case.
func ObjectiveAliases() map[string]string {
	return map[string]string{
		"ttft": "time_to_first_token", "itl": "inter_token_latency", "tpot": "inter_token_latency",
		"e2e": "request_latency", "e2el": "request_latency", "latency": "request_latency",
		"ttst": "time_to_second_token", "ttfo": "time_to_first_output_token",
	}
}

// TokenDeadline is when each token of an answer is due: the first after TTFT, the others
// ITL later each, both in milliseconds.
type TokenDeadline struct {
	TTFT *float64 `json:"ttft"`
	ITL  *float64 `json:"itl"`
}
