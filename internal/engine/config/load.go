package config

import (
	"fmt"
	"slices"
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
	l := d.decode()
	rules := documentRules{l}
	rules.check()
	filler{l}.fill()
	rules.checkFilled()
	hideMetadata(l)
	if l.Err() == nil && unread != nil {
		l.makeStudy(unread)
	}
	warnings := l.Warnings()
	if err := l.Err(); err != nil {
		return nil, warnings, err
	}
	l.doc.untrusted, l.doc.roots = l.options.Untrusted, l.options.DataRoots
	return l.doc, warnings, nil
}

// Defaults decodes the draft and fills in the defaults without a check. The draft
// cannot be used again.
func (d *Draft) Defaults() *Document {
	l := d.decode()
	filler{l}.fill()
	return l.doc
}

// Decode reads the draft into a document over the fixed defaults.
func (d *Draft) decode() *loader {
	l := newLoader(&d.Report, d.options, d.FlagFor != nil)
	l.flagFor, l.noSchedule, l.doc.defaulted = d.FlagFor, d.NoSchedule, d.inferred
	schema.Fill(&l.doc.Benchmark, "benchmark")
	l.doc.MultiRun = sweep.NewMultiRun()
	if !d.options.Resolved && template.Render(d.Root, &d.Report) {
		d.Root = schema.Expand(d.Root, shorthandReporter{&d.Report}) // of what the templates made
	}
	l.root = d.Root
	l.decoder.Options.IgnoreUnsupported = isTrue(d.Root.Get("ignoreUnsupported"))
	l.decoder.Document(d.Root, l.doc)
	l.doc.injected, l.doc.confidential = l.decoder.Injected, l.decoder.Confidential
	return l
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

// loader is the state that the steps of loading share: the document, and what
// is known of the text that it came from.
type loader struct {
	*problem.Report
	options LoadOptions
	doc     *Document
	decoder *schema.Decoder
	root    *tree.Node            // the whole document
	given   map[string]*tree.Node // canonical path → value, null values left out
	failed  map[string]bool       // canonical paths whose value could not be read
	flagFor func(path string) string

	noSchedule bool
	timed      bool // the dataset is a trace whose first record has a time
}

func newLoader(r *problem.Report, o LoadOptions, byFlags bool) *loader {
	d := schema.NewDecoder(r, schema.DecodeOptions{
		Untrusted: o.Untrusted, Stored: o.Stored, Flags: byFlags, Lists: o.Choices.list,
		ServerOwned: []string{"benchmark.runtime", "benchmark.logging", "benchmark.client.strict", "benchmark.artifacts.dir", "benchmark.artifacts.overwrite"},
	})
	return &loader{Report: r, options: o, doc: &Document{}, decoder: d, given: d.Given, failed: d.Failed}
}

// at returns the node that gave a canonical path, or nil.
func (l *loader) at(path string) *tree.Node { return l.given[path] }

// has reports whether the document gave a value other than null.
func (l *loader) has(path string) bool { return l.given[path] != nil }

// where returns the place of a path, or of the nearest given parent with the
// missing names added to its pointer.
func (l *loader) where(path string) tree.Place {
	missing := ""
	for {
		if n := l.given[path]; n != nil {
			at := n.Place
			at.Pointer += missing
			return at
		}
		cut := strings.LastIndexByte(path, '.')
		missing = "/" + path[cut+1:] + missing
		path = path[:max(cut, 0)]
	}
}

// require reports a missing value.
func (l *loader) require(path, detail string) {
	at := l.where(path)
	if l.flagFor != nil {
		at = tree.Place{Pointer: CanonicalPointer(path)}
		if name := l.flagFor(path); name != "" {
			at.Flag, detail = name, name+": required"
		}
	}
	l.Fail(at, problem.CodeRequired, "%s", detail)
}

// conflict reports a given value that contradicts others.
func (l *loader) conflict(path, detail string) {
	at := l.where(path)
	l.Fail(at, problem.CodeConflict, "%s: %s", problem.Label(at), detail)
}

// deepest returns the fields that were given by flags below path, so that each
// flag is named, or path itself.
func (l *loader) deepest(path string) []string {
	n := l.at(path)
	if n.Flag == "" || n.Shape != tree.Object {
		return []string{path}
	}
	var all []string
	for _, m := range n.Members {
		at := schema.Join(path, m.Name)
		if m.Value.Shape == tree.Object && l.has(at) {
			all = append(all, l.deepest(at)...)
			continue
		}
		l.given[at] = m.Value
		all = append(all, at)
	}
	return all
}

// infer records a value that was chosen because of others, and why.
func (l *loader) infer(path string, value any, reason string) {
	l.doc.defaulted = append(l.doc.defaulted, Default{Pointer: CanonicalPointer(path), Value: value, Reason: reason})
}

// inferred reports whether the value of a path was chosen and not given.
func (l *loader) inferred(path string) bool {
	at := CanonicalPointer(path)
	return slices.ContainsFunc(l.doc.defaulted, func(d Default) bool { return d.Pointer == at })
}
