// This file shows resolved documents in the forms of AIPerf.

package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/redact"
)

// The members of datasets that are not synthetic, and those that only some phases have.
const (
	fileOrder   = "name type path records format entries randomSeed sampling systemPrompt systemPromptFile osl synthesis"
	publicOrder = "name type dataset hfSubset filters entries randomSeed sampling systemPrompt systemPromptFile osl"
	rateOrder   = " rate rateRamp rateSeries"
)

// Resolved returns the resolved benchmark section as AIPerf's API shows it:
// camelCase, every key, nulls kept, secrets redacted, apiKey absent. Fields that
// only aiperfd has follow AIPerf's if they differ from their defaults. The result
// marshals to JSON (encode without HTML escaping to keep "<redacted>" readable)
// and, without secrets, loads again to the same benchmark. A dataset without a
// seed shows the seed of the run.
func Resolved(d *Document) any { return schema.ObjectOf(viewWithoutSecrets(d)) }

// viewWithoutSecrets returns the resolved section without the secrets of the document, wherever
// they are in it.
func viewWithoutSecrets(d *Document) *tree.Node {
	set, root := redact.NewSet(d.Secrets()...), rereadView(viewBenchmark(d))
	root.Walk(func(n *tree.Node) {
		switch {
		case n.Shape != tree.Text:
		case slices.Contains(d.Confidential(), n.Scalar): // also a short one
			n.Scalar = redact.Placeholder
		case isPlainWord(n.Scalar): // a key that is called like a value of ours hides only itself
		default:
			clean, _ := redact.Value(set.Exact(n.Scalar)).(string)
			n.Scalar = clean
		}
	})
	return root
}

// isPlainWord reports whether a text has only small letters, as the words of closed lists do.
func isPlainWord(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

func viewBenchmark(d *Document) Object {
	b := d.Benchmark
	b.Datasets = slices.Clone(b.Datasets)
	for i := range b.Datasets {
		if b.Datasets[i].RandomSeed == nil {
			b.Datasets[i].RandomSeed = d.RandomSeed
		}
	}
	return viewMembers(b, viewDefaults().Benchmark, "benchmark", schema.FieldAt("benchmark").AIPerf)
}

// viewDefaults returns what a document with one empty phase resolves to.
func viewDefaults() *Document {
	draft := NewDraft(LoadOptions{})
	draft.Root.Get("benchmark").Set("phases", tree.ListNode(tree.ObjectNode()))
	return draft.Defaults()
}

// putMember adds a member; v must be encodable.
func putMember(o *Object, name string, v any) {
	o.Set(Member{Name: name, Value: encodeView(v)})
}

// encodeView writes JSON without HTML escaping.
func encodeView(v any) json.RawMessage {
	out, err := plainjson.Marshal(v)
	if err != nil {
		// Every type of a document encodes; non-finite numbers cannot get in.
		panic("encode configuration: " + err.Error())
	}
	return out
}

// viewMembers shows the members of a struct: those of an order, between them the unsupported ones of AIPerf,
// switched off, and at the end its own ones that differ from those of plain.
func viewMembers(v, plain any, path, order string) Object {
	var out Object
	row := schema.FieldAt(path)
	for name := range strings.FieldsSeq(order) {
		i := slices.IndexFunc(row.Lacks, func(f schema.Lack) bool { return f.Name == name })
		if i >= 0 {
			out.Set(Member{Name: name, Value: json.RawMessage(row.Lacks[i].Off)})
			continue
		}
		putMember(&out, name, viewMember(v, plain, path, name))
	}
	for name := range strings.FieldsSeq(row.Own) {
		value := encodeView(viewMember(v, plain, path, name))
		if !bytes.Equal(value, encodeView(viewMember(plain, plain, path, name))) {
			out.Set(Member{Name: name, Value: value})
		}
	}
	return out
}

// viewMember returns the field called name of a struct in the form in which it is shown.
func viewMember(v, plain any, path, name string) any {
	f, _, ok := schema.FieldNamed(reflect.TypeOf(v), name)
	if !ok {
		return nil // a key of AIPerf that nothing here has is null; a test compares the names
	}
	at := schema.Join(path, name)
	value, plainValue := reflect.ValueOf(v).FieldByIndex(f.Index), reflect.ValueOf(plain).FieldByIndex(f.Index)
	switch value := value.Interface().(type) {
	case Distribution:
		return viewDistribution(value)
	case Params:
		return viewTexts(value, secret.SensitiveParam)
	case *Params:
		if value != nil {
			return viewTexts(*value, secret.SensitiveParam)
		}
	case Headers:
		return viewTexts(value, func(name, _ string) bool { return path == otelPath || redact.SensitiveHeader(name) })
	case Object:
		return viewObject(value)
	case []Object:
		if len(value) == 0 {
			return nil
		}
		return viewEach(value, viewObject)
	case *RangeRatio:
		return viewRangeRatio(value)
	case map[string]float64:
		if len(value) == 0 {
			return nil
		}
	case []LengthPair:
		if len(value) == 0 {
			return nil
		}
		return viewEach(value, func(pair LengthPair) Object { return viewSection(pair, pair, at+".*") })
	case []Model:
		return viewEach(value, func(m Model) Object { return viewSection(m, m, at+".*") })
	case []Dataset:
		return viewEach(value, viewDataset)
	case []Phase:
		return viewEach(value, viewPhase)
	case Artifacts:
		return viewArtifacts(value, plainValue.Interface())
	case PrefixPrompts:
		if value == (PrefixPrompts{}) {
			return nil
		}
	}
	if schema.FieldAt(at).AIPerf == "" {
		return value.Interface()
	}
	if value.Kind() != reflect.Pointer {
		return viewSection(value.Interface(), plainValue.Interface(), at)
	}
	if value.IsNil() {
		return nil
	}
	return viewSection(value.Elem().Interface(), value.Elem().Interface(), at)
}

// viewSection shows a struct whose members always are the same.
func viewSection(v, plain any, path string) Object {
	return viewMembers(v, plain, path, schema.FieldAt(path).AIPerf)
}

// viewEach shows the elements of a list.
func viewEach[T any](items []T, show func(T) Object) []Object {
	out := make([]Object, len(items))
	for i, item := range items {
		out[i] = show(item)
	}
	return out
}

func viewDataset(d Dataset) Object {
	order := schema.FieldAt("benchmark.datasets.*").AIPerf
	switch d.Type {
	case "file":
		order = fileOrder
	case "public":
		order = publicOrder
	}
	out := viewMembers(d, Dataset{}, "benchmark.datasets.*", order)
	if d.Type != "synthetic" && d.Entries == 0 {
		putMember(&out, "entries", nil)
	}
	if d.Type == "file" && d.Path == "" {
		putMember(&out, "path", nil)
	}
	if d.Type == "public" && d.HFSubset == "" {
		putMember(&out, "hfSubset", nil)
	}
	return out
}

func viewPhase(p Phase) Object {
	// Without a duration there is no grace period; JSON has no infinity.
	if p.Duration == nil && p.GracePeriod != nil && math.IsInf(float64(*p.GracePeriod), 1) {
		p.GracePeriod = nil
	}
	order := schema.FieldAt("benchmark.phases.*").AIPerf
	switch p.Type {
	case Concurrency, AgenticReplay:
	case FixedSchedule:
		order += " autoOffset startOffset endOffset"
	default:
		order += rateOrder
	}
	if p.Type == UserCentric {
		order += " users"
	}
	if p.Smoothness != nil {
		order += " smoothness"
	}
	return viewMembers(p, Phase{}, "benchmark.phases.*", order)
}

// viewArtifacts shows the level of the files as AIPerf has it: as one member per kind of file.
func viewArtifacts(a Artifacts, plain any) Object {
	out := viewSection(a, plain, "benchmark.artifacts")
	for name, on := range map[string]bool{"records": a.Level != "summary", "summary": a.Summary} {
		var formats any = false
		if on {
			formats = []string{map[string]string{"records": "jsonl", "summary": "json"}[name]}
		}
		putMember(&out, name, formats)
	}
	putMember(&out, "raw", a.Level == "raw")
	putMember(&out, "userFiles", append([]File{}, a.UserFiles...))
	return out
}

func viewDistribution(d Distribution) any {
	if !d.Given() {
		return nil
	}
	var out Object
	putMember(&out, "min", d.Min)
	putMember(&out, "max", d.Max)
	switch {
	case len(d.Peaks) > 0:
		putMember(&out, "peaks", d.Peaks)
	case len(d.Points) > 0:
		putMember(&out, "points", d.Points)
	case d.Median != nil:
		putMember(&out, "mean", d.Mean)
		putMember(&out, "median", d.Median)
	default:
		putMember(&out, "mean", d.Mean)
		putMember(&out, "stddev", d.Stddev)
	}
	return out
}

// viewRangeRatio shows a range ratio as the text that AIPerf has.
func viewRangeRatio(r *RangeRatio) any {
	switch {
	case r == nil:
		return nil
	case r.Input == r.Output:
		return schema.FormatNumber(r.Input)
	}
	return fmt.Sprintf(`{"input":%s,"output":%s}`, schema.FormatNumber(r.Input), schema.FormatNumber(r.Output))
}

// viewTexts shows the values of headers or URL parameters that hold no secret.
func viewTexts(texts map[string]secret.Text, sensitive func(name, value string) bool) map[string]string {
	out := make(map[string]string, len(texts))
	for name, text := range texts {
		if out[name] = redact.Text(text.Reveal()); sensitive(name, text.Reveal()) {
			out[name] = redact.Placeholder
		}
	}
	return out
}

// viewObject returns a copy without secrets.
func viewObject(o Object) Object {
	var out Object
	for _, m := range o {
		d := json.NewDecoder(bytes.NewReader(m.Value))
		d.UseNumber()
		var value any
		if d.Decode(&value) != nil {
			value = redact.Placeholder // not JSON, so it may contain anything
		}
		clean, _ := redact.Value(map[string]any{m.Name: value}).(map[string]any)
		if reflect.DeepEqual(clean[m.Name], value) {
			out.Set(m) // untouched, with the order of its members
			continue
		}
		putMember(&out, m.Name, clean[m.Name])
	}
	return out
}

// alwaysShown are the keys that are shown even with their default values.
const alwaysShown = " name type kind urls entries concurrency enabled otel mlflow wandb ui "

// InputConfig returns the benchmark section as AIPerf's result files show it under
// input_config: snake_case keys, without the values that are defaults, redacted
// like [Resolved].
func InputConfig(d *Document) any {
	full, base := viewWithoutSecrets(d), rereadView(viewBenchmark(viewDefaults()))
	// What AIPerf's command line sets, it shows.
	if metrics := full.Get("serverMetrics"); metrics.Get("urls") == nil {
		metrics.Set("urls", tree.ListNode())
	}
	base.Get("serverMetrics").Drop("formats")
	if full.Get("gpuTelemetry").Get("urls") != nil {
		base.Get("gpuTelemetry").Drop("collector")
		base.Get("gpuTelemetry").Drop("mode")
	}
	for _, name := range []string{"datasets", "phases"} {
		// Every dataset and phase is compared with the plain one.
		want := base.Get(name).Items[0]
		for i, item := range full.Get(name).Items {
			full.Get(name).Items[i] = trimView(item, want)
		}
	}
	return schema.ObjectOf(trimView(full, base))
}

// rereadView reads an object that was just written.
func rereadView(o Object) *tree.Node {
	n, _, err := tree.ParseJSON(encodeView(o))
	if err != nil {
		panic("read configuration back: " + err.Error())
	}
	return n
}

// trimView returns n without nulls and without what equals base, keys in
// snake_case.
func trimView(n, base *tree.Node) *tree.Node {
	if n.Shape == tree.List {
		for i, item := range n.Items {
			if item.Shape == tree.Object {
				n.Items[i] = trimView(item, &tree.Node{})
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
			m.Value = trimViewValue(m.Value, want)
		}
		m.Name = tree.SnakeCase(m.Name)
		out.Members = append(out.Members, m)
	}
	return out
}

func trimViewValue(n, base *tree.Node) *tree.Node {
	if n.Shape < tree.List {
		return n
	}
	if base == nil {
		base = &tree.Node{}
	}
	return trimView(n, base)
}
