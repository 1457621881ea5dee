// This file renders the files of a document that a run writes into its folder, and
// writes them.

package config

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/template"
	"aiperfd/internal/engine/config/tree"
)

// File is a file that a run writes into its folder before it starts.
type File struct {
	Path    string   `json:"path"`             // below the folder of the run
	Format  string   `json:"format,omitempty"` // default: text for a string, else json
	Content AnyValue `json:"content"`          // strings are templates
}

// AnyValue is a value as it was written. The zero value is null.
type AnyValue struct{ node *tree.Node }

var _ schema.Decodable = (*AnyValue)(nil)

// Decode keeps the value.
func (a *AnyValue) Decode(_ schema.Target, n *tree.Node) bool {
	a.node = n
	return true
}

// Node returns the value with its place; nil = null.
func (a AnyValue) Node() *tree.Node { return a.node }

// MarshalJSON writes the value.
func (a AnyValue) MarshalJSON() ([]byte, error) {
	if a.node == nil {
		return []byte("null"), nil
	}
	return a.node.JSON(), nil
}

// UnmarshalJSON reads a value.
func (a *AnyValue) UnmarshalJSON(b []byte) (err error) {
	a.node, _, err = tree.ParseJSON(b)
	return err
}

// UserFileRun is what templates know of a run beside the variables. It has precedence.
type UserFileRun struct {
	Epoch       int64  // seconds since 1970 at its start
	JobName     string // name of its folder
	Model       string // the first
	EndpointURL string // the first, without secrets
	ArtifactDir string
}

// Render evaluates the templates of the content and returns the text of the file. Problems
// are reported at the places of the templates in the document.
func (f File) Render(variables *tree.Node, run UserFileRun, r *problem.Report) []byte {
	names := variables.Clone()
	for _, m := range []struct{ name, value string }{
		{"epoch", strconv.FormatInt(run.Epoch, 10)}, {"job_name", run.JobName}, {"namespace", ""}, {"model", run.Model},
		{"endpoint_url", run.EndpointURL}, {"artifact_dir", run.ArtifactDir},
	} {
		names.Set(m.name, tree.TextNode(m.value))
	}
	content := f.Content.node.Clone()
	asText := content.Shape == tree.Text
	template.Render(tree.ObjectNode(
		tree.Member{Name: "variables", Value: names}, tree.Member{Name: "content", Value: content},
	), r)
	switch {
	case asText:
		return []byte(content.Scalar)
	case f.Format != "yaml":
		return append(content.JSON(), '\n')
	}
	text, err := yaml.JSONToYAML(content.JSON())
	if err != nil {
		r.Fail(f.Content.node.Place, problem.CodeWrongType, "%s: cannot be written as YAML",
			problem.Label(f.Content.node.Place))
	}
	return text
}

// checkUserPath returns what a path must be; empty = it is good. The names of results, which
// begin with the prefix, are taken.
func checkUserPath(name string, prefix *string) string {
	parts := strings.Split(name, "/")
	switch {
	case strings.HasPrefix(name, "/"), strings.Contains(name, `\`), slices.Contains(parts, ".."), slices.Contains(parts, "."), slices.Contains(parts, ""):
		return "must be a relative path with / between its names, without . and .."
	case len(name) > 255, strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "must have at most 255 bytes and no control characters"
	}
	taken := []string{"profile_export", "inputs.json", "outputs.json", "result.json", "phase", "plots", "run_config.json", "server_metrics_export", "gpu_telemetry_export", "server_spans", "logs"}
	if prefix != nil && *prefix != "" {
		taken = append(taken, *prefix)
	}
	first := strings.ToLower(parts[0])
	if slices.ContainsFunc(taken, func(t string) bool { return strings.HasPrefix(first, strings.ToLower(t)) }) {
		return fmt.Sprintf("must not be a name of the results, such as %s", parts[0])
	}
	return ""
}

// writeUserFile writes a file below a directory, and the directories that it needs. A link in the
// path cannot lead elsewhere.
func writeUserFile(dir, name, text string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if parent := path.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	return root.WriteFile(name, []byte(text), 0o644)
}
