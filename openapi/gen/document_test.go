package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/plan"
	"aiperfd/openapi"
)

// TestDocumentCommitted: the schemas of documents in openapi.json are those that
// the fields make.
func TestDocumentCommitted(t *testing.T) {
	var committed struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(openapi.JSON, &committed); err != nil {
		t.Fatal(err)
	}
	choices := plan.Choices()
	root := flags.Reference(&choices)
	schemas := documentSchemas(&root)
	if len(schemas) < 20 {
		t.Fatalf("only %d schemas", len(schemas))
	}
	for name, schema := range schemas {
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, committed.Components.Schemas[name]); diff != "" {
			t.Errorf("%s is not up to date, run make generate (-want +committed):\n%.2000s", name, diff)
		}
	}
}
