// Package openapi holds the OpenAPI 3.0.3 document of the HTTP API. The document
// is made from the annotations of the handlers by `go run ./openapi/gen`.
package openapi

import (
	_ "embed"
	"fmt"

	"github.com/goccy/go-yaml"
)

// JSON is the document. It must not be changed.
//
//go:embed openapi.json
var JSON []byte

// YAML returns the document as YAML. It is converted in each call, which takes some
// hundred milliseconds.
func YAML() ([]byte, error) {
	text, err := yaml.JSONToYAML(JSON)
	if err != nil {
		return nil, fmt.Errorf("convert document to YAML: %w", err)
	}
	return text, nil
}
