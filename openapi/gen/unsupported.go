package main

import (
	"encoding/json"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"

	"aiperfd/internal/engine/config/schema"
)

// off is what says nothing in the place of a feature.
func off() *openapi3.SchemaRef {
	return describe(&openapi3.Schema{AnyOf: openapi3.SchemaRefs{
		ref(nothing),
		inline(&openapi3.Schema{Type: types("boolean"), Enum: []any{false}}),
		inline(&openapi3.Schema{Type: types("string"), MaxLength: new(uint64(0))}),
		inline(&openapi3.Schema{Type: types("array"), Items: inline(&openapi3.Schema{}), MaxItems: new(uint64(0))}),
		inline(&openapi3.Schema{
			Type: types("object"), AdditionalProperties: closed(),
			Properties: openapi3.Schemas{"enabled": inline(&openapi3.Schema{Type: types("boolean"), Enum: []any{false}})},
		}),
	}}, "A value that switches a feature off.")
}

// unsupportedMember makes the schema of a member of AIPerf's document whose feature
// is not supported.
func unsupportedMember(l schema.Lack) *openapi3.SchemaRef {
	s := &openapi3.Schema{Extensions: map[string]any{unsupported: true}}
	if l.Inert {
		s.Description, s.Nullable = "AIPerf's; ignored with a warning.", true
		return inline(s)
	}
	s.Description = fmt.Sprintf("Not supported yet: %s. Only a value that switches it off is accepted.", l.What)
	s.AnyOf = offValues(json.RawMessage(l.Off))
	if l.Alt != "" {
		s.AnyOf = append(s.AnyOf, inline(constant(decode(json.RawMessage(l.Alt)))))
	}
	return inline(s)
}

func decode(text json.RawMessage) any {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		panic("decode a value of the table of unsupported features: " + err.Error()) // a test reads every row
	}
	return v
}

// offValues lists what is accepted for AIPerf's value off.
func offValues(value json.RawMessage) openapi3.SchemaRefs {
	values := openapi3.SchemaRefs{ref(switchedOff)}
	switch v := decode(value).(type) {
	case nil:
		return values
	case map[string]any:
		s := &openapi3.Schema{Type: types("object"), Properties: openapi3.Schemas{}, AdditionalProperties: closed()}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			panic("decode an object of the table of unsupported features: " + err.Error())
		}
		_, collects := v["urls"]
		for name, member := range members {
			property := inline(&openapi3.Schema{AnyOf: offValues(member)})
			if name == "enabled" && collects {
				property = inline(&openapi3.Schema{AnyOf: openapi3.SchemaRefs{inline(&openapi3.Schema{Type: types("boolean"), Nullable: true}), ref(substitution)}})
			}
			s.Properties[name], s.Properties[snakeCase(name)] = property, property
		}
		return append(values, inline(s))
	case []any:
		s := &openapi3.Schema{Type: types("array"), MinItems: uint64(len(v)), MaxItems: new(uint64(len(v))), Items: inline(&openapi3.Schema{Type: types("string"), Enum: v})}
		if len(v) == 0 {
			return values
		}
		return append(values, inline(s))
	default:
		return append(values, inline(constant(v)))
	}
}

// constant makes the schema of one value.
func constant(v any) *openapi3.Schema {
	s := &openapi3.Schema{Enum: []any{v}}
	switch v.(type) {
	case bool:
		s.Type = types("boolean")
	case float64:
		s.Type = types("number")
	case string:
		s.Type = types("string")
	}
	return s
}
