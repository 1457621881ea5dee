package openapi

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// YAML returns the document as YAML. It is converted in each call, which takes some
// hundred milliseconds.
func YAML() ([]byte, error) {
	text, err := yaml.JSONToYAML(JSON)
	if err != nil {
		return nil, fmt.Errorf("convert document to YAML: %w", err)
	}
	return text, nil
}
