package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"aiperfd/internal/engine/suggest"
)

// Objectives are the objectives of each request: metric tag → threshold in the
// metric's display unit.
type Objectives map[string]float64

// decode reads an object of metric tags, or their short names, and numbers.
func (o *Objectives) decode(f field, n *node) bool {
	if n.shape != object {
		return f.wrongType(n, f.path, "an object with metric tags and numbers")
	}
	for _, m := range n.members {
		name := ""
		if m.flag != "" {
			name = m.flag + ": "
		}
		tag := cmp.Or(objectiveAliases()[strings.ToLower(m.name)], m.name)
		at := join(f.path, tag)
		if f.given[at] != nil {
			f.fail(m.place, CodeConflict, "%sthe objective %s is given twice", name, tag)
			continue
		}
		f.given[at] = m.value
		if !slices.Contains(f.options.Choices.Objectives, tag) {
			known := append(slices.Sorted(maps.Keys(objectiveAliases())), f.options.Choices.Objectives...)
			f.fail(m.place, CodeUnknownField, "%s%q is not a metric%s", name, clip(m.name), suggest.DidYouMean(m.name, known))
			continue
		}
		limit, ok := f.float(m.value, at)
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

// objectiveAliases are the usual short names of metrics that objectives may use.
func objectiveAliases() map[string]string {
	return map[string]string{
		"ttft": "time_to_first_token", "itl": "inter_token_latency", "tpot": "inter_token_latency",
		"e2e": "request_latency", "e2el": "request_latency", "latency": "request_latency",
		"ttst": "time_to_second_token", "ttfo": "time_to_first_output_token",
	}
}
