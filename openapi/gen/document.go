package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/plan"
)

// The schemas that the fields of the document share.
const (
	documentSchema = "config.Document"
	envelopeSchema = "config.Envelope" // with a benchmark section
	flatSchema     = "config.Flat"     // the benchmark section alone
	durationSchema = "config.Duration"
	substitution   = "config.Substitution"
	nothing        = "config.Null"
	switchedOff    = "config.Off"
)

// Patterns of texts.
const (
	substitutionPattern = `^\$\{[^}]+\}$|\{\{|\{%`
	durationPattern     = `^ *([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *(s|sec|seconds?|m|min|minutes?|h|hr|hours?|d|days?)? *$`
	numbersPattern      = `^ *(0(\.[0-9]*)?|\.[0-9]+|1(\.0*)?|\{.*\}) *$|\{\{|\{%|\$\{`
	infinitePattern     = `^ *([+]?inf|infinity) *$`
	timePattern         = `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
)

// Extensions of members that pages and generators may leave out.
const (
	aliasOf     = "x-alias-of"    // another spelling of the member that it names
	shortFor    = "x-short-for"   // another name of the member that it names, or of a part of it
	unsupported = "x-unsupported" // accepted only with a value that switches it off
)

// documentSchemas describes the benchmark document by schemas: what a loader
// accepts as to names, types, choices and ranges of single values. What several
// values say together is the loader's.
func documentSchemas(root *flags.Field) openapi3.Schemas {
	g := schemaWriter{schemas: openapi3.Schemas{
		substitution: describe(&openapi3.Schema{Type: types("string"), Pattern: substitutionPattern},
			"The environment variable ${NAME}, or ${NAME:default}, the secret ${secret:NAME}, or a template with {{ … }}, whose value has the type that is expected."),
		nothing:     describe(&openapi3.Schema{Type: types("string"), Nullable: true, Enum: []any{nil}}, "The same as absent."),
		switchedOff: off(),
		durationSchema: describe(&openapi3.Schema{Type: types("string"), Pattern: durationPattern, Example: "30s"},
			"A length of time with a unit, such as 30s, 5 min, 2h or 7d; without one it is in seconds."),
	}}
	envelope := g.object(root)
	envelope.Required = []string{"benchmark"}
	envelope.Properties["benchmark"] = ref("config.Benchmark")
	g.schemas[envelopeSchema] = describe(envelope, "A benchmark and the settings around it.")
	flat := *g.schemas["config.Benchmark"].Value
	flat.Properties = maps.Clone(flat.Properties)
	maps.Copy(flat.Properties, envelope.Properties)
	delete(flat.Properties, "benchmark")
	g.schemas[flatSchema] = describe(&flat, "The benchmark section alone; the settings around it may stand beside its members.")
	g.schemas[documentSchema] = describe(&openapi3.Schema{AnyOf: openapi3.SchemaRefs{ref(envelopeSchema), ref(flatSchema)}},
		"The benchmark document, in JSON or YAML. Members are camelCase or snake_case. Choices are also accepted in another "+
			"case and with - for _. The reference is docs/document.md.")
	return g.schemas
}

// schemaWriter makes schemas of fields.
type schemaWriter struct{ schemas openapi3.Schemas }

func types(name string) *openapi3.Types { return &openapi3.Types{name} }

func ref(name string) *openapi3.SchemaRef {
	return openapi3.NewSchemaRef("#/components/schemas/"+name, nil)
}

func inline(s *openapi3.Schema) *openapi3.SchemaRef { return openapi3.NewSchemaRef("", s) }

func describe(s *openapi3.Schema, text string) *openapi3.SchemaRef {
	s.Description = text
	return inline(s)
}

func closed() openapi3.AdditionalProperties {
	return openapi3.AdditionalProperties{Has: new(false)}
}

// object makes the schema of an object with the members of a field, in both
// spellings.
func (g *schemaWriter) object(f *flags.Field) *openapi3.Schema {
	s := &openapi3.Schema{Type: types("object"), Description: f.Text, Properties: openapi3.Schemas{}, AdditionalProperties: closed()}
	for i := range f.Fields {
		member := &f.Fields[i]
		if member.Required {
			s.Required = append(s.Required, member.Name)
		}
		g.member(s, member.Name, g.optional(member))
		for _, short := range member.Short {
			g.member(s, short.Name, g.short(member, &short))
		}
	}
	if f.Has(schema.FormSwitch) {
		g.member(s, "enabled", inline(&openapi3.Schema{
			AnyOf:       openapi3.SchemaRefs{inline(&openapi3.Schema{Type: types("boolean")}), ref(substitution), ref(nothing)},
			Description: "false is the same as no object.",
		}))
	}
	for _, lack := range f.Unsupported {
		if s.Properties[lack.Name] == nil {
			g.member(s, lack.Name, unsupportedMember(lack))
		}
	}
	return s
}

// member adds a property in camelCase and in snake_case.
func (g *schemaWriter) member(s *openapi3.Schema, name string, property *openapi3.SchemaRef) {
	s.Properties[name] = property
	snake := snakeCase(name)
	if snake == name {
		return
	}
	alias := *property.Value
	alias.Description = "The same as " + name + "."
	alias.Extensions = maps.Clone(alias.Extensions)
	if alias.Extensions == nil {
		alias.Extensions = map[string]any{}
	}
	alias.Extensions[aliasOf] = name
	s.Properties[snake] = inline(&alias)
}

// snakeCase writes a camelCase name as the loader reads it.
func snakeCase(name string) string {
	var b strings.Builder
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// optional makes the schema of a member, which may be null. Its default stands in
// the description: generators of clients take a member with a default for one that
// is always there.
func (g *schemaWriter) optional(f *flags.Field) *openapi3.SchemaRef {
	values := g.values(f)
	if !f.Required {
		values = append(values, ref(nothing))
	}
	s := g.union(values)
	s.Description = f.Text
	if f.Unit != "" {
		s.Extensions = map[string]any{"x-unit": f.Unit}
	}
	if f.Default != "" {
		s.Description += " Default: " + f.Default + "."
	}
	return inline(s)
}

// union joins what a value may be. A single inline type and null are one schema.
func (g *schemaWriter) union(values openapi3.SchemaRefs) *openapi3.Schema {
	if len(values) == 1 && values[0].Ref == "" {
		s := *values[0].Value
		return &s
	}
	if len(values) == 2 && values[0].Ref == "" && values[0].Value.Type != nil && values[1].Ref == ref(nothing).Ref && values[0].Value.Enum == nil {
		s := *values[0].Value
		s.Nullable = true
		return &s
	}
	return &openapi3.Schema{AnyOf: values}
}

// values lists the schemas of the forms of a value.
func (g *schemaWriter) values(f *flags.Field) openapi3.SchemaRefs {
	switch f.Kind {
	case flags.KindObject:
		return g.objects(f)
	case flags.KindList:
		element := g.element(f.Element)
		list := &openapi3.Schema{Type: types("array"), Items: element, MinItems: uint64(f.MinLength), MaxItems: limit(f.MaxLength)}
		if f.Has(schema.FormGroups) {
			groups := &openapi3.Schema{Type: types("object"), MinProps: 1, AdditionalProperties: openapi3.AdditionalProperties{Schema: inline(list)}}
			return openapi3.SchemaRefs{inline(list), inline(groups)}
		}
		if f.Has(schema.FormElement) {
			return append(openapi3.SchemaRefs{inline(list)}, g.values(f.Element)...)
		}
		return openapi3.SchemaRefs{inline(list)}
	case flags.KindMap:
		return openapi3.SchemaRefs{inline(&openapi3.Schema{
			Type: types("object"), MaxProps: limit(f.MaxLength),
			AdditionalProperties: openapi3.AdditionalProperties{Schema: g.element(f.Element)},
		})}
	case flags.KindJSON:
		return openapi3.SchemaRefs{inline(&openapi3.Schema{Type: types("object"), AdditionalProperties: openapi3.AdditionalProperties{Has: new(true)}})}
	case flags.KindAny:
		return openapi3.SchemaRefs{inline(&openapi3.Schema{})}
	case flags.KindDistribution:
		return openapi3.SchemaRefs{g.distribution(f)}
	}
	return g.scalars(f)
}

// element makes the schema of an element, which cannot be null.
func (g *schemaWriter) element(f *flags.Field) *openapi3.SchemaRef {
	values := g.values(f)
	if len(values) == 1 {
		return values[0]
	}
	return inline(&openapi3.Schema{AnyOf: values})
}

// objects lists the forms of an object.
func (g *schemaWriter) objects(f *flags.Field) openapi3.SchemaRefs {
	name := "config." + f.Type
	if g.schemas[name] == nil {
		g.schemas[name] = inline(g.object(f))
	}
	values := openapi3.SchemaRefs{ref(name)}
	if f.Has(schema.FormSwitch) {
		values = append(values, inline(&openapi3.Schema{Type: types("boolean")}), ref(substitution))
	}
	if f.Has(schema.FormURL) {
		values = append(values, inline(&openapi3.Schema{Type: types("boolean")}))
		for i := range f.Fields {
			if f.Fields[i].Name == "urls" {
				values = append(values, g.values(&f.Fields[i])...)
			}
		}
	}
	if f.Has(schema.FormName) {
		values = append(values, inline(&openapi3.Schema{Type: types("string"), MinLength: 1}))
	}
	if f.Has(schema.FormNumber) {
		values = append(values, inline(&openapi3.Schema{Type: types("string"), Pattern: numbersPattern}),
			inline(&openapi3.Schema{Type: types("number"), Min: f.Fields[0].Least, Max: f.Fields[0].Most}))
	}
	if f.Has(schema.FormDuration) {
		values = append(values, g.values(&f.Fields[0])...)
	}
	if f.Has(schema.FormPoints) {
		for i := range f.Fields { // path and points
			values = append(values, g.values(&f.Fields[i])...)
		}
	}
	if !f.Has(schema.FormList) {
		return values
	}
	for i := range f.Fields {
		if items := &f.Fields[i]; items.Name == "items" {
			values = append(values, inline(&openapi3.Schema{Type: types("array"), Items: g.element(items.Element)}))
		}
	}
	return append(values, inline(&openapi3.Schema{Type: types("string"), MinLength: 1}))
}

// scalars lists the forms of a value without parts.
func (g *schemaWriter) scalars(f *flags.Field) openapi3.SchemaRefs {
	s := &openapi3.Schema{Type: types(string(f.Kind)), Min: f.Least, Max: f.Most}
	if f.Above {
		s.ExclusiveMin = openapi3.ExclusiveBound{Bool: new(true)}
	}
	values := openapi3.SchemaRefs{inline(s)}
	switch f.Kind {
	case flags.KindDuration:
		s.Type = types("number")
		values = append(values, ref(durationSchema))
		if f.Infinite {
			values = append(values, inline(&openapi3.Schema{Type: types("string"), Pattern: infinitePattern, Example: "inf"}))
		}
	case flags.KindTime:
		s.Type, s.Format, s.Pattern = types("string"), "date-time", timePattern
	case flags.KindString:
		s.MinLength, s.MaxLength = uint64(f.MinLength), limit(f.MaxLength)
		if f.Has(schema.FormScalar) {
			values = append(values, inline(&openapi3.Schema{Type: types("number")}), inline(&openapi3.Schema{Type: types("boolean")}))
		}
		if f.Choices == nil {
			return values
		}
		s.MinLength = 0
		for _, c := range slices.Concat(f.Choices, f.Aliases) {
			s.Enum = append(s.Enum, c)
		}
		if f.Numeric {
			values = append(values, inline(&openapi3.Schema{Type: types("number"), Enum: numbersOf(f.Choices)}))
		}
		if f.Has(schema.FormBoolean) {
			values = append(values, inline(&openapi3.Schema{Type: types("boolean")}))
		}
	case flags.KindBoolean:
		if f.Has(schema.FormJSON) {
			values = append(values, inline(&openapi3.Schema{Type: types("array"), MinItems: 1, MaxItems: new(uint64(1)), Items: inline(constant("json"))}))
		}
	case flags.KindInteger:
		s.Format = "int64"
		s.Enum = numbersOf(f.Choices)
	}
	return append(values, ref(substitution))
}

// numbersOf returns the choices that are numbers.
func numbersOf(choices []string) []any {
	var out []any
	for _, c := range choices {
		if n, err := strconv.ParseFloat(c, 64); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func limit(n int) *uint64 {
	if n == 0 {
		return nil
	}
	return new(uint64(n))
}

// short makes the schema of a short form of a member.
func (g *schemaWriter) short(f, short *flags.Field) *openapi3.SchemaRef {
	var values openapi3.SchemaRefs
	switch {
	case short.Name == "records":
		values = openapi3.SchemaRefs{
			inline(&openapi3.Schema{Type: types("boolean"), Enum: []any{false}}),
			inline(&openapi3.Schema{
				Type: types("array"), MinItems: 1, MaxItems: new(uint64(1)),
				Items: inline(&openapi3.Schema{Type: types("string"), Enum: []any{"jsonl"}}),
			}),
		}
	case short.Name == "raw":
		values = openapi3.SchemaRefs{inline(&openapi3.Schema{Type: types("boolean")}), ref(substitution), inline(&openapi3.Schema{Type: types("array"), MaxItems: new(uint64(0)), Items: inline(&openapi3.Schema{})})}
	case short.Kind == flags.KindDistribution, short.Kind == flags.KindNumber:
		values = g.values(short)
	case short.Kind == flags.KindObject:
		values = openapi3.SchemaRefs{ref("config." + short.Type)}
	default:
		values = g.values(f)
	}
	s := g.union(append(values, ref(nothing)))
	s.Description, s.Extensions = short.Text, map[string]any{shortFor: f.Name}
	return inline(s)
}

// documentBodies gives the requests that carry a document its schema.
func documentBodies(doc *openapi3.T) {
	choices := plan.Choices()
	root := flags.Reference(&choices)
	maps.Copy(doc.Components.Schemas, documentSchemas(&root))
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if op.RequestBody == nil || op.RequestBody.Value.Content["application/yaml"] == nil {
				continue
			}
			for _, media := range op.RequestBody.Value.Content {
				media.Schema = ref(documentSchema)
			}
		}
	}
}
