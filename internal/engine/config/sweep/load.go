package sweep

import (
	"slices"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// loads are the short names of the fields whose larger values are more load.
func loads() []string {
	return []string{"concurrency", "prefill_concurrency", "rate", "session_rate", "users"}
}

// IsLoad reports whether a larger value of a path is more load.
func IsLoad(path string) bool { return slices.Contains(loads(), tree.SnakeCase(Name(path))) }

// varies returns the paths that a sweep gives values.
func (b *Block) varies() []string {
	var paths []string
	for _, p := range b.Parameters {
		paths = append(paths, p.Path)
	}
	for _, d := range b.Dimensions {
		paths = append(paths, d.Path)
	}
	for _, r := range b.Runs {
		for _, a := range r.Values {
			paths = append(paths, a.Path)
		}
	}
	return paths
}

// checkStop reports conditions that can never end a sweep.
func (b *Block) checkStop(r rules, path string) {
	if len(b.StopWhen) > 0 && b.Type != Adaptive && !slices.ContainsFunc(b.varies(), IsLoad) {
		r.Conflict(path, "needs a sweep over the load: "+schema.ChoiceList(loads()))
	}
}
