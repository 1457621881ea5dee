package flags

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
)

// layStudy lays the options about variations: lists of values, variants, and how both are performed.
func layStudy(b *overlay) {
	block := b.draft.Root.Get("sweep")
	variants := b.flags.get("--variant")
	switch {
	case len(b.swept) > 0:
		block = layLists(b, block, variants)
	case variants != nil:
		block = layVariants(b, variants, block)
	}
	for _, occ := range b.flags.typed {
		field, ok := strings.CutPrefix(occ.option.path, "sweep.")
		if repeats := b.flags.get("--num-profile-runs"); block == nil && b.draft.Root.Get("sweep") == nil && !b.file &&
			(repeats == nil || repeats.values[0] == "1") && occ.option.path == "multiRun.setConsistentSeed" && occ.on {
			b.fail(occ, problem.CodeConflict, "needs more than one run or a sweep")
		}
		switch {
		case !ok, occ == variants, field == "type" && len(b.swept) > 0:
		case field == "type":
			b.fail(occ, problem.CodeConflict, "needs lists of values, for example --concurrency 1,2,4")
		case block == nil && (b.flags.get("--search-recipe") != nil || b.flags.get("--search-space") != nil): // has problems
		case block == nil:
			b.fail(occ, problem.CodeConflict, "needs a sweep, for example --concurrency 1,2,4, or --search-recipe")
		default:
			if n := b.value(occ); n != nil && b.free(occ.option.path, occ) {
				b.set(occ.option.path, occ, n)
			}
		}
	}
}

// layLists makes a sweep of the lists of values.
func layLists(b *overlay, block *tree.Node, variants *occurrence) *tree.Node {
	first := b.swept[0]
	switch {
	case variants != nil:
		b.fail(variants, problem.CodeConflict, "conflicts with the list of values of "+first.spelling)
		return block
	case block != nil:
		b.fail(first, problem.CodeConflict, "a list of values conflicts with the sweep of the configuration file")
		return block
	}
	if on := b.flags.get("--fixed-schedule"); on != nil && on.on {
		b.fail(first, problem.CodeConflict, "a list of values conflicts with "+on.spelling)
		return nil
	}
	kind := tree.TextNode(sweep.Grid)
	if occ := b.flags.get("--sweep-type"); occ != nil {
		kind = tree.TextNode(strings.ToLower(occ.values[0]))
		kind.Place = b.place(occ, "sweep.type")
		if kind.Scalar != sweep.Grid && kind.Scalar != sweep.Zip {
			b.fail(occ, problem.CodeBadEnum, "must be grid or zip, not "+problem.Clip(occ.values[0]))
			return nil
		}
	}
	params := tree.ObjectNode()
	for _, occ := range b.swept {
		values := tree.ListNode()
		values.Place = b.place(occ, "sweep.parameters")
		if list := strings.Join(occ.values, ","); slices.ContainsFunc(strings.Split(list, ","), func(s string) bool { return strings.TrimSpace(s) == "" }) {
			b.fail(occ, problem.CodeWrongType, "the list "+problem.Clip(list)+" has an empty value")
		}
		for _, piece := range commaList(occ.values) {
			n := numberNode(piece)
			n.Place = values.Place
			values.Items = append(values.Items, n)
		}
		params.Members = append(params.Members, tree.Member{Place: values.Place, Name: variedPath(b, occ.option.path), Value: values})
	}
	layLargestPool(b)
	block = tree.ObjectNode(tree.Member{Name: "type", Value: kind}, tree.Member{Name: "parameters", Value: params})
	block.Place = b.place(first, "sweep")
	b.draft.Root.Set("sweep", block)
	return block
}

// variedPath returns the path by which a sweep varies what an option sets.
func variedPath(b *overlay, path string) string {
	if field, ok := strings.CutPrefix(path, "profiling."); ok {
		return "phases.profiling." + tree.SnakeCase(field)
	}
	path = strings.TrimPrefix(b.resolve(path), "benchmark.")
	name := "main"
	if d := b.find("dataset"); b.file && d != nil && d.Get("name") != nil {
		name = d.Get("name").Scalar
	}
	return strings.Replace(path, "datasets.0.", "datasets."+name+".", 1)
}

// layLargestPool sizes the pool of conversations by the longest variation, so that all draw
// from the same.
func layLargestPool(b *overlay) {
	for _, occ := range b.swept {
		if occ.option.path != "profiling.sessions" || b.isFile() || b.find("dataset.entries") != nil {
			continue
		}
		var most *tree.Node
		for _, piece := range commaList(occ.values) {
			if n := numberNode(piece); n.Shape == tree.Number && (most == nil || len(n.Scalar) > len(most.Scalar) || len(n.Scalar) == len(most.Scalar) && n.Scalar > most.Scalar) {
				most = n
			}
		}
		if most != nil {
			b.set("dataset.entries", occ, most)
		}
	}
}

// layVariants makes a sweep of named variations.
func layVariants(b *overlay, occ *occurrence, block *tree.Node) *tree.Node {
	switch {
	case block != nil:
		b.fail(occ, problem.CodeConflict, "conflicts with the sweep of the configuration file")
		return block
	case len(occ.values) < 2:
		b.fail(occ, problem.CodeConflict, "give at least two variants, each with a flag of its own")
		return nil
	}
	runs := tree.ListNode()
	runs.Place = b.place(occ, "sweep.runs")
	for _, text := range occ.values {
		run, ok := variant(text)
		if !ok {
			b.fail(occ, problem.CodeWrongType, problem.Clip(text)+" is not of the form [name:] path=value, …")
			return nil
		}
		run.Place = runs.Place
		runs.Items = append(runs.Items, run)
	}
	block = tree.ObjectNode(tree.Member{Name: "type", Value: tree.TextNode(sweep.Scenarios)}, tree.Member{Name: "runs", Value: runs})
	block.Place = runs.Place
	b.draft.Root.Set("sweep", block)
	return block
}

// variant reads [name:] path=value, …
func variant(text string) (*tree.Node, bool) {
	values := tree.ObjectNode()
	name, rest, named := strings.Cut(text, ":")
	if !named || strings.Contains(name, "=") {
		name, rest = text, text
	}
	for piece := range strings.SplitSeq(rest, ",") {
		path, value, ok := strings.Cut(piece, "=")
		if path = strings.TrimSpace(path); !ok || path == "" {
			return nil, false
		}
		values.Set(path, typed(strings.TrimSpace(value)))
	}
	return tree.ObjectNode(
		tree.Member{Name: "name", Value: tree.TextNode(strings.TrimSpace(name))}, tree.Member{Name: "values", Value: values},
	), true
}
