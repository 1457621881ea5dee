// This file finds and sets the values of a document in the long form that dotted
// paths name, as phases.profiling.rate or datasets.main.prompts.isl.mean. Elements of
// lists have their index or their name; members are camelCase or snake_case.

package tree

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/suggest"
)

// aliases are the paths of a single name: fields of the profiling phase.
func aliases() []string {
	return []string{
		"concurrency", "prefill_concurrency", "rate", "requests", "duration", "sessions", "users", "smoothness",
		"grace_period", "concurrency_ramp", "prefill_ramp", "rate_ramp", "rate_series",
	}
}

// ParsePath returns the names of the path of a value that may vary, from the root of the
// document. It adds the section benchmark, and the phase of a single name that is
// the field of one.
func ParsePath(path string) ([]string, error) {
	names := strings.Split(path, ".")
	if slices.Contains(names, "") {
		return nil, fmt.Errorf("%q is not a path: a name is empty", path)
	}
	switch suggest.Fold(names[0]) {
	case "variables":
		if len(names) == 1 {
			return nil, fmt.Errorf("%q names all variables; give variables.NAME", path)
		}
		return names, nil
	case "sweep", "multirun", "randomseed", "metadata", "schemaversion", "plot", "nosweeptable", "ignoreunsupported":
		return nil, fmt.Errorf("%q cannot vary", path)
	case "benchmark":
		names = names[1:]
	}
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("%q is not a path of a value", path)
	case 1:
		if !slices.ContainsFunc(aliases(), func(a string) bool { return suggest.Fold(a) == suggest.Fold(names[0]) }) {
			return nil, fmt.Errorf("unknown path %q%s (a path of one name is %s)", path,
				suggest.DidYouMean(names[0], aliases()), strings.Join(aliases(), ", "))
		}
		return []string{"benchmark", "phases", "profiling", names[0]}, nil
	}
	return append([]string{"benchmark"}, long(names)...), nil
}

// long replaces the short forms of the first names below benchmark.
func long(names []string) []string {
	switch first := suggest.Fold(names[0]); {
	case first == "dataset":
		return append([]string{"datasets", "0"}, names[1:]...)
	case first == "profiling", first == "warmup":
		return append([]string{"phases"}, names...)
	case first == "model" && len(names) == 1:
		return []string{"models", "items", "0", "name"}
	case first == "endpoint" && len(names) == 2 && suggest.Fold(names[1]) == "url":
		return []string{"endpoint", "urls", "0"}
	}
	return names
}

// FindPath returns the value that the first names lead to from n, and how many they are. A
// value that is null is not found.
func FindPath(n *Node, names []string) (*Node, int) {
	found, used := walk(n, names)
	if used < len(names) {
		full := long(names)
		other, n := walk(n, full)
		if n += len(names) - len(full); n > used {
			return other, n
		}
	}
	return found, used
}

// walk follows names as far as they lead.
func walk(n *Node, names []string) (*Node, int) {
	within := "" // name of the list that n is
	for i, name := range names {
		next := child(n, within, name)
		if next == nil && n.Shape == Object {
			next = child(n.Get("prompts"), "", name) // isl in place of prompts.isl
		}
		if next == nil || next.Shape == Null {
			return n, i
		}
		n, within = next, name
	}
	return n, len(names)
}

// child returns a member, or an element of the list that is called within; nil = there is none.
func child(n *Node, within, name string) *Node {
	if n == nil {
		return nil
	}
	switch n.Shape {
	case Object:
		if i := member(n, name); i >= 0 {
			return n.Members[i].Value
		}
	case List:
		if i := element(n, within, name); i >= 0 {
			return n.Items[i]
		}
	}
	return nil
}

// member returns the index of the member called name, in its own spelling or in another.
func member(n *Node, name string) int {
	if i := slices.IndexFunc(n.Members, func(m Member) bool { return m.Name == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(n.Members, func(m Member) bool { return suggest.Fold(m.Name) == suggest.Fold(name) })
}

// element returns the index of the element that has an index or a name, or is the only
// one that the name can mean; -1 = there is none.
func element(list *Node, within, name string) int {
	if i, err := strconv.Atoi(name); err == nil {
		if i < 0 || i >= len(list.Items) {
			return -1
		}
		return i
	}
	if i := slices.IndexFunc(list.Items, func(n *Node) bool { return nameOf(n) == name }); i >= 0 {
		return i
	}
	var can []int
	for i, n := range list.Items {
		if within == "datasets" && (name == "main" || name == "default") || within == "phases" && PhaseKind(n) == name {
			can = append(can, i)
		}
	}
	if len(can) != 1 {
		return -1
	}
	return can[0]
}

func nameOf(n *Node) string {
	name := n.Get("name")
	if name == nil || name.Shape != Text {
		return ""
	}
	return name.Scalar
}

// PhaseKind returns the kind of a phase: warmup or profiling.
func PhaseKind(phase *Node) string {
	kind := phase.Get("kind")
	if kind == nil {
		kind = phase.Get("name")
	}
	if kind != nil && suggest.Fold(kind.Scalar) == "warmup" {
		return "warmup"
	}
	return "profiling"
}

// SetPath gives the value at a path of [ParsePath] below root. It creates objects on the way, and
// the only dataset. Whether a field with the last name exists is not checked.
func SetPath(root *Node, names []string, value *Node) error {
	n, within := root, ""
	for i, name := range names[:len(names)-1] {
		next, err := step(n, within, name, names[i+1])
		if err != nil {
			return err
		}
		n, within = next, name
	}
	last := names[len(names)-1]
	switch n.Shape {
	case Object:
		i := member(n, last)
		if i >= 0 {
			last = n.Members[i].Name
		}
		value.Locate(n.Pointer + "/" + EscapePointer(last))
		if i >= 0 {
			n.Members[i].Value = value
			return nil
		}
		n.Members = append(n.Members, Member{Place: value.Place, Name: last, Value: value})
		return nil
	case List:
		i := element(n, within, last)
		if i < 0 {
			return missing(n, within, last)
		}
		value.Locate(n.Items[i].Pointer)
		n.Items[i] = value
		return nil
	}
	return fmt.Errorf("%s is %s and has no member %q", strings.TrimPrefix(n.Pointer, "#/"), n.Shape, last)
}

// step returns the child of n called name, made if need be.
func step(n *Node, within, name, next string) (*Node, error) {
	if n.Shape == List {
		i := element(n, within, name)
		if i < 0 {
			return nil, missing(n, within, name)
		}
		if n.Items[i].Shape < List {
			return nil, fmt.Errorf("%s is %s", strings.TrimPrefix(n.Items[i].Pointer, "#/"), n.Items[i].Shape)
		}
		return n.Items[i], nil
	}
	if n.Shape != Object {
		return nil, fmt.Errorf("%s is %s and has no member %q", strings.TrimPrefix(n.Pointer, "#/"), n.Shape, name)
	}
	i := member(n, name)
	var old *Node
	if i >= 0 {
		name, old = n.Members[i].Name, n.Members[i].Value
	}
	made := successor(old, name, next)
	if made == nil {
		return nil, errors.New("the document has no phases that it could name")
	}
	if made == old {
		return old, nil
	}
	pointer := n.Pointer + "/" + EscapePointer(name)
	made.Pointer = pointer
	if made.Shape == List {
		made.Locate(pointer)
	}
	if i >= 0 {
		n.Members[i].Value = made
		return made, nil
	}
	n.Members = append(n.Members, Member{Place: made.Place, Name: name, Value: made})
	return made, nil
}

// successor returns what stands for the member old so that it can have a member next: old
// itself, an object in its place, the only dataset; nil = there is nothing.
func successor(old *Node, name, next string) *Node {
	ofDistribution := next == "mean" || next == "stddev" || next == "min" || next == "max"
	switch {
	case old == nil || old.Shape == Null:
		switch name {
		case "phases":
			return nil
		case "datasets":
			return ListNode(ObjectNode(Member{Name: "name", Value: TextNode("main")}))
		}
		return ObjectNode()
	case old.Shape < List && ofDistribution: // a number, or a template of one
		mean := *old
		return ObjectNode(Member{Place: mean.Place, Name: "mean", Value: &mean})
	case old.Shape == Object && next == "mean" && kind(old) != "" && kind(old) != "normal":
		return ObjectNode()
	}
	return old
}

// missing is the error for an element that a list does not have.
func missing(list *Node, within, name string) error {
	var names []string
	for i, n := range list.Items {
		known := nameOf(n)
		switch {
		case known == "" && within == "phases":
			known = PhaseKind(n)
		case known == "":
			known = strconv.Itoa(i)
		}
		names = append(names, known)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s is empty", within)
	}
	return fmt.Errorf("%s has no element %q%s (it has %s)", within, name, suggest.DidYouMean(name, names), strings.Join(names, ", "))
}

// kind returns the kind of a distribution; "" = n is none.
func kind(n *Node) string {
	for _, k := range []string{"peaks", "points", "median"} {
		if n.Index(k) >= 0 {
			return k
		}
	}
	if n.Index("mean") >= 0 || n.Index("stddev") >= 0 {
		return "normal"
	}
	return ""
}
