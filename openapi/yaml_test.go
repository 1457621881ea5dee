package openapi_test

import (
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"aiperfd/openapi"
)

// The two forms of the document have the same content.
func TestYAML(t *testing.T) {
	text, err := openapi.YAML()
	if err != nil {
		t.Fatal(err)
	}
	back, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(openapi.JSON, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(back, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-JSON +YAML):\n%.3000s", diff)
	}
}
