package tree

// Merge lays patch over base, both objects: objects member by member, lists whose elements
// all have names element by element, and everything else as a whole. A distribution of one
// kind replaces one of another as a whole. base keeps the nodes of patch.
func Merge(base, patch *Node) {
	for _, m := range patch.Members {
		i := member(base, m.Name)
		if i < 0 {
			base.Members = append(base.Members, m)
			continue
		}
		old := base.Members[i].Value
		switch {
		case old.Shape == Object && m.Value.Shape == Object && sameKind(old, m.Value):
			Merge(old, m.Value)
		case old.Shape == List && m.Value.Shape == List && mergeable(m.Value):
			mergeList(old, m.Value, m.Name)
		default:
			base.Members[i].Value = m.Value
		}
	}
}

func sameKind(a, b *Node) bool {
	return kind(a) == "" || kind(b) == "" || kind(a) == kind(b)
}

// mergeable reports whether a list holds objects only.
func mergeable(list *Node) bool {
	for _, n := range list.Items {
		if n.Shape != Object {
			return false
		}
	}
	return len(list.Items) > 0
}

// mergeList lays the elements of patch over those of base with the same names. Without a
// name, a dataset is the only one, and a phase the only one of its kind.
func mergeList(base, patch *Node, within string) {
	named := within == "phases" || within == "datasets"
	for _, n := range patch.Items {
		named = named || nameOf(n) != ""
	}
	if !named {
		base.Items = patch.Items
		return
	}
	for _, n := range patch.Items {
		name := nameOf(n)
		switch {
		case name == "" && within == "phases":
			name = PhaseKind(n)
		case name == "":
			name = "main"
		}
		i := element(base, within, name)
		if i < 0 {
			base.Items = append(base.Items, n)
			continue
		}
		if within == "datasets" && nameOf(base.Items[i]) != "" {
			n.Drop("name") // a short form has a name of its own
		}
		Merge(base.Items[i], n)
	}
}
