// This file describes the fields of the document, for reference pages and schemas.

package flags

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/sweep"
)

// FieldKind is the type of a field's value in a document.
type FieldKind string

// The kinds. Durations, distributions and JSON objects have special forms,
// see docs/document.md.
const (
	KindObject       FieldKind = "object"
	KindList         FieldKind = "list"
	KindMap          FieldKind = "map"
	KindString       FieldKind = "string"
	KindBoolean      FieldKind = "boolean"
	KindInteger      FieldKind = "integer"
	KindNumber       FieldKind = "number"
	KindDuration     FieldKind = "duration"
	KindTime         FieldKind = "time"
	KindDistribution FieldKind = "distribution"
	KindJSON         FieldKind = "JSON object"
	KindAny          FieldKind = "value"
)

// Field describes a member of the document, for reference pages and schemas. It is made of the Go
// types, the table of fields and the flag table, so that nothing is written twice.
type Field struct {
	Name    string // camelCase; snake_case is accepted too
	Path    string // canonical, with * for an index; "" = the document
	Type    string // Go type of an object, its schema's name; else ""
	Kind    FieldKind
	Text    string // one or two sentences
	Unit    string // "" = none
	Default string // in words; "" = none
	Value   any    // the default, if it is the same in every document; else nil
	// Required: an object without this member, or with null, is refused.
	Required bool
	Flags    []string // Of `aiperfd profile`, that give this field or a part of it

	Choices   []string // accepted texts; nil = any
	Aliases   []string // further accepted texts
	Least     *float64 // smallest number; of a distribution, smallest value
	Above     bool     // Least itself is refused
	Most      *float64
	MinLength int  // characters, or elements of a list
	MaxLength int  // 0 = no limit
	Infinite  bool // a duration that may be "inf"
	Numeric   bool // a version, which may be written as a number

	Element *Field  // of a list or map
	Fields  []Field // Of an object

	Short       []Field       // further members that are short for this one
	Forms       []schema.Form // further forms of the value
	Unsupported []schema.Lack
}

// Reference returns the document as a tree of fields.
func Reference(known *config.Choices) Field {
	r := referrer{choices: known, texts: schema.FieldTexts(), options: make(map[string][]option), filled: filledDocument()}
	for _, o := range supportedOptions() {
		field := fieldSet(o)
		r.options[field] = append(r.options[field], o)
	}
	root := r.field(reflect.TypeFor[config.Document](), "", reflect.ValueOf(r.filled).Elem())
	root.Text = r.texts[""]
	return root
}

// fieldSet returns the path of the field that an option sets, or a part of. The mean and the spread of a
// distribution have one row.
func fieldSet(o option) string {
	return strings.TrimSuffix(strings.TrimSuffix(fieldOf(o.path), ".mean"), ".stddev")
}

// filledDocument is a document of which everything that can have a default has
// been left open.
func filledDocument() *config.Document {
	d, err := config.Read([]byte(`{"benchmark": {"phases": {},
		"dataset": {"type": "synthetic", "images": {"batchSize": 1}, "audio": {"batchSize": 1}, "video": {}, "rankings": {}, "synthesis": {}}}}`), config.LoadOptions{})
	if err != nil {
		panic("read the document of defaults: " + err.Error()) // it is a constant
	}
	return d.Defaults()
}

// referrer makes fields.
type referrer struct {
	choices *config.Choices
	texts   map[string]string   // by path
	options map[string][]option // that set a field, by its path
	filled  *config.Document
}

// field describes the value of a type. filled is what a document has there if
// nothing is given; it may be invalid.
func (r *referrer) field(t reflect.Type, path string, filled reflect.Value) Field {
	row := schema.FieldAt(path)
	f := Field{Path: path, Name: path[strings.LastIndexByte(path, '.')+1:]}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		if filled.IsValid() {
			filled = filled.Elem()
		}
	}
	r.shape(&f, t, filled)
	limits(&f, row, r.choices)
	checkedLimits(&f)
	f.Numeric = row.Form == "version"
	f.Infinite = row.Form == "infinite"
	f.Forms = row.Forms
	f.Required = row.Required
	f.Unsupported = row.Lacks
	r.describe(&f, row, filled)
	return f
}

// shape sets the kind and the parts.
func (r *referrer) shape(f *Field, t reflect.Type, filled reflect.Value) {
	switch t {
	case reflect.TypeFor[config.Seconds]():
		f.Kind, f.Unit = KindDuration, "s"
		return
	case reflect.TypeFor[config.Time]():
		f.Kind = KindTime
		return
	case reflect.TypeFor[secret.Text](), reflect.TypeFor[secret.URL]():
		f.Kind = KindString
		return
	case reflect.TypeFor[config.Distribution]():
		f.Kind, f.Least = KindDistribution, new(float64)
		return
	case reflect.TypeFor[config.Object](), reflect.TypeFor[sweep.Tree](), reflect.TypeFor[sweep.Assignments]():
		f.Kind = KindJSON
		return
	case reflect.TypeFor[config.AnyValue]():
		f.Kind = KindAny
		return
	case reflect.TypeFor[sweep.Parameters]():
		f.Kind = KindMap
		f.Element = &Field{Path: schema.Join(f.Path, "*"), Name: "*", Kind: KindList, Element: &Field{Path: schema.Join(f.Path, "*.*"), Name: "*", Kind: KindAny}}
		return
	case reflect.TypeFor[sweep.Values]():
		f.Kind, f.Element = KindList, &Field{Path: schema.Join(f.Path, "*"), Name: "*", Kind: KindAny}
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		f.Kind, f.Type = KindObject, t.Name()
		r.members(f, t, filled)
	case reflect.Slice, reflect.Map:
		f.Kind = KindList
		if t.Kind() == reflect.Map {
			f.Kind = KindMap
		}
		var first reflect.Value
		if f.Kind == KindList && filled.IsValid() && filled.Len() > 0 && t.Elem().Kind() == reflect.Struct {
			first = filled.Index(0)
		}
		element := r.field(t.Elem(), schema.Join(f.Path, "*"), first)
		f.Element = &element
	case reflect.Bool:
		f.Kind = KindBoolean
	case reflect.Int, reflect.Int64:
		f.Kind = KindInteger
	case reflect.Float64:
		f.Kind = KindNumber
	case reflect.String:
		f.Kind = KindString
	default:
		panic("type " + t.String() + " of " + f.Path + " is unknown to the reference") // a test reads every field
	}
}

func (r *referrer) members(f *Field, t reflect.Type, filled reflect.Value) {
	for i := range t.NumField() {
		name := schema.FieldName(t.Field(i))
		if name == "" {
			continue
		}
		var value reflect.Value
		if filled.IsValid() {
			value = filled.Field(i)
		}
		member := r.field(t.Field(i).Type, schema.Join(f.Path, name), value)
		for _, short := range shortMembers(member.Path) {
			short.Path = schema.Join(f.Path, short.Name)
			short.Text = r.texts[short.Path]
			member.Short = append(member.Short, short)
		}
		f.Fields = append(f.Fields, member)
	}
}

// describe adds text, unit, default and flags.
func (r *referrer) describe(f *Field, row schema.Field, filled reflect.Value) {
	setters := r.options[f.Path]
	if len(setters) > 0 && (setters[0].kind != optBool || f.Kind == KindBoolean) {
		f.Text, f.Default = r.choices.Expand(setters[0].help), setters[0].def
	}
	for _, o := range setters {
		f.Flags = append(f.Flags, o.name)
	}
	value, ok := plainValue(filled)
	if ok && row.Default == "" {
		f.Value = value
		f.Default = fmt.Sprint(value)
	}
	f.Text = cmp.Or(r.texts[f.Path], f.Text)
	f.Unit = cmp.Or(row.Unit, f.Unit)
	if row.Default != "" {
		f.Default = r.choices.Expand(row.Default)
	}
}

// plainValue returns a default that can be shown.
func plainValue(v reflect.Value) (any, bool) {
	if !v.IsValid() {
		return nil, false
	}
	switch x := v.Interface().(type) {
	case config.Distribution:
		if x.Mean == nil {
			return nil, false
		}
		return *x.Mean, true
	case config.Seconds:
		return float64(x), true
	case string:
		return x, x != ""
	case bool, int, int64, float64:
		return x, true
	case []string:
		return strings.Join(x, ", "), len(x) > 0
	}
	return nil, false
}

// Walk calls f for every field below and including this one, in document order.
// Elements of lists that are objects come after their list.
func (f *Field) Walk(visit func(*Field)) {
	visit(f)
	if f.Element != nil {
		f.Element.Walk(visit)
	}
	for i := range f.Fields {
		f.Fields[i].Walk(visit)
	}
}

// Has reports whether the value has a short form.
func (f *Field) Has(form schema.Form) bool { return slices.Contains(f.Forms, form) }

// limits takes the limits of a row.
func limits(f *Field, row schema.Field, known *config.Choices) {
	for _, c := range known.Of(row) {
		f.Choices = append(f.Choices, c.Name)
		f.Aliases = slices.Concat(f.Aliases, c.Aliases, c.Parts)
	}
	f.Most, f.MinLength = row.Most, row.MinLength
	if row.Least != nil {
		f.Least = row.Least
	}
	if row.Above != nil {
		f.Least, f.Above = row.Above, true
	}
	switch {
	case row.MaxLength == schema.Unlimited:
	case row.MaxLength > 0, f.Kind == KindString && f.Choices == nil, f.Kind == KindList:
		f.MaxLength = row.Longest(f.Kind == KindList)
	}
}

// checkedLimits adds the limits that rules check with words of their own.
func checkedLimits(f *Field) {
	switch f.Path {
	case "metadata.labels":
		f.MaxLength = schema.MaxLabels
	case "metadata.labels.*":
		f.MaxLength = schema.MaxLabelValue
	case "benchmark.datasets.*.images.width", "benchmark.datasets.*.images.height":
		f.Most = new(float64(config.MaxSide))
	case "benchmark.datasets.*.turns":
		f.Most = new(float64(config.MaxTurns))
	case "benchmark.datasets.*.prompts.isl", "benchmark.datasets.*.rankings.passageTokens", "benchmark.datasets.*.rankings.queryTokens":
		f.Most = new(float64(config.MaxTokens))
	case "benchmark.datasets.*.rankings.passages":
		f.Most = new(float64(config.MaxPassages))
	case "benchmark.datasets.*.audio.length":
		f.Most = new(float64(config.MaxClip))
	case "benchmark.datasets.*.audio.depths.*":
		for _, depth := range config.Depths() {
			f.Choices = append(f.Choices, strconv.Itoa(depth))
		}
	case "benchmark.datasets.*.video.audio.sampleRate":
		f.Least, f.Most = new(8.0), new(float64(config.MaxVideoRate))
	case "benchmark.datasets.*.audio.sampleRates.*":
		f.Least, f.Most = new(1.0), new(float64(config.MaxRate))
	}
}

// shortMembers lists the members that stand for a field, or for a part of it,
// beside it.
func shortMembers(path string) []Field {
	switch path {
	case "benchmark.models":
		return []Field{{Name: "model"}}
	case "benchmark.endpoint.urls":
		return []Field{{Name: "url"}}
	case "benchmark.datasets":
		return []Field{{Name: "dataset"}}
	case "benchmark.phases":
		return []Field{{Name: "warmup", Kind: KindObject, Type: "Phase"}, {Name: "profiling", Kind: KindObject, Type: "Phase"}}
	case "benchmark.datasets.*.prompts":
		return []Field{{Name: "isl", Kind: KindDistribution, Least: new(1.0)}} // osl is a field of files too
	case "benchmark.datasets.*.prompts.sequenceDistribution.*.isl":
		return []Field{{Name: "islStddev", Kind: KindNumber, Least: new(0.0)}}
	case "benchmark.datasets.*.prompts.sequenceDistribution.*.osl":
		return []Field{{Name: "oslStddev", Kind: KindNumber, Least: new(0.0)}}
	case "benchmark.artifacts.level":
		return []Field{{Name: "records"}, {Name: "raw"}}
	}
	return nil
}
