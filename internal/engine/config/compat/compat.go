// Package compat shows resolved documents in the forms of AIPerf.
package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"aiperfd/internal/engine/config"
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
func Resolved(d *config.Document) any { return schema.ObjectOf(hidden(d)) }

// hidden returns the resolved section without the secrets of the document, wherever
// they are in it.
func hidden(d *config.Document) *tree.Node {
	set, root := redact.NewSet(d.Secrets()...), reread(resolved(d))
	root.Walk(func(n *tree.Node) {
		switch {
		case n.Shape != tree.Text:
		case slices.Contains(d.Confidential(), n.Scalar): // also a short one
			n.Scalar = redact.Placeholder
		case isWord(n.Scalar): // a key that is called like a value of ours hides only itself
		default:
			clean, _ := redact.Value(set.Exact(n.Scalar)).(string)
			n.Scalar = clean
		}
	})
	return root
}

// isWord reports whether a text has only small letters, as the words of closed lists do.
func isWord(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

func resolved(d *config.Document) config.Object {
	b := d.Benchmark
	b.Datasets = slices.Clone(b.Datasets)
	for i := range b.Datasets {
		if b.Datasets[i].RandomSeed == nil {
			b.Datasets[i].RandomSeed = d.RandomSeed
		}
	}
	return view(b, defaults().Benchmark, "benchmark", schema.FieldAt("benchmark").AIPerf)
}

// defaults returns what a document with one empty phase resolves to.
func defaults() *config.Document {
	draft := config.NewDraft(config.LoadOptions{})
	draft.Root.Get("benchmark").Set("phases", tree.ListNode(tree.ObjectNode()))
	return draft.Defaults()
}

// put adds a member; v must be encodable.
func put(o *config.Object, name string, v any) {
	o.Set(config.Member{Name: name, Value: encode(v)})
}

// encode writes JSON without HTML escaping.
func encode(v any) json.RawMessage {
	out, err := plainjson.Marshal(v)
	if err != nil {
		// Every type of a document encodes; non-finite numbers cannot get in.
		panic("encode configuration: " + err.Error())
	}
	return out
}

// view shows the members of a struct: those of an order, between them the unsupported ones of AIPerf,
// switched off, and at the end its own ones that differ from those of plain.
func view(v, plain any, path, order string) config.Object {
	var out config.Object
	row := schema.FieldAt(path)
	for name := range strings.FieldsSeq(order) {
		i := slices.IndexFunc(row.Lacks, func(f schema.Lack) bool { return f.Name == name })
		if i >= 0 {
			out.Set(config.Member{Name: name, Value: json.RawMessage(row.Lacks[i].Off)})
			continue
		}
		put(&out, name, shown(v, plain, path, name))
	}
	for name := range strings.FieldsSeq(row.Own) {
		value := encode(shown(v, plain, path, name))
		if !bytes.Equal(value, encode(shown(plain, plain, path, name))) {
			out.Set(config.Member{Name: name, Value: value})
		}
	}
	return out
}

// shown returns the field called name of a struct in the form in which it is shown.
func shown(v, plain any, path, name string) any {
	f, _, ok := schema.FieldNamed(reflect.TypeOf(v), name)
	if !ok {
		return nil // a key of AIPerf that nothing here has is null; a test compares the names
	}
	at := schema.Join(path, name)
	value, plainValue := reflect.ValueOf(v).FieldByIndex(f.Index), reflect.ValueOf(plain).FieldByIndex(f.Index)
	switch value := value.Interface().(type) {
	case config.Distribution:
		return distributionView(value)
	case config.Params:
		return paramsView(value)
	case config.Headers:
		return headersView(value)
	case config.Object:
		return redacted(value)
	case []config.Object:
		return each(value, redacted)
	case *config.RangeRatio:
		return rangeRatioView(value)
	case map[string]float64:
		return sortedOrNull(value)
	case []config.LengthPair:
		return each(value, func(pair config.LengthPair) config.Object { return section(pair, pair, at+".*") })
	case []config.Model:
		models := []config.Object{}
		return append(models, each(value, func(m config.Model) config.Object { return section(m, m, at+".*") })...)
	case []config.Dataset:
		return each(value, datasetView)
	case []config.Phase:
		return each(value, phaseView)
	case config.Artifacts:
		return artifactsView(value, plainValue.Interface())
	case config.PrefixPrompts:
		if value == (config.PrefixPrompts{}) {
			return nil
		}
	}
	if schema.FieldAt(at).AIPerf == "" {
		return value.Interface()
	}
	if value.Kind() != reflect.Pointer {
		return section(value.Interface(), plainValue.Interface(), at)
	}
	if value.IsNil() {
		return nil
	}
	return section(value.Elem().Interface(), value.Elem().Interface(), at)
}

// section shows a struct whose members always are the same.
func section(v, plain any, path string) config.Object {
	return view(v, plain, path, schema.FieldAt(path).AIPerf)
}

// each shows the elements of a list; an empty one is null.
func each[T any](items []T, show func(T) config.Object) []config.Object {
	var out []config.Object
	for _, item := range items {
		out = append(out, show(item))
	}
	return out
}

func datasetView(d config.Dataset) config.Object {
	order := schema.FieldAt("benchmark.datasets.*").AIPerf
	switch d.Type {
	case "file":
		order = fileOrder
	case "public":
		order = publicOrder
	}
	out := view(d, config.Dataset{}, "benchmark.datasets.*", order)
	if d.Type != "synthetic" && d.Entries == 0 {
		put(&out, "entries", nil)
	}
	if d.Type == "file" && d.Path == "" {
		put(&out, "path", nil)
	}
	if d.Type == "public" && d.HFSubset == "" {
		put(&out, "hfSubset", nil)
	}
	return out
}

func phaseView(p config.Phase) config.Object {
	// Without a duration there is no grace period; JSON has no infinity.
	if p.Duration == nil && p.GracePeriod != nil && math.IsInf(float64(*p.GracePeriod), 1) {
		p.GracePeriod = nil
	}
	order := schema.FieldAt("benchmark.phases.*").AIPerf
	switch p.Type {
	case "concurrency":
	case config.FixedSchedule:
		order += " autoOffset startOffset endOffset"
	default:
		order += rateOrder
	}
	if p.Type == config.UserCentric {
		order += " users"
	}
	if p.Smoothness != nil {
		order += " smoothness"
	}
	return view(p, config.Phase{}, "benchmark.phases.*", order)
}

// artifactsView shows the level of the files as AIPerf has it: as one member per kind of file.
func artifactsView(a config.Artifacts, plain any) config.Object {
	out := section(a, plain, "benchmark.artifacts")
	for name, on := range map[string]bool{"records": a.Level != "summary", "summary": a.Summary} {
		var formats any = false
		if on {
			formats = []string{map[string]string{"records": "jsonl", "summary": "json"}[name]}
		}
		put(&out, name, formats)
	}
	put(&out, "raw", a.Level == "raw")
	put(&out, "userFiles", append([]config.File{}, a.UserFiles...))
	return out
}

func distributionView(d config.Distribution) any {
	if !d.Given() {
		return nil
	}
	var out config.Object
	put(&out, "min", d.Min)
	put(&out, "max", d.Max)
	switch {
	case len(d.Peaks) > 0:
		put(&out, "peaks", d.Peaks)
	case len(d.Points) > 0:
		put(&out, "points", d.Points)
	case d.Median != nil:
		put(&out, "mean", d.Mean)
		put(&out, "median", d.Median)
	default:
		put(&out, "mean", d.Mean)
		put(&out, "stddev", d.Stddev)
	}
	return out
}

// rangeRatioView shows a range ratio as the text that AIPerf has.
func rangeRatioView(r *config.RangeRatio) any {
	switch {
	case r == nil:
		return nil
	case r.Input == r.Output:
		return schema.FormatNumber(r.Input)
	}
	return fmt.Sprintf(`{"input":%s,"output":%s}`, schema.FormatNumber(r.Input), schema.FormatNumber(r.Output))
}

// headersView shows the values of headers that hold no secret.
func headersView(headers map[string]secret.Text) config.Object {
	var out config.Object
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name].Reveal()
		if redact.SensitiveHeader(name) {
			value = redact.Placeholder
		}
		put(&out, name, redact.Text(value))
	}
	return out
}

// paramsView shows the values of URL parameters that hold no secret.
func paramsView(params map[string]secret.Text) config.Object {
	var out config.Object
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name].Reveal()
		if secret.SensitiveParam(name, value) {
			value = redact.Placeholder
		}
		put(&out, name, redact.Text(value))
	}
	return out
}

// redacted returns a copy without secrets.
func redacted(o config.Object) config.Object {
	var out config.Object
	for _, m := range o.Members() {
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
		put(&out, m.Name, clean[m.Name])
	}
	return out
}

func sortedOrNull(m map[string]float64) any {
	if len(m) == 0 {
		return nil
	}
	var out config.Object
	for _, name := range slices.Sorted(maps.Keys(m)) {
		put(&out, name, m[name])
	}
	return out
}
