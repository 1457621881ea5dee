// This file rewrites the short forms of a benchmark document as the long ones.

package schema

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// The keys beside the benchmark section.
var envelopeKeys = [...]string{
	"schemaVersion", "randomSeed", "metadata", "variables", "sweep", "multiRun", "repeats", "gate", "plot", "noSweepTable",
	"ignoreUnsupported", "apiVersion", "kind", "spec",
}

// Reporter collects problems and warnings.
type Reporter interface {
	// Conflict adds a problem: two forms that cannot be combined.
	Conflict(at tree.Place, format string, args ...any)
	// Deprecated adds a warning about an old form.
	Deprecated(at tree.Place, format string, args ...any)
}

// Expand rewrites the short forms below root and returns the root of the result,
// which has a benchmark section with models.items, endpoint.urls, datasets and
// phases as lists. Nodes keep their places in the user's text. A value of an
// unexpected type is left unchanged, for the decoder to report.
func Expand(root *tree.Node, r Reporter) *tree.Node {
	return expander{r}.expand(root)
}

type expander struct{ Reporter }

func (e expander) expand(root *tree.Node) *tree.Node {
	benchmark := root.Get("benchmark")
	if benchmark == nil && root.Index("benchmark") < 0 {
		root = e.wrap(root)
		benchmark = root.Get("benchmark")
	}
	if benchmark == nil || benchmark.Shape != tree.Object {
		return root
	}
	e.renameOnly(benchmark, "model", "models")
	normaliseModels(benchmark)
	e.normaliseEndpoint(benchmark.Get("endpoint"))
	normaliseClient(benchmark.Get("client"))
	normaliseTelemetry(benchmark)
	if d := benchmark.Get("dataset"); d != nil && d.Shape == tree.Object && d.Index("name") < 0 {
		d.Set("name", &tree.Node{Place: d.Place, Shape: tree.Text, Scalar: "default"})
	}
	e.normaliseDatasets(benchmark)
	e.normalisePhases(benchmark)
	return root
}

// wrap makes a document of a benchmark section that stands alone, or of an old
// flat file that mixes it with the keys around it.
func (e expander) wrap(root *tree.Node) *tree.Node {
	section, outer := tree.ObjectNode(), tree.ObjectNode()
	section.Place, outer.Place = root.Place, root.Place
	old := false
	for _, m := range root.Members {
		switch {
		case slices.ContainsFunc(envelopeKeys[:], func(k string) bool { return m.Name == k || m.Name == tree.SnakeCase(k) }):
			outer.Members = append(outer.Members, m)
			old = old || m.Name != "metadata"
		default:
			section.Members = append(section.Members, m)
			old = old || m.Name == "model" || m.Name == "dataset"
		}
	}
	if old && len(section.Members) > 0 {
		e.Deprecated(root.Place, "flat layout: move everything except schemaVersion, randomSeed and metadata into \"benchmark\"")
	}
	if d := section.Get("dataset"); d != nil && d.Shape == tree.Object && d.Index("name") < 0 {
		d.Set("name", &tree.Node{Place: d.Place, Shape: tree.Text, Scalar: "main"})
	}
	outer.Set("benchmark", section)
	return outer
}

// renameOnly gives the member short its long name; both together are an error.
func (e expander) renameOnly(n *tree.Node, short, long string) {
	i := n.Index(short)
	if i < 0 {
		return
	}
	if n.Index(long) >= 0 {
		e.Conflict(n.Members[i].Place, "%q and %q set the same value; give only one", short, long)
		n.Drop(short)
		return
	}
	n.Members[i].Name = long
}

// asList returns the node itself if it is a list, else a list of it.
func asList(n *tree.Node) *tree.Node {
	if n.Shape == tree.List {
		return n
	}
	l := tree.ListNode(n)
	l.Place = n.Place
	return l
}

// normaliseModels turns a name or a list of names into {items: [{name}]}.
func normaliseModels(benchmark *tree.Node) {
	models := benchmark.Get("models")
	if models == nil {
		return
	}
	if models.IsText() || models.Shape == tree.List {
		models = within("items", asList(models))
		benchmark.Set("models", models)
	}
	items := models.Get("items")
	if items == nil || items.Shape != tree.List {
		return
	}
	for i, item := range items.Items {
		if item.IsText() {
			items.Items[i] = within("name", item)
		}
	}
}

func (e expander) normaliseEndpoint(endpoint *tree.Node) {
	if endpoint == nil || endpoint.Shape != tree.Object {
		return
	}
	e.renameOnly(endpoint, "url", "urls")
	if urls := endpoint.Get("urls"); urls != nil && urls.IsText() {
		endpoint.Set("urls", asList(urls))
	}
	if t := endpoint.Get("template"); t != nil && t.Shape == tree.Object && endpoint.Index("type") < 0 {
		kind := tree.TextNode("template")
		kind.Place = t.Place
		endpoint.Set("type", kind)
	}
	for _, name := range []string{"resetKvCache", "serverProfiler"} {
		normaliseSwitch(endpoint, name)
		normaliseSwitch(endpoint, tree.SnakeCase(name))
	}
}

// normaliseSwitch turns true and false, also as {enabled: …}, into an object and
// null.
func normaliseSwitch(endpoint *tree.Node, name string) {
	n := endpoint.Get(name)
	if n == nil {
		return
	}
	on := n
	if n.Shape == tree.Object && n.Index("enabled") >= 0 {
		on = n.Members[n.Index("enabled")].Value
		if on.Shape == tree.Boolean || on.Shape == tree.Null {
			n.Drop("enabled")
		}
	}
	if on.Shape != tree.Boolean {
		return
	}
	switch {
	case on.Scalar != "true":
		endpoint.Set(name, &tree.Node{Place: n.Place, Shape: tree.Null})
	case n.Shape == tree.Boolean:
		section := tree.ObjectNode()
		section.Place = n.Place
		endpoint.Set(name, section)
	}
}

// normaliseTelemetry makes an object of true, false, a URL or a list of URLs, and lists of single
// values.
func normaliseTelemetry(benchmark *tree.Node) {
	for _, name := range []string{"serverMetrics", "server_metrics", "gpuTelemetry", "gpu_telemetry"} {
		section := benchmark.Get(name)
		switch {
		case section == nil:
			continue
		case section.Shape == tree.Boolean:
			section = within("enabled", section)
		case section.IsText(), section.Shape == tree.List:
			section = within("urls", asList(section))
		}
		for _, list := range []string{"urls", "formats", "devices"} {
			if single := section.Get(list); single != nil && single.IsText() {
				section.Set(list, asList(single))
			}
		}
		benchmark.Set(name, section)
	}
}

// normaliseClient turns yes and no into when: certify: true is before the run.
func normaliseClient(client *tree.Node) {
	if client == nil || client.Shape != tree.Object {
		return
	}
	certify := client.Get("certify")
	if certify == nil || certify.Shape != tree.Boolean {
		return
	}
	when := tree.TextNode("none")
	if certify.Scalar == "true" {
		when = tree.TextNode("before")
	}
	when.Place = certify.Place
	client.Set("certify", when)
}

// namePools makes a list of records of an object of pools: each gets the name of its
// pool.
func namePools(dataset *tree.Node) {
	pools := dataset.Get("records")
	if pools == nil || pools.Shape != tree.Object {
		return
	}
	list := &tree.Node{Place: pools.Place, Shape: tree.List}
	for _, pool := range pools.Members {
		if pool.Value.Shape != tree.List {
			return
		}
		for _, record := range pool.Value.Items {
			if record.Shape == tree.Object && record.Index("pool") < 0 {
				record.Set("pool", &tree.Node{Place: record.Place, Shape: tree.Text, Scalar: pool.Name})
			}
			list.Items = append(list.Items, record)
		}
	}
	dataset.Set("records", list)
}

// normaliseDatasets makes a list of one dataset, and moves isl, osl and cacheBust that
// stand in a synthetic dataset into prompts.
func (e expander) normaliseDatasets(benchmark *tree.Node) {
	e.renameOnly(benchmark, "dataset", "datasets")
	datasets := benchmark.Get("datasets")
	if datasets == nil {
		return
	}
	datasets = asList(datasets)
	benchmark.Set("datasets", datasets)
	for _, d := range datasets.Items {
		if d.Shape != tree.Object {
			continue
		}
		namePools(d)
		e.normalisePrompts(d.Get("prompts"))
		switch kind := d.Get("type"); {
		case kind != nil && suggest.Fold(kind.Scalar) != "synthetic":
			continue
		case kind == nil && (d.Get("path") != nil || d.Get("records") != nil): // a file
			continue
		}
		e.moveInto(d, "prompts", "isl", "osl", "cacheBust")
	}
}

// moveInto moves members of n into its member group.
func (e expander) moveInto(n *tree.Node, group string, names ...string) {
	for _, name := range names {
		i := n.Index(name)
		if i < 0 {
			continue
		}
		at := n.Members[i].Place
		value := n.Drop(name)
		inner := n.Get(group)
		if inner == nil {
			inner = tree.ObjectNode()
			inner.Place = n.Place
			n.Set(group, inner)
		}
		switch {
		case inner.Shape != tree.Object:
			e.Conflict(at, "%q cannot be combined with %q, which is not an object", name, group)
		case inner.Index(name) >= 0:
			e.Conflict(at, "%q is given both here and in %q", name, group)
		default:
			inner.Members = append(inner.Members, tree.Member{Place: at, Name: name, Value: value})
		}
	}
}

// normalisePhases makes a list of one phase, or of the warmup and profiling
// members.
func (e expander) normalisePhases(benchmark *tree.Node) {
	var named []*tree.Node
	for _, name := range []string{"warmup", "profiling"} {
		i := benchmark.Index(name)
		if i < 0 {
			continue
		}
		at := benchmark.Members[i].Place
		value := benchmark.Drop(name)
		switch {
		case benchmark.Index("phases") >= 0:
			e.Conflict(at, "%q cannot be combined with \"phases\"", name)
		case value.Shape == tree.Object:
			if value.Index("name") < 0 {
				value.Set("name", &tree.Node{Place: value.Place, Shape: tree.Text, Scalar: name})
			}
			if value.Index("kind") < 0 {
				value.Set("kind", &tree.Node{Place: value.Place, Shape: tree.Text, Scalar: name})
			}
			named = append(named, value)
		case value.Shape != tree.Null:
			named = append(named, value)
		}
	}
	if len(named) > 0 {
		phases := tree.ListNode(named...)
		phases.Place = benchmark.Place
		phases.Pointer += "/phases"
		benchmark.Set("phases", phases)
	}
	if phases := benchmark.Get("phases"); phases != nil && phases.Shape == tree.Object {
		benchmark.Set("phases", asList(phases))
	}
	if phases := benchmark.Get("phases"); phases != nil && phases.Shape == tree.List {
		for _, phase := range phases.Items {
			normalisePhase(phase)
		}
	}
}

// normalisePhase turns a ramp that is written as its duration, and a series of rates
// that is written as its path or its points, into objects.
func normalisePhase(phase *tree.Node) {
	if phase.Shape != tree.Object {
		return
	}
	for i := range phase.Members {
		m := &phase.Members[i]
		switch m.Name {
		case "concurrencyRamp", "concurrency_ramp", "prefillRamp", "prefill_ramp", "rateRamp", "rate_ramp":
			if m.Value.Shape == tree.Number || m.Value.IsText() {
				m.Value = within("duration", m.Value)
			}
		case "rateSeries", "rate_series":
			switch {
			case m.Value.IsText():
				m.Value = within("path", m.Value)
			case m.Value.Shape == tree.List:
				m.Value = within("points", m.Value)
			}
		}
	}
}

// within returns an object with a value as its only member.
func within(name string, value *tree.Node) *tree.Node {
	n := tree.ObjectNode(tree.Member{Place: value.Place, Name: name, Value: value})
	n.Place = value.Place
	return n
}

// shortNames returns the short names that a section may have beside those of its fields. The
// path is that of the decoder, as benchmark.datasets.0.
func shortNames(path string) []string {
	switch {
	case path == "benchmark":
		return []string{"model", "dataset", "warmup", "profiling"}
	case path == "benchmark.endpoint":
		return []string{"url"}
	case strings.HasPrefix(path, "benchmark.datasets.") && strings.Count(path, ".") == 2:
		return []string{"isl", "osl", "cacheBust"}
	}
	return nil
}
