package flags

import (
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// resolve turns an option's path into the canonical one. Files have lengths of outputs and cache
// busting beside the prompts.
func (b *overlay) resolve(path string) string {
	field, ofPrompts := strings.CutPrefix(path, "dataset.prompts.")
	if ofPrompts && (strings.HasPrefix(field, "osl") || strings.HasPrefix(field, "cacheBust")) && b.isFile() {
		path = "dataset." + field
	}
	return strings.Replace(fieldOf(path), ".*.", ".0.", 1)
}

// isFile reports whether the dataset is or becomes a file.
func (b *overlay) isFile() bool {
	if b.flags.Given("--input-file") || b.flags.Given("--public-dataset") || b.flags.Given("--hf-weka-dataset") {
		return true
	}
	kind := b.find("dataset.type")
	return kind != nil && (kind.Scalar == "file" || kind.Scalar == "public")
}

// find returns the node at an option's path, or nil.
func (b *overlay) find(path string) *tree.Node {
	if path == "dataset" {
		if list := b.benchmark.Get("datasets"); list != nil && list.Shape != tree.Null && len(list.Items) > 0 {
			return list.Items[0]
		}
		return nil
	}
	canonical := strings.TrimPrefix(b.resolve(path), "benchmark.")
	n := b.benchmark
	for name := range strings.SplitSeq(canonical, ".") {
		switch {
		case n == nil:
			return nil
		case name == "0":
			if len(n.Items) == 0 {
				return nil
			}
			n = n.Items[0]
		default:
			n = n.Get(name)
		}
	}
	return n
}

// set writes a node at an option's path and creates missing parents.
func (b *overlay) set(path string, occ *occurrence, value *tree.Node) {
	canonical := b.resolve(path)
	value.Place = b.place(occ, canonical)
	for i, item := range value.Items {
		item.Pointer = value.Pointer + "/" + strconv.Itoa(i)
	}
	names := strings.Split(strings.TrimPrefix(canonical, "benchmark."), ".")
	n := b.benchmark
	if atRoot(path) {
		n = b.draft.Root
	}
	for i, name := range names[:len(names)-1] {
		n = b.descend(n, name, names[i+1], occ, config.CanonicalPointer("benchmark."+strings.Join(names[:i+1], ".")))
	}
	n.Set(names[len(names)-1], value)
}

// descend returns the child of n called name, made if need be: a list before
// "0", else an object. A plain number, or a template, in place of an object is a mean.
func (b *overlay) descend(n *tree.Node, name, next string, occ *occurrence, ptr string) *tree.Node {
	if name == "0" {
		return n.Items[0]
	}
	child := n.Get(name)
	at := tree.Place{Pointer: ptr, Flag: occ.spelling, Order: occ.order + 1}
	switch {
	case next == "0" && (child == nil || child.Shape != tree.List || len(child.Items) == 0):
		item := tree.ObjectNode()
		item.Place = at
		item.Pointer += "/0"
		child = tree.ListNode(item)
		child.Place = at
		n.Set(name, child)
	case child != nil && (child.Shape == tree.Number || child.Shape == tree.Text && strings.Contains(child.Scalar, "{{")):
		mean := *child
		child = tree.ObjectNode(tree.Member{Place: mean.Place, Name: "mean", Value: &mean})
		child.Place = at
		n.Set(name, child)
	case child == nil || child.Shape != tree.Object && next != "0" || isShape(child, next):
		child = tree.ObjectNode()
		child.Place = at
		n.Set(name, child)
	}
	return child
}

// isShape reports whether a distribution is of a kind that a typed mean
// replaces as a whole.
func isShape(n *tree.Node, next string) bool {
	return next == "mean" && slices.ContainsFunc([]string{"peaks", "points", "median"}, func(name string) bool { return n.Get(name) != nil })
}

func (b *overlay) fail(occ *occurrence, code, detail string) {
	b.draft.Fail(b.place(occ, ""), code, "%s: %s", occ.spelling, detail)
}

func (b *overlay) place(occ *occurrence, path string) tree.Place {
	at := tree.Place{Flag: occ.spelling, Order: occ.order + 1}
	if path != "" {
		at.Pointer = config.CanonicalPointer(path)
	}
	return at
}

// free reports whether no other option has written a path.
func (b *overlay) free(path string, occ *occurrence) bool {
	if before, taken := b.taken[path]; taken {
		b.fail(occ, problem.CodeConflict, before+" sets the same value; use only one of them")
		return false
	}
	b.taken[path] = occ.spelling
	return true
}

// value makes a node of an option's values; nil after a problem.
func (b *overlay) value(occ *occurrence) *tree.Node {
	switch occ.option.kind {
	case optBool:
		return &tree.Node{Shape: tree.Boolean, Scalar: strconv.FormatBool(occ.on)}
	case optList, optWords:
		items := tree.ListNode()
		for _, piece := range commaList(occ.values) {
			item := tree.TextNode(piece)
			item.Place = b.place(occ, "")
			items.Items = append(items.Items, item)
		}
		if len(items.Items) == 0 {
			b.fail(occ, problem.CodeRequired, "needs a value")
			return nil
		}
		return items
	case optNumber:
		return b.number(occ)
	}
	return tree.TextNode(occ.values[0])
}

// number reads a number. The first of a list of several stands for all; the list
// becomes a sweep.
func (b *overlay) number(occ *occurrence) *tree.Node {
	if !slices.Contains(strings.Fields(sweepable), occ.option.name) {
		return numberNode(occ.values[0])
	}
	pieces := commaList(occ.values)
	if len(pieces) == 0 {
		return tree.TextNode("")
	}
	if len(pieces) > 1 {
		b.swept = append(b.swept, occ)
	}
	return numberNode(pieces[0])
}

// numberNode returns a number, or the text that is none.
func numberNode(raw string) *tree.Node {
	raw = strings.TrimSpace(raw)
	if plain := strings.TrimPrefix(raw, "+"); tree.IsNumber(plain) {
		return &tree.Node{Shape: tree.Number, Scalar: plain}
	}
	if f, err := strconv.ParseFloat(raw, 64); err == nil && raw != "" && strings.IndexByte("-.0123456789", raw[0]) >= 0 {
		return &tree.Node{Shape: tree.Number, Scalar: strconv.FormatFloat(f, 'g', -1, 64)} // .5 and 007
	}
	return tree.TextNode(raw)
}

// commaList splits all values at commas; empty pieces do not count.
func commaList(values []string) []string {
	var out []string
	for _, v := range values {
		for piece := range strings.SplitSeq(v, ",") {
			if piece = strings.TrimSpace(piece); piece != "" {
				out = append(out, piece)
			}
		}
	}
	return out
}
