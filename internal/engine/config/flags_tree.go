package config

import (
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/tree"
)

// resolve turns an option's path into the canonical one.
func (b *builder) resolve(path string) string {
	if path == "randomSeed" {
		return path
	}
	rest, ok := strings.CutPrefix(path, "dataset.")
	if !ok {
		return "benchmark." + path
	}
	if length, ok := strings.CutPrefix(rest, "prompts.osl"); ok && b.isFile() {
		rest = "osl" + length
	}
	return "benchmark.datasets.0." + rest
}

// isFile reports whether the dataset is or becomes a file.
func (b *builder) isFile() bool {
	if b.flags.Given("--input-file") {
		return true
	}
	kind := b.find("dataset.type")
	return kind != nil && kind.Scalar == "file"
}

// find returns the node at an option's path, or nil.
func (b *builder) find(path string) *tree.Node {
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

// set writes a node at an option's path and makes what is missing above it.
func (b *builder) set(path string, occ *occurrence, value *tree.Node) {
	canonical := b.resolve(path)
	value.Place = b.place(occ, canonical)
	for i, item := range value.Items {
		item.Pointer = value.Pointer + "/" + strconv.Itoa(i)
	}
	if canonical == "randomSeed" {
		b.draft.root.Set(canonical, value)
		return
	}
	names := strings.Split(strings.TrimPrefix(canonical, "benchmark."), ".")
	n := b.benchmark
	for i, name := range names[:len(names)-1] {
		n = b.descend(n, name, names[i+1], occ, canonicalPointer("benchmark."+strings.Join(names[:i+1], ".")))
	}
	n.Set(names[len(names)-1], value)
}

// descend returns the child of n called name, made if need be: a list before
// "0", else an object. A plain number where an object is needed is a mean.
func (b *builder) descend(n *tree.Node, name, next string, occ *occurrence, ptr string) *tree.Node {
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
	case child != nil && child.Shape == tree.Number:
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
