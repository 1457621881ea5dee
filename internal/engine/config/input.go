package config

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

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

// input is a document that has been decoded, with what is known of the text that gave its values.
// The rules over several fields report what contradicts each other, the defaults fill in what is
// missing.
type input struct {
	*schema.Decoder
	options LoadOptions
	doc     *Document
	flagFor func(path string) string // see [Draft]

	noSchedule bool
	timed      bool // the dataset is a trace whose first record has a time
}

// CanonicalPointer is the pointer of a canonical path.
func CanonicalPointer(path string) string { return "#/" + strings.ReplaceAll(path, ".", "/") }

// endpointPath is the canonical path of the endpoint section.
const endpointPath = "benchmark.endpoint"

// datasetPath returns the canonical path of a dataset.
func datasetPath(i int) string { return fmt.Sprintf("benchmark.datasets.%d", i) }

// PhasePath returns the canonical path of a phase.
func PhasePath(i int) string { return fmt.Sprintf("benchmark.phases.%d", i) }

// require reports a missing value.
func (in *input) require(path, detail string) {
	at := in.Where(path)
	if in.flagFor != nil {
		at = tree.Place{Pointer: CanonicalPointer(path)}
		if name := in.flagFor(path); name != "" {
			at.Flag, detail = name, name+": required"
		}
	}
	in.Fail(at, problem.CodeRequired, "%s", detail)
}

// noEffect warns of a given value that means nothing here. The detail follows the name of the field.
func (in *input) noEffect(path, detail string) {
	at := in.Where(path)
	in.Warn(at, problem.CodeNoEffect, "%s%s", problem.Label(at), detail)
}

// deepest returns the fields that were given by flags below path, so that each
// flag is named, or path itself.
func (in *input) deepest(path string) []string {
	n := in.At(path)
	if n.Flag == "" || n.Shape != tree.Object {
		return []string{path}
	}
	var all []string
	for _, m := range n.Members {
		at := schema.Join(path, m.Name)
		if m.Value.Shape == tree.Object && in.Has(at) {
			all = append(all, in.deepest(at)...)
			continue
		}
		in.Given[at] = m.Value
		all = append(all, at)
	}
	return all
}

// shown returns the path of a value, or that of its first part that an option gave, so
// that problems name the option.
func (in *input) shown(path string) string { return in.deepest(path)[0] }

// infer records a value that was chosen because of others, and why.
func (in *input) infer(path string, value any, reason string) {
	in.doc.defaulted = append(in.doc.defaulted, Default{Pointer: CanonicalPointer(path), Value: value, Reason: reason})
}

// inferred reports whether the value of a path was chosen and not given.
func (in *input) inferred(path string) bool {
	at := CanonicalPointer(path)
	return slices.ContainsFunc(in.doc.defaulted, func(d Default) bool { return d.Pointer == at })
}

// forget drops a value that was chosen.
func (in *input) forget(path string) {
	at := CanonicalPointer(path)
	in.doc.defaulted = slices.DeleteFunc(in.doc.defaulted, func(d Default) bool { return d.Pointer == at })
	delete(in.Given, path)
}
