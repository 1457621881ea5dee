package config

import (
	"fmt"
	"strings"

	"github.com/go-playground/validator/v10"
)

// Format is the notation of a document.
type Format string

// The notations.
const (
	Auto Format = "" // JSON if it begins with a brace and is JSON, else YAML
	JSON Format = "json"
	YAML Format = "yaml"
)

// defaultMaxBytes bounds a document for which no bound is given: enough for
// thousands of inline records.
const defaultMaxBytes = 64 << 20

// LoadOptions say how far a document is trusted and what surrounds it. The zero
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
	// AllowDownload lets untrusted documents have tokenizers downloaded.
	AllowDownload bool
	// Stored is for documents that were stored redacted, to read back what a run
	// measured: placeholders stand where secrets were, so it cannot run again.
	Stored bool
	// LookupEnv gives environment variables; nil = none is set.
	LookupEnv func(name string) (string, bool)
	// LookupSecret gives secrets for ${secret:NAME}; nil = not supported.
	LookupSecret func(name string) (string, bool)
	// MetricTags are the metrics that an objective may name; nil = any name is
	// taken and must be checked later.
	MetricTags []string
}

// Default is a value that the loader chose because of other values.
type Default struct {
	Pointer string `json:"pointer"` // canonical: #/benchmark/phases/0/concurrency
	Value   any    `json:"value"`
	Reason  string `json:"reason"`
}

// String names the field, its value as JSON and the reason.
func (d Default) String() string {
	return fmt.Sprintf("%s: %s (%s)", strings.TrimPrefix(d.Pointer, "#/"), encode(d.Value), d.Reason)
}

// Load reads a document, fills in the defaults and checks everything. A document
// with problems gives *Invalid with all of them, text that is no document gives
// *Malformed. Warnings come with and without an error. The document does not
// keep data. Load reads no file but that of the API key, and asks the file system
// whether the others that the document names exist.
func Load(data []byte, o LoadOptions) (*Document, []Problem, error) {
	l := newLoader(o)
	root, err := l.parse(data)
	if err != nil {
		return nil, nil, err
	}
	return l.finish(root)
}

// loader is the state of reading one document.
type loader struct {
	report
	options  LoadOptions
	validate *validator.Validate
	doc      *Document
	given    map[string]*node // canonical path → value, null values left out
	failed   map[string]bool  // canonical paths whose value could not be read
	flags    bool             // the document was built from flags alone
}

func newLoader(o LoadOptions) *loader {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return &loader{
		options: o, validate: validator.New(), doc: &Document{},
		given: make(map[string]*node), failed: make(map[string]bool),
	}
}

// parse reads text into a normalised tree.
func (l *loader) parse(data []byte) (*node, error) {
	if len(data) > l.options.MaxBytes {
		return nil, &Malformed{Detail: fmt.Sprintf("exceeds %d bytes", l.options.MaxBytes)}
	}
	root, err := parse(data, l.options.Format, &l.report)
	if err != nil {
		return nil, err
	}
	if root.shape != object {
		return nil, &Malformed{Line: root.line, Column: root.col, Detail: "a document must be an object, not " + root.shape.String()}
	}
	substitute(root, l.options, &l.report)
	return l.normalise(root), nil
}

// finish turns a normalised tree into a checked document.
func (l *loader) finish(root *node) (*Document, []Problem, error) {
	prefill(&l.doc.Benchmark)
	l.document(root)
	l.check()
	l.applyDefaults()
	l.checkFilled()
	warnings := inOrder(l.warnings)
	if len(l.problems) > 0 {
		return nil, warnings, &Invalid{Problems: inOrder(l.problems)}
	}
	l.doc.untrusted, l.doc.roots = l.options.Untrusted, l.options.DataRoots
	return l.doc, warnings, nil
}

// at returns the node that gave a canonical path, or nil.
func (l *loader) at(path string) *node { return l.given[path] }

// has reports whether the document gave a value other than null.
func (l *loader) has(path string) bool { return l.given[path] != nil }

// where returns the place of a path, or of the nearest given parent with the
// missing names added to its pointer.
func (l *loader) where(path string) place {
	missing := ""
	for {
		if n := l.given[path]; n != nil {
			at := n.place
			at.ptr += missing
			return at
		}
		cut := strings.LastIndexByte(path, '.')
		missing = "/" + path[cut+1:] + missing
		path = path[:max(cut, 0)]
	}
}
