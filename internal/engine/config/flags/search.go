package flags

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// defining are the options that define a search, which recipes do themselves.
func defining() []string {
	return []string{"--search-space", "--search-metric", "--search-stat", "--search-direction", "--search-planner", "--search-sla-tier"}
}

// laySearch makes a sweep of a recipe or of a search space.
func laySearch(b *overlay) {
	preset, space := b.flags.get("--search-recipe"), b.flags.get("--search-space")
	block := b.draft.Root.Get("sweep")
	switch {
	case (preset != nil || space != nil) && block != nil:
		b.fail(cmp.Or(preset, space), problem.CodeConflict, "conflicts with the sweep of the configuration file")
	case preset != nil:
		layRecipe(b, preset)
	case space != nil:
		laySearchSpace(b, space)
	}
	if preset == nil {
		failUnused(b)
	}
}

// failUnused reports the options of recipes without one, and those of a search without one.
func failUnused(b *overlay) {
	for _, occ := range b.flags.typed {
		name := occ.option.name
		switch {
		case strings.HasPrefix(occ.option.path, "recipe."):
			b.fail(occ, problem.CodeConflict, "needs --search-recipe")
		case b.flags.get("--search-space") == nil && strings.HasPrefix(occ.option.path, "search.") && name != "--search-sla" && name != "--sweep-stop-when":
			b.fail(occ, problem.CodeConflict, "needs --search-space")
		}
	}
}

// layRecipe expands a recipe.
func layRecipe(b *overlay, occ *occurrence) {
	for _, name := range defining() {
		if other := b.flags.get(name); other != nil {
			b.fail(other, problem.CodeConflict, "conflicts with "+occ.spelling+", which defines the search")
		}
	}
	chosen, ok := presetOf(occ)
	if !ok {
		b.fail(occ, problem.CodeBadEnum, "must be one of "+strings.Join(recipeNames(), ", ")+", not "+problem.Clip(occ.values[0])+suggest.DidYouMean(occ.values[0], recipeNames()))
		return
	}
	streaming := b.find("endpoint.streaming")
	e := chosen.expanded(recipeOptions(b, chosen), streaming != nil && streaming.Scalar != "false")
	for _, p := range e.problems {
		at := occ
		if p.option != "" {
			at = b.flags.get("--" + p.option)
		}
		b.fail(at, problem.CodeConflict, p.text)
	}
	if len(e.problems) > 0 {
		return
	}
	if e.slos != nil {
		if goals := b.flags.get("--goodput"); goals != nil {
			b.fail(goals, problem.CodeConflict, "conflicts with "+occ.spelling+", which sets the objectives itself")
		} else {
			b.set("slos", occ, nodeOf(e.slos))
		}
	}
	setSweep(b, occ, e.sweep)
}

// presetOf returns the recipe that an option names; ok = false if it names none, or is nil.
func presetOf(occ *occurrence) (chosen recipe, ok bool) {
	for _, r := range recipes() {
		if occ != nil && r.name == strings.ReplaceAll(strings.ToLower(occ.values[0]), "_", "-") {
			return r, true
		}
	}
	return recipe{}, false
}

// recipeOptions returns the values of the options of recipes by their names without
// dashes. A list of concurrencies becomes one of them if the recipe takes it.
func recipeOptions(b *overlay, r recipe) map[string]string {
	out := make(map[string]string)
	for _, occ := range b.flags.typed {
		name := strings.TrimPrefix(occ.option.name, "--")
		isRecipe := strings.HasPrefix(occ.option.path, "recipe.") && name != "search-recipe" ||
			slices.Contains([]string{"search-max-iterations", "search-initial-points", "search-random-seed", "search-sla"}, name)
		if isRecipe || name == "concurrency" && r.has(name) {
			out[name] = strings.Join(occ.values, ",")
			b.swept = slices.DeleteFunc(b.swept, func(s *occurrence) bool { return s == occ })
		}
	}
	return out
}

// laySearchSpace makes a search of the options that define one.
func laySearchSpace(b *overlay, occ *occurrence) {
	block := map[string]any{"type": sweep.Adaptive}
	var dimensions []any
	for _, text := range occ.values {
		d, err := parseDimension(strings.TrimSpace(text))
		if err != nil {
			b.fail(occ, problem.CodeWrongType, err.Error())
			continue
		}
		dimensions = append(dimensions, d)
	}
	block["searchSpace"] = dimensions
	searchObjective(b, block)
	searchTiers(b, block)
	if filters := readFilters(b, b.flags.get("--search-sla")); len(filters) > 0 {
		block["slaFilters"] = filters
	}
	if len(dimensions) < len(occ.values) { // the block would report problems that follow from this one
		return
	}
	setSweep(b, occ, block)
}

// searchObjective adds what a search optimizes.
func searchObjective(b *overlay, block map[string]any) {
	objective := make(map[string]any)
	for _, field := range []string{"metric", "stat", "direction"} {
		if occ := b.flags.get("--search-" + field); occ != nil {
			objective[field] = occ.values[0]
		}
	}
	if len(objective) == 0 {
		return // of a boundary search; the rules of the block report it otherwise
	}
	for _, field := range []string{"metric", "direction"} {
		if objective[field] == nil {
			b.fail(b.flags.get("--search-space"), problem.CodeRequired, "needs --search-"+field)
		}
	}
	block["objectives"] = []any{objective}
}

// searchTiers adds the tiers: [label:]filter[,filter…] each.
func searchTiers(b *overlay, block map[string]any) {
	occ := b.flags.get("--search-sla-tier")
	if occ == nil {
		return
	}
	var tiers []any
	for i, text := range occ.values {
		label, rest := "tier_"+strconv.Itoa(i), text
		if head, _, _ := strings.Cut(text, ","); strings.Count(head, ":") == 4 {
			label, rest, _ = strings.Cut(text, ":")
		}
		var filters []any
		for piece := range strings.SplitSeq(rest, ",") {
			f, err := parseFilter(strings.TrimSpace(piece))
			if err != nil {
				b.fail(occ, problem.CodeWrongType, err.Error())
				return
			}
			filters = append(filters, f)
		}
		tiers = append(tiers, map[string]any{"label": strings.TrimSpace(label), "filters": filters})
	}
	block["slaTiers"] = tiers
}

// readFilters reads the filters of an option; nil if it was not given or has problems.
func readFilters(b *overlay, occ *occurrence) []any {
	if occ == nil {
		return nil
	}
	var out []any
	for _, piece := range commaList(occ.values) {
		f, err := parseFilter(piece)
		if err != nil {
			b.fail(occ, problem.CodeWrongType, err.Error())
			continue
		}
		out = append(out, f)
	}
	return out
}

// layFilters adds limits to a sweep that neither a recipe nor a search space made, and to
// any sweep the conditions that end it.
func layFilters(b *overlay) {
	if b.flags.get("--search-recipe") == nil && b.flags.get("--search-space") == nil {
		layFilterList(b, b.flags.get("--search-sla"), "sweep.slaFilters", "a sweep or a search, for example --concurrency 1,2,4, or --search-recipe")
	}
	layFilterList(b, b.flags.get("--sweep-stop-when"), "sweep.stopWhen", "a sweep over the load, for example --concurrency 1,2,4")
}

// layFilterList sets the filters of an option at a path of the sweep, which must exist.
func layFilterList(b *overlay, occ *occurrence, path, needs string) {
	if occ == nil {
		return
	}
	block := b.draft.Root.Get("sweep")
	if block == nil || block.Shape != tree.Object {
		b.fail(occ, problem.CodeConflict, "needs "+needs)
		return
	}
	if filters := readFilters(b, occ); len(filters) > 0 {
		list, at := nodeOf(filters), b.place(occ, "")
		list.Walk(func(below *tree.Node) { below.Place = at })
		list.Locate(config.CanonicalPointer(path))
		b.set(path, occ, list)
	}
}

// setSweep sets the block that an option stands for.
func setSweep(b *overlay, occ *occurrence, block map[string]any) {
	if block["planner"] != sweep.Capacity && !b.file && b.flags.get("--request-count") == nil && b.flags.get("--benchmark-duration") == nil && b.flags.get("--conversation-num") == nil {
		block["autoRequests"] = true
	}
	n := nodeOf(block)
	at := b.place(occ, "")
	n.Walk(func(below *tree.Node) { below.Place = at })
	n.Locate("#/sweep")
	b.draft.Root.Set("sweep", n)
	failVaried(b, occ, n)
}

// failVaried reports options whose value the block replaces in every variation.
func failVaried(b *overlay, occ *occurrence, block *tree.Node) {
	paths := make(map[string]bool)
	for _, d := range items(block.Get("searchSpace")) {
		if p := d.Get("path"); p != nil {
			paths[p.Scalar] = true
		}
	}
	for _, run := range items(block.Get("runs")) {
		members(run.Get("values"), paths)
	}
	members(block.Get("parameters"), paths)
	for _, typed := range b.flags.typed {
		if section, _, _ := strings.Cut(typed.option.path, "."); section != "profiling" && section != "dataset" {
			continue
		}
		path := variedPath(b, typed.option.path)
		taken := typed.option.names == "--concurrency" && len(items(block.Get("runs"))) > 0 ||
			typed.option.names == "--request-rate" && b.flags.get("--search-recipe") == nil // makes the phase an open loop
		if !taken && (paths[path] || paths[strings.TrimPrefix(path, "phases.profiling.")]) {
			b.fail(typed, problem.CodeConflict, "conflicts with "+occ.spelling+", which varies "+slices.Sorted(maps.Keys(paths))[0])
			b.swept = slices.DeleteFunc(b.swept, func(s *occurrence) bool { return s == typed })
		}
	}
	for _, list := range b.swept {
		b.fail(list, problem.CodeConflict, "a list of values conflicts with "+occ.spelling)
	}
	b.swept = nil
}

func items(n *tree.Node) []*tree.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func members(n *tree.Node, into map[string]bool) {
	if n == nil {
		return
	}
	for _, m := range n.Members {
		into[m.Name] = true
	}
}

// nodeOf returns the node of a value of our own making.
func nodeOf(v any) *tree.Node {
	n, err := tree.NodeOf(v)
	if err != nil {
		panic("encode value: " + err.Error()) // maps of numbers and texts
	}
	return n
}
