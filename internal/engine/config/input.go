package config

import (
	"bytes"
	"strings"
)

// Keys that are shown even with their default values.
const alwaysShown = " name type kind urls entries concurrency enabled otel mlflow wandb ui "

// InputConfig returns the benchmark section as AIPerf's result files show it
// under input_config: snake_case keys, and only what is not at its default,
// redacted like [Compat].
func InputConfig(d *Document) any {
	full := tree(compat(d))
	l := newLoader(&report{}, LoadOptions{})
	prefill(&l.doc.Benchmark)
	l.doc.Benchmark.Phases = []Phase{{}}
	filler{l}.fill()
	base := tree(compat(l.doc))
	for _, name := range []string{"datasets", "phases"} {
		// Every dataset and phase is compared with the plain one.
		want := base.get(name).items[0]
		for i, item := range full.get(name).items {
			full.get(name).items[i] = trim(item, want)
		}
	}
	return trim(full, base).toObject()
}

// tree reads an object that was just written.
func tree(o Object) *node {
	n, err := readJSON(encode(o), &report{})
	if err != nil {
		panic("read configuration back: " + err.Error())
	}
	return n
}

// trim returns n without nulls and without what equals base, keys in
// snake_case.
func trim(n, base *node) *node {
	if n.shape == list {
		for i, item := range n.items {
			if item.shape == object {
				n.items[i] = trim(item, &node{})
			}
		}
		return n
	}
	out := objectNode()
	for _, m := range n.members {
		want := base.get(m.name)
		same := m.value.shape == null || want != nil && bytes.Equal(m.value.json(), want.json())
		always := strings.Contains(alwaysShown, " "+m.name+" ")
		if same && (!always || m.value.shape == null) {
			continue
		}
		if m.name != "headers" && m.name != "extra" && m.name != "slos" && m.name != "records" {
			m.value = trimValue(m.value, want)
		}
		m.name = snakeCase(m.name)
		out.members = append(out.members, m)
	}
	return out
}

func trimValue(n, base *node) *node {
	if n.shape < list {
		return n
	}
	if base == nil {
		base = &node{}
	}
	return trim(n, base)
}
