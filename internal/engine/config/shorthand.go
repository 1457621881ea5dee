package config

import (
	"slices"

	"aiperfd/internal/engine/suggest"
)

// The keys beside the benchmark section.
var envelopeKeys = [...]string{
	"schemaVersion", "randomSeed", "metadata", "variables", "sweep", "multiRun", "plot", "noSweepTable",
	"apiVersion", "kind", "spec",
}

// shorthand replaces the short forms of a document by the long ones, and reports
// those that contradict each other.
type shorthand struct{ *report }

// normalise brings the short forms of a document into the long one: afterwards
// there is a benchmark section with models.items, endpoint.urls, datasets and
// phases as lists. Nodes keep the places where the user wrote them. What does
// not have the expected type is left as it is, for the decoder to report.
func (s shorthand) normalise(root *node) *node {
	benchmark := root.get("benchmark")
	if benchmark == nil && root.index("benchmark") < 0 {
		root = s.wrap(root)
		benchmark = root.get("benchmark")
	}
	if benchmark == nil || benchmark.shape != object {
		return root
	}
	s.renameOnly(benchmark, "model", "models")
	normaliseModels(benchmark)
	s.normaliseEndpoint(benchmark.get("endpoint"))
	normaliseClient(benchmark.get("client"))
	if d := benchmark.get("dataset"); d != nil && d.shape == object && d.index("name") < 0 {
		d.set("name", &node{place: d.place, shape: text, scalar: "default"})
	}
	s.normaliseDatasets(benchmark)
	s.normalisePhases(benchmark)
	return root
}

// wrap makes a document of a benchmark section that stands alone, or of an old
// flat file that mixes it with the keys around it.
func (s shorthand) wrap(root *node) *node {
	section, outer := objectNode(), objectNode()
	section.place, outer.place = root.place, root.place
	old := false
	for _, m := range root.members {
		switch {
		case slices.ContainsFunc(envelopeKeys[:], func(k string) bool { return m.name == k || m.name == snakeCase(k) }):
			outer.members = append(outer.members, m)
			old = old || m.name != "metadata"
		default:
			section.members = append(section.members, m)
			old = old || m.name == "model" || m.name == "dataset"
		}
	}
	if old && len(section.members) > 0 {
		s.warn(root.place, CodeDeprecated, "flat layout: move everything except schemaVersion, randomSeed and metadata into \"benchmark\"")
	}
	if d := section.get("dataset"); d != nil && d.shape == object && d.index("name") < 0 {
		d.set("name", &node{place: d.place, shape: text, scalar: "main"})
	}
	outer.set("benchmark", section)
	return outer
}

// renameOnly gives the member short its long name; both together are an error.
func (s shorthand) renameOnly(n *node, short, long string) {
	i := n.index(short)
	if i < 0 {
		return
	}
	if n.index(long) >= 0 {
		s.fail(n.members[i].place, CodeConflict, "%q and %q set the same value; give only one", short, long)
		n.drop(short)
		return
	}
	n.members[i].name = long
}

// asList returns the node itself if it is a list, else a list of it.
func asList(n *node) *node {
	if n.shape == list {
		return n
	}
	l := listNode(n)
	l.place = n.place
	return l
}

// normaliseModels turns a name or a list of names into {items: [{name}]}.
func normaliseModels(benchmark *node) {
	models := benchmark.get("models")
	if models == nil {
		return
	}
	if models.isText() || models.shape == list {
		outer := objectNode(member{place: models.place, name: "items", value: asList(models)})
		outer.place = models.place
		benchmark.set("models", outer)
		models = outer
	}
	items := models.get("items")
	if items == nil || items.shape != list {
		return
	}
	for i, item := range items.items {
		if item.isText() {
			named := objectNode(member{place: item.place, name: "name", value: item})
			named.place = item.place
			items.items[i] = named
		}
	}
}

func (s shorthand) normaliseEndpoint(endpoint *node) {
	if endpoint == nil || endpoint.shape != object {
		return
	}
	s.renameOnly(endpoint, "url", "urls")
	if urls := endpoint.get("urls"); urls != nil && urls.isText() {
		endpoint.set("urls", asList(urls))
	}
	if t := endpoint.get("template"); t != nil && t.shape == object && endpoint.index("type") < 0 {
		kind := textNode("template")
		kind.place = t.place
		endpoint.set("type", kind)
	}
	for _, name := range []string{"resetKvCache", "serverProfiler"} {
		normaliseSwitch(endpoint, name)
		normaliseSwitch(endpoint, snakeCase(name))
	}
}

// normaliseSwitch turns true and false, also as {enabled: …}, into an object and
// null.
func normaliseSwitch(endpoint *node, name string) {
	n := endpoint.get(name)
	if n == nil {
		return
	}
	on := n
	if n.shape == object && n.index("enabled") >= 0 {
		on = n.drop("enabled")
	}
	if on.shape != boolean {
		return
	}
	switch {
	case on.scalar != "true":
		endpoint.set(name, &node{place: n.place, shape: null})
	case n.shape == boolean:
		section := objectNode()
		section.place = n.place
		endpoint.set(name, section)
	}
}

// normaliseClient turns yes and no into when: certify: true is before the run.
func normaliseClient(client *node) {
	if client == nil || client.shape != object {
		return
	}
	certify := client.get("certify")
	if certify == nil || certify.shape != boolean {
		return
	}
	when := textNode("none")
	if certify.scalar == "true" {
		when = textNode("before")
	}
	when.place = certify.place
	client.set("certify", when)
}

// normaliseDatasets makes a list of one dataset, and moves isl and osl that
// stand beside type: synthetic into prompts.
func (s shorthand) normaliseDatasets(benchmark *node) {
	s.renameOnly(benchmark, "dataset", "datasets")
	datasets := benchmark.get("datasets")
	if datasets == nil {
		return
	}
	datasets = asList(datasets)
	benchmark.set("datasets", datasets)
	for _, d := range datasets.items {
		if d.shape != object {
			continue
		}
		if kind := d.get("type"); kind != nil && suggest.Fold(kind.scalar) != "synthetic" {
			continue
		}
		s.moveInto(d, "prompts", "isl", "osl")
	}
}

// moveInto moves members of n into its member group.
func (s shorthand) moveInto(n *node, group string, names ...string) {
	for _, name := range names {
		i := n.index(name)
		if i < 0 {
			continue
		}
		at := n.members[i].place
		value := n.drop(name)
		inner := n.get(group)
		if inner == nil {
			inner = objectNode()
			inner.place = n.place
			n.set(group, inner)
		}
		switch {
		case inner.shape != object:
			s.fail(at, CodeConflict, "%q cannot be combined with %q, which is not an object", name, group)
		case inner.index(name) >= 0:
			s.fail(at, CodeConflict, "%q is given both here and in %q", name, group)
		default:
			inner.members = append(inner.members, member{place: at, name: name, value: value})
		}
	}
}

// normalisePhases makes a list of one phase, or of the warmup and profiling
// members.
func (s shorthand) normalisePhases(benchmark *node) {
	var named []*node
	for _, name := range []string{"warmup", "profiling"} {
		i := benchmark.index(name)
		if i < 0 {
			continue
		}
		at := benchmark.members[i].place
		value := benchmark.drop(name)
		switch {
		case benchmark.index("phases") >= 0:
			s.fail(at, CodeConflict, "%q cannot be combined with \"phases\"", name)
		case value.shape == object:
			if value.index("name") < 0 {
				value.set("name", &node{place: value.place, shape: text, scalar: name})
			}
			if value.index("kind") < 0 {
				value.set("kind", &node{place: value.place, shape: text, scalar: name})
			}
			named = append(named, value)
		case value.shape != null:
			named = append(named, value)
		}
	}
	if len(named) > 0 {
		phases := listNode(named...)
		phases.place = benchmark.place
		phases.ptr += "/phases"
		benchmark.set("phases", phases)
	}
	if phases := benchmark.get("phases"); phases != nil && phases.shape == object {
		benchmark.set("phases", asList(phases))
	}
}
