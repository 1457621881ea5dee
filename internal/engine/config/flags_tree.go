package config

import (
	"slices"
	"strconv"
	"strings"
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
	return kind != nil && kind.scalar == "file"
}

// find returns the node at an option's path, or nil.
func (b *builder) find(path string) *node {
	if path == "dataset" {
		if list := b.benchmark.get("datasets"); list != nil && list.shape != null && len(list.items) > 0 {
			return list.items[0]
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
			if len(n.items) == 0 {
				return nil
			}
			n = n.items[0]
		default:
			n = n.get(name)
		}
	}
	return n
}

// set writes a node at an option's path and makes what is missing above it.
func (b *builder) set(path string, occ *occurrence, value *node) {
	canonical := b.resolve(path)
	value.place = b.place(occ, canonical)
	for i, item := range value.items {
		item.ptr = value.ptr + "/" + strconv.Itoa(i)
	}
	if canonical == "randomSeed" {
		b.draft.root.set(canonical, value)
		return
	}
	names := strings.Split(strings.TrimPrefix(canonical, "benchmark."), ".")
	n := b.benchmark
	for i, name := range names[:len(names)-1] {
		n = b.descend(n, name, names[i+1], occ, canonicalPointer("benchmark."+strings.Join(names[:i+1], ".")))
	}
	n.set(names[len(names)-1], value)
}

// descend returns the child of n called name, made if need be: a list before
// "0", else an object. A plain number where an object is needed is a mean.
func (b *builder) descend(n *node, name, next string, occ *occurrence, ptr string) *node {
	if name == "0" {
		return n.items[0]
	}
	child := n.get(name)
	at := place{ptr: ptr, flag: occ.spelling, order: occ.order + 1}
	switch {
	case next == "0" && (child == nil || child.shape != list || len(child.items) == 0):
		item := objectNode()
		item.place = at
		item.ptr += "/0"
		child = listNode(item)
		child.place = at
		n.set(name, child)
	case child != nil && child.shape == number:
		mean := *child
		child = objectNode(member{place: mean.place, name: "mean", value: &mean})
		child.place = at
		n.set(name, child)
	case child == nil || child.shape != object && next != "0" || isShape(child, next):
		child = objectNode()
		child.place = at
		n.set(name, child)
	}
	return child
}

// isShape reports whether a distribution is of a kind that a typed mean
// replaces as a whole.
func isShape(n *node, next string) bool {
	return next == "mean" && slices.ContainsFunc([]string{"peaks", "points", "median"}, func(name string) bool { return n.get(name) != nil })
}
