// Package dataset provides the conversations that a run sends, generated or read from
// files, and the order in which sessions use them. Everything is built before load
// starts; an opened dataset is immutable and identified by the hash of its content.
//
// Building uses all processors, but every draw is seeded by entry, so the result
// depends only on the options. The worker goroutines are started and waited for in
// parallel.go.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/tokenizer"
)

// Source is an opened dataset. It is immutable and safe for concurrent use.
type Source interface {
	Len() int                     // number of conversations, ≥ 1
	At(i int) *bench.Conversation // 0 ≤ i < Len; shared, never modified
	Hash() string                 // SHA-256 of all content that is sent, in hexadecimal
	Describe() Description        // a copy
}

// Description describes an opened dataset.
type Description struct {
	Kind        string       // name of its kind
	Path        string       // the file it was read from; empty = none
	Entries     int          // conversations
	Turns       int          // turns of all conversations
	InputTokens bench.Tokens // texts of all turns together; 0 = not counted
	Inexact     int          // generated texts that missed their length; their real length is recorded
	Warnings    []string     // warnings for the report
}

// Options configure [Open]. Every kind reads the common part and its own.
type Options struct {
	// Entries is the number of conversations: to make, 1 to 10,000,000
	// (synthetic), or to keep, the first ones, 0 = all (files).
	Entries   int
	Seed      bench.Seed
	Tokenizer tokenizer.Tokenizer // synthetic: required; files: nil = do not count input tokens
	System    string              // literal system message, put before any other; empty = none
	DelayCap  *time.Duration      // upper bound of every think time; nil = none
	Synthetic Synthetic           // kind synthetic
	File      file.File           // kinds that read files
}

// Kind is one row of the table of datasets.
type Kind struct {
	Name   string  // synthetic, or the name of a file format
	File   bool    // reads [Options.File]
	Doc    string  // a sentence or two for the documentation
	Fields []Field // members of a record or options, for the documentation
	// Open builds the dataset. It blocks until the dataset is complete, and returns
	// early with the context's error. The other errors are mistakes of the user: bad
	// options, a file that cannot be read, or a [*FileError].
	Open func(context.Context, Options) (Source, error)
}

// Field documents one member of a record, or one option.
type Field struct {
	Name string
	Type string
	Doc  string
}

// Kinds lists the datasets in the order of the documentation.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "synthetic",
			Doc: "Generated conversations. Each text has exactly the drawn number of tokens, as counted by the " +
				"tokenizer of the run.",
			Fields: syntheticFields(), Open: openSynthetic,
		},
		{
			Name: "single_turn", File: true,
			Doc: "One request per line (JSONL; gzip and zstd are recognised). Records with the same `session_id` are " +
				"sent one after the other, each as a complete request without history.",
			Fields: singleTurnDocs(), Open: openSingleTurn,
		},
		{
			Name: "raw_payload", File: true,
			Doc: "One request body per line (JSONL of objects), sent byte for byte: `model`, `stream` and extra inputs are " +
				"not added. It works with every endpoint type, which then determines how responses are read; the type " +
				"`raw` requires it. The objects have no members of their own.",
			Open: openRawPayload,
		},
	}
}

// Open opens a dataset of the named kind. The error names the kinds that exist.
func Open(ctx context.Context, kind string, o Options) (Source, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == kind {
			return k.Open(ctx, o)
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("unknown dataset kind %q; accepted: %s", kind, strings.Join(names, ", "))
}

// memory is a dataset in memory.
type memory struct {
	entries []*bench.Conversation
	hash    string
	about   Description
}

var _ Source = (*memory)(nil)

// newMemory returns a dataset of the conversations and completes the description.
func newMemory(entries []*bench.Conversation, about Description) (*memory, error) {
	if len(entries) == 0 {
		return nil, errors.New("the dataset has no entries")
	}
	about.Entries = len(entries)
	for _, c := range entries {
		about.Turns += len(c.Turns)
		for i := range c.Turns {
			about.InputTokens += c.Turns[i].InputTokens
		}
	}
	return &memory{entries: entries, hash: contentHash(entries), about: about}, nil
}

func (m *memory) Len() int                     { return len(m.entries) }
func (m *memory) At(i int) *bench.Conversation { return m.entries[i] }
func (m *memory) Hash() string                 { return m.hash }

func (m *memory) Describe() Description {
	d := m.about
	d.Warnings = slices.Clone(d.Warnings)
	return d
}

// milliseconds converts a think time to a duration of at most limit (nil = the largest
// duration).
func milliseconds(ms float64, limit *time.Duration) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	d := most
	if ms < float64(most/time.Millisecond) {
		d = time.Duration(ms * float64(time.Millisecond))
	}
	if limit != nil {
		d = min(d, *limit)
	}
	return d
}
