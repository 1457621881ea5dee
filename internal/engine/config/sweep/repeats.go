package sweep

import (
	"fmt"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// Decode reads the block over the defaults.
func (r *Repeats) Decode(f schema.Target, n *tree.Node) bool {
	type fields Repeats // without this method
	schema.Fill(r, "repeats")
	f.Fields(n, (*fields)(r), f.Path)
	return true
}

// Apply checks the block and puts it into the runs of its document. adaptive is whether the document
// has a search.
func (r *Repeats) Apply(d *schema.Decoder, m *MultiRun, adaptive bool) {
	check := rules{d}
	for _, other := range []string{"numRuns", "convergence"} {
		if d.Has("multiRun." + other) {
			check.Conflict("repeats", "does not go with multiRun."+other+", which says the same")
			return
		}
	}
	for _, field := range []string{"metric", "stat", "min", "max", "precision"} {
		if d.Failed["repeats."+field] {
			return
		}
	}
	switch {
	case adaptive:
		check.Conflict("repeats", "does not go with an adaptive search, which decides itself how often it repeats")
		return
	case r.Min > r.Max:
		check.Conflict("repeats.min", fmt.Sprintf("must be at most repeats.max, %d", r.Max))
		return
	}
	m.NumRuns = r.Max
	m.Convergence = &Convergence{
		Metric: r.Metric, Stat: r.Stat, Mode: Precise, Threshold: new(r.Precision), MinRuns: r.Min,
	}
	if !d.Has("multiRun.varySeedPerTrial") {
		m.VarySeedPerTrial = true
	}
	if !d.Has("multiRun.disableWarmupAfterFirst") {
		m.DisableWarmupAfterFirst = false
	}
}
