package flags

import (
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
)

// Other is the server B that the server of the options is compared with. The zero value of a member leaves the choice
// to the document, or to the default.
type Other struct {
	URLs   []string
	Model  string
	APIKey string
	Block  float64 // least length of a block, in seconds
	Margin float64 // share
	Budget float64 // most time of load, in seconds
	Design string  // of sweep.design
}

// layOther lays the comparison with another server; what the document says of it stays.
func layOther(b *overlay) {
	o := b.flags.Other
	if o == nil {
		return
	}
	block := b.draft.Root.Get("sweep")
	if kind := block.Get("type"); block != nil && (kind == nil || kind.Scalar != sweep.Paired) {
		b.draft.Fail(block.Place, problem.CodeConflict, "sweep: ab compares two servers; give a document without a sweep, or with one of type ab")
		return
	}
	given := map[string]any{"type": sweep.Paired}
	for name, value := range map[string]float64{"blockSeconds": o.Block, "margin": o.Margin, "maxLoadSeconds": o.Budget} {
		if value != 0 {
			given[name] = value
		}
	}
	if o.Design != "" {
		given["design"] = o.Design
	}
	endpoint := map[string]any{}
	if len(o.URLs) > 0 {
		urls := make([]any, len(o.URLs))
		for i, u := range o.URLs {
			urls[i] = u
		}
		endpoint["urls"] = urls
	}
	if o.APIKey != "" {
		endpoint["apiKey"] = o.APIKey
	}
	other := map[string]any{}
	if len(endpoint) > 0 {
		other["endpoint"] = endpoint
	}
	if o.Model != "" {
		other["model"] = o.Model
	}
	if len(other) > 0 {
		given["b"] = other
	}
	n := nodeOf(given)
	n.Locate("#/sweep")
	patch := tree.ObjectNode(tree.Member{Name: "sweep", Value: n})
	patch.Locate("#")
	tree.Merge(b.draft.Root, patch)
}
