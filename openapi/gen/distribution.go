package main

import (
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"aiperfd/internal/engine/config/flags"
)

// distribution makes the schema of distributions with the field's limits.
func (g *schemaWriter) distribution(f *flags.Field) *openapi3.SchemaRef {
	least := *f.Least
	name := "config.Distribution"
	if least != 0 {
		name += "From" + strconv.FormatFloat(least, 'f', -1, 64)
	}
	if f.Most != nil {
		name += "To" + strconv.FormatFloat(*f.Most, 'f', -1, 64)
	}
	if g.schemas[name] != nil {
		return ref(name)
	}
	zero := 0.0
	number := func(text string, least, most *float64, above bool) *openapi3.SchemaRef {
		bound := flags.Field{Kind: flags.KindNumber, Text: text, Least: least, Most: most, Above: above}
		return g.optional(&bound)
	}
	members := func() openapi3.Schemas {
		return openapi3.Schemas{
			"mean":   number("Mean.", &least, f.Most, false),
			"stddev": number("Standard deviation of a normal distribution, truncated at 0.", &zero, nil, false),
			"median": number("Median of a log-normal distribution, less than the mean.", &zero, nil, true),
			"min":    number("Smaller draws are raised to this value.", &zero, nil, false),
			"max":    number("Larger draws are lowered to this value.", &least, nil, false),
		}
	}
	weight := g.element(&flags.Field{Kind: flags.KindNumber, Least: &zero, Above: true})
	peak := &openapi3.Schema{Type: types("object"), Properties: members(), AdditionalProperties: closed(), Required: []string{"weight"}}
	peak.Properties["weight"] = weight
	point := &openapi3.Schema{
		Type: types("object"), AdditionalProperties: closed(), Required: []string{"value", "weight"},
		Properties: openapi3.Schemas{"value": g.element(&flags.Field{Kind: flags.KindNumber, Least: &least}), "weight": weight},
	}
	full := &openapi3.Schema{Type: types("object"), Properties: members(), AdditionalProperties: closed()}
	full.Properties["peaks"] = describe(&openapi3.Schema{Type: types("array"), Nullable: true, MinItems: 1, Items: inline(peak)}, "A mixture of distributions.")
	full.Properties["points"] = describe(&openapi3.Schema{Type: types("array"), Nullable: true, MinItems: 1, Items: inline(point)}, "An empirical distribution: its values.")
	value := &openapi3.Schema{Type: types("number"), Min: &least, Max: f.Most}
	g.schemas[name] = describe(&openapi3.Schema{AnyOf: openapi3.SchemaRefs{inline(value), inline(full), ref(substitution)}},
		"A number, or one of mean, peaks and points with what belongs to it.")
	return ref(name)
}
