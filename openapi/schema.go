package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"aiperfd/internal/engine/plainjson"
)

// The addresses of JSON Schema.
const (
	dialect    = "https://json-schema.org/draft/2020-12/schema"
	components = "#/components/schemas/"
	sections   = "config." // begins the names of the schemas of documents
)

// DocumentSchema returns the JSON Schema (draft 2020-12) of benchmark documents, made from
// the schemas of [JSON].
func DocumentSchema() ([]byte, error) {
	var document struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(JSON, &document); err != nil {
		return nil, fmt.Errorf("read the API document: %w", err)
	}
	definitions := map[string]any{}
	for name, schema := range document.Components.Schemas {
		if short, ok := strings.CutPrefix(name, sections); ok {
			definitions[short] = modern(schema)
		}
	}
	root, _ := definitions["Document"].(map[string]any)
	out := map[string]any{"$schema": dialect, "title": "Benchmark document of aiperfd", "$defs": definitions}
	maps.Copy(out, root)
	delete(definitions, "Document")
	text, err := plainjson.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return text, nil
}

// modern translates a schema of OpenAPI 3.0 to JSON Schema.
func modern(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = modern(v[i])
		}
	case map[string]any:
		for key, value := range v {
			switch key {
			case "enum", "default", "example": // values, not schemas
			case "properties":
				members, _ := value.(map[string]any)
				for name, member := range members {
					members[name] = modern(member)
				}
			default:
				v[key] = modern(value)
			}
		}
		keywords(v)
	}
	return v
}

// keywords translates the keywords of one schema that differ.
func keywords(s map[string]any) {
	if at, ok := s["$ref"].(string); ok {
		s["$ref"] = "#/$defs/" + strings.TrimPrefix(at, components+sections)
	}
	if s["exclusiveMinimum"] == true {
		s["exclusiveMinimum"] = s["minimum"]
		delete(s, "minimum")
	}
	if example, ok := s["example"]; ok {
		s["examples"] = []any{example}
		delete(s, "example")
	}
	if s["format"] == "int64" {
		delete(s, "format")
	}
	if s["nullable"] == true {
		if kind, ok := s["type"].(string); ok {
			s["type"] = []any{kind, "null"}
		}
	}
	delete(s, "nullable")
}
