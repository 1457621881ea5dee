// Command gen writes openapi/openapi.json from the annotations of the API's
// handlers. Run it from the root of the repository: go run ./openapi/gen.
//
// swag reads the annotations and gives Swagger 2.0, which is converted to
// OpenAPI 3.0.3. What annotations cannot say is added here: which members are
// nullable and which are always there (from the Go types), ids of operations,
// and the examples in openapi/examples.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), "openapi"); err != nil {
		log.Fatal("gen: ", err)
	}
}

// run writes the document into a folder that also has the examples.
func run(ctx context.Context, folder string) error {
	doc2, err := annotations(ctx)
	if err != nil {
		return err
	}
	doc, err := openapi2conv.ToV3(doc2)
	if err != nil {
		return fmt.Errorf("convert to OpenAPI 3: %w", err)
	}
	if err := complete(doc, filepath.Join(folder, "examples")); err != nil {
		return err
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encode document: %w", err)
	}
	loaded, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return fmt.Errorf("load document: %w", err)
	}
	if err := loaded.Validate(ctx); err != nil {
		return fmt.Errorf("validate document: %w", err)
	}
	return os.WriteFile(filepath.Join(folder, "openapi.json"), append(text, '\n'), 0o644)
}

// annotations runs swag over the handlers.
func annotations(ctx context.Context) (*openapi2.T, error) {
	out, err := os.MkdirTemp("", "openapi")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(out)
	cmd := exec.CommandContext(ctx, "go", "tool", "swag", "init", "--quiet", "--outputTypes", "json", "--output", out,
		"--parseInternal", "--generalInfo", "document.go", "--exclude", "../internal/engine/metric/catalogue",
		"--dir", "../internal/api,../internal/api/feed,../internal/api/prom,../internal/api/report,../internal/api/results,../internal/api/runs,../internal/api/spans,"+
			"../internal/api/wire,../internal/compare,../internal/run,../internal/engine/bench,../internal/results,"+
			"../internal/engine/metric,../internal/engine/metric/agents,../internal/engine/verdict,../internal/engine/telemetry/diagnose,../internal/engine/telemetry/gpu,../internal/engine/telemetry/paths,../internal/engine/telemetry/otel")
	cmd.Dir = "tools"
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run swag: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(out, "swagger.json"))
	if err != nil {
		return nil, fmt.Errorf("read swag's document: %w", err)
	}
	var doc openapi2.T
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("decode swag's document: %w", err)
	}
	return &doc, nil
}
