package compat

import (
	"bytes"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// Keys that are shown even with their default values.
const alwaysShown = " name type kind urls entries concurrency enabled otel mlflow wandb ui "

// Input returns the benchmark section as AIPerf's result files show it under
// input_config: snake_case keys, without the values that are defaults, redacted
// like [Resolved].
func Input(d *config.Document) any {
	full, base := hidden(d), reread(resolved(defaults()))
	for _, name := range []string{"datasets", "phases"} {
		// Every dataset and phase is compared with the plain one.
		want := base.Get(name).Items[0]
		for i, item := range full.Get(name).Items {
			full.Get(name).Items[i] = trim(item, want)
		}
	}
	return schema.ObjectOf(trim(full, base))
}

// reread reads an object that was just written.
func reread(o config.Object) *tree.Node {
	n, _, err := tree.ParseJSON(encode(o))
	if err != nil {
		panic("read configuration back: " + err.Error())
	}
	return n
}

// trim returns n without nulls and without what equals base, keys in
// snake_case.
func trim(n, base *tree.Node) *tree.Node {
	if n.Shape == tree.List {
		for i, item := range n.Items {
			if item.Shape == tree.Object {
				n.Items[i] = trim(item, &tree.Node{})
			}
		}
		return n
	}
	out := tree.ObjectNode()
	for _, m := range n.Members {
		want := base.Get(m.Name)
		same := m.Value.Shape == tree.Null || want != nil && bytes.Equal(m.Value.JSON(), want.JSON())
		always := strings.Contains(alwaysShown, " "+m.Name+" ")
		if same && (!always || m.Value.Shape == tree.Null) {
			continue
		}
		if m.Name != "headers" && m.Name != "extra" && m.Name != "slos" && m.Name != "records" {
			m.Value = trimValue(m.Value, want)
		}
		m.Name = tree.SnakeCase(m.Name)
		out.Members = append(out.Members, m)
	}
	return out
}

func trimValue(n, base *tree.Node) *tree.Node {
	if n.Shape < tree.List {
		return n
	}
	if base == nil {
		base = &tree.Node{}
	}
	return trim(n, base)
}
