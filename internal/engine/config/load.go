package config

import (
	"fmt"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/template"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plainjson"
)

// Format is the notation of a document.
type Format = tree.Format

// The notations.
const (
	Auto = tree.Auto // JSON if it begins with a brace and is JSON, else YAML
	JSON = tree.JSON
	YAML = tree.YAML
)

// Malformed is the error for text that is not a document at all.
type Malformed = tree.Malformed

// LoadOptions are the bounds and the surroundings of a document. The zero
// value is for a user's own file, without an environment.
type LoadOptions struct {
	Format   Format
	MaxBytes int // of the text; 0 = 64 MiB
	// Untrusted is for documents from the network: ${NAME} only for names in
	// AllowEnv, files only under DataRoots, no code and no file contents from
	// the document, and the server's own fields are ignored with a warning.
	Untrusted bool
	AllowEnv  []string
	DataRoots []string
	// AllowDownload permits untrusted documents to download tokenizers.
	AllowDownload bool
	// Stored is for documents that were stored redacted, to read back what a run
	// measured: placeholders replace the secrets, so it cannot run again.
	Stored bool
	// Resolved is for documents whose references and templates were replaced before
	// they were stored.
	Resolved bool
	// LookupEnv gives environment variables; nil = none is set.
	LookupEnv func(name string) (string, bool)
	// LookupSecret gives secrets for ${secret:NAME}; nil = not supported.
	LookupSecret func(name string) (string, bool)
	// Reach restricts the servers of the document.
	Reach ReachOptions
	// Choices are the closed lists of values.
	Choices Choices
	// Done ends the checks of the variations of a study early, with a problem: closed
	// when nobody waits for them; nil = never.
	Done <-chan struct{}
}

// Default is a value that the loader chose because of other values.
type Default struct {
	Pointer string `json:"pointer"` // canonical: #/benchmark/phases/0/concurrency
	Value   any    `json:"value"`
	Reason  string `json:"reason"`
}

// String names the field, its value as JSON and the reason.
func (d Default) String() string {
	value, err := plainjson.Marshal(d.Value)
	if err != nil {
		panic("encode default: " + err.Error()) // every type of a document encodes
	}
	return fmt.Sprintf("%s: %s (%s)", strings.TrimPrefix(d.Pointer, "#/"), value, d.Reason)
}

// Load reads a document, fills in the defaults and checks everything. A document
// with problems gives *Invalid with all of them, text that is no document gives
// *Malformed. Warnings come with and without an error. The document does not
// keep data. Load reads the files of the API key, of a template and of the
// first record of a dataset, and checks that the other files exist.
func Load(data []byte, o LoadOptions) (*Document, []problem.Problem, error) {
	d, err := Read(data, o)
	if err != nil {
		return nil, nil, err
	}
	return d.Load()
}

// Draft is a document that has been read and not been decoded yet, so that flags
// can be laid over it, and values can vary. Its templates are not evaluated.
type Draft struct {
	problem.Report
	Root     *tree.Node // in the long form, see [schema.Expand]
	options  LoadOptions
	inferred []Default // values that were chosen while the draft was made
	// NoSchedule means that timestamps of a trace do not make a phase a replay of them.
	NoSchedule bool
	// FlagFor returns the flag that gives a missing value, or "". It is nil unless
	// the draft was made from flags alone.
	FlagFor func(path string) string
}

// NewDraft returns a draft with an empty benchmark section.
func NewDraft(o LoadOptions) *Draft {
	if o.MaxBytes <= 0 {
		o.MaxBytes = tree.MaxBytes
	}
	return &Draft{options: o, Root: tree.ObjectNode(tree.Member{Name: "benchmark", Value: tree.ObjectNode()})}
}

// Read reads text, expands its variables and brings it into the long form. The
// error is *Malformed.
func Read(data []byte, o LoadOptions) (*Draft, error) {
	d := NewDraft(o)
	if len(data) > d.options.MaxBytes {
		return nil, &Malformed{Detail: fmt.Sprintf("exceeds %d bytes", d.options.MaxBytes)}
	}
	values := tree.MaxOwnValues
	if o.Untrusted && !o.Resolved { // a stored document is in its long form
		values = tree.MaxValues
	}
	root, duplicates, err := tree.Parse(data, o.Format, values)
	d.Duplicates(duplicates)
	if err != nil {
		return nil, err
	}
	if root.Shape != tree.Object {
		return nil, &Malformed{Line: root.Line, Column: root.Column, Detail: "a document must be an object, not " + root.Shape.String()}
	}
	if !o.Resolved {
		template.ExpandVariables(root, template.VariableOptions{
			Untrusted: o.Untrusted, AllowEnv: o.AllowEnv, LookupEnv: o.LookupEnv, LookupSecret: o.LookupSecret,
		}, &d.Report)
	}
	d.Root = schema.Expand(root, shorthandReporter{&d.Report})
	return d, nil
}

// shorthandReporter adds the problems of short forms to a report.
type shorthandReporter struct{ *problem.Report }

// Conflict implements [schema.Reporter].
func (r shorthandReporter) Conflict(at tree.Place, format string, args ...any) {
	r.Fail(at, problem.CodeConflict, format, args...)
}

// Deprecated implements [schema.Reporter].
func (r shorthandReporter) Deprecated(at tree.Place, format string, args ...any) {
	r.Warn(at, problem.CodeDeprecated, format, args...)
}

// Load evaluates the templates, decodes and checks the draft and fills in the
// defaults, like [Load]. The draft cannot be used again.
func (d *Draft) Load() (*Document, []problem.Problem, error) {
	var unread *Draft
	if d.Root.Get("sweep") != nil || d.Root.Get("multiRun") != nil {
		unread = d.clone()
	}
	in := d.decode()
	checkDocument(in)
	fillDocument(in)
	checkFilled(in)
	hideMetadata(in)
	if in.Err() == nil && unread != nil {
		makeStudy(in, unread)
	}
	warnings := in.Warnings()
	if err := in.Err(); err != nil {
		return nil, warnings, err
	}
	return in.doc, warnings, nil
}

// Defaults decodes the draft and fills in the defaults without a check. The draft
// cannot be used again.
func (d *Draft) Defaults() *Document {
	in := d.decode()
	fillDocument(in)
	return in.doc
}

// Decode reads the draft into a document over the fixed defaults.
func (d *Draft) decode() *input {
	in := &input{
		Decoder: newDecoder(&d.Report, d.options, d.FlagFor != nil), options: d.options,
		flagFor: d.FlagFor, noSchedule: d.NoSchedule, doc: &Document{defaulted: d.inferred},
	}
	in.doc.untrusted, in.doc.roots = d.options.Untrusted, d.options.DataRoots
	schema.Fill(&in.doc.Benchmark, "benchmark")
	in.doc.MultiRun = sweep.NewMultiRun()
	if !d.options.Resolved && template.Render(d.Root, &d.Report) {
		d.Root = schema.Expand(d.Root, shorthandReporter{&d.Report}) // of what the templates made
	}
	in.Options.IgnoreUnsupported = isTrue(d.Root.Get("ignoreUnsupported"))
	in.Document(d.Root, in.doc)
	in.doc.injected, in.doc.confidential = in.Injected, in.Confidential
	return in
}

// newDecoder returns the decoder of a document, or of a part of it.
func newDecoder(r *problem.Report, o LoadOptions, byFlags bool) *schema.Decoder {
	return schema.NewDecoder(r, schema.DecodeOptions{
		Untrusted: o.Untrusted, Stored: o.Stored, Flags: byFlags, Lists: o.Choices.list,
		ServerOwned: []string{
			"benchmark.runtime", "benchmark.logging", "benchmark.client.strict",
			"benchmark.artifacts.dir", "benchmark.artifacts.overwrite",
		},
	})
}

// IgnoreUnsupported leaves out the features that [Document.IgnoreUnsupported] means, whatever
// the document says.
func (d *Draft) IgnoreUnsupported() {
	d.Root.Set("ignoreUnsupported", &tree.Node{Shape: tree.Boolean, Scalar: "true"})
}

// isTrue reports whether a node is there and says true.
func isTrue(n *tree.Node) bool { return n != nil && n.Shape == tree.Boolean && n.Scalar == "true" }

// Infer records a default that was set in the draft itself.
func (d *Draft) Infer(path string, value any, reason string) {
	d.inferred = append(d.inferred, Default{Pointer: CanonicalPointer(path), Value: value, Reason: reason})
}
