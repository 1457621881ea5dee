// Package dataset provides the conversations that a run sends, generated or read from
// files, and the order in which sessions use them. A dataset is a stream: a [Reader]
// completes conversations shortly before they are needed, in bounded memory.
//
// Every draw is seeded by entry, so the content depends only on the options, not on the
// number of processors.
package dataset

import (
	"context"
	"slices"

	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/dataset/format"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/synthetic"
	"aiperfd/internal/engine/dataset/trace"
)

// Options configure [Kind.Open]. Every kind reads the common part and its own.
type Options struct {
	source.Options
	Synthetic synthetic.Spec // kind synthetic
	Trace     trace.Spec     // traces
	Agentic   agentic.Spec   // sessions of agents
	Public    PublicRequest  // kind public
}

// Kind is one row of the table of datasets.
type Kind struct {
	Name  string // synthetic, or the name of a file format
	File  bool   // reads [source.Options.File]
	Trace bool   // reads [Options.Trace]; generates prompts
	// Agentic means that it reads [Options.Agentic], and generates prompts.
	Agentic bool
	Format  *source.Format // of files
	// Open opens the dataset. The errors are mistakes of the user: bad options, a file
	// that cannot be read, or a [*file.Error].
	Open func(context.Context, Options) (source.Source, error)
}

// Reads reports whether the dataset has a name, or is what a part of it is read as.
func (k *Kind) Reads(name string) bool {
	return k.Name == name || k.File && slices.Contains(k.Format.Parts, name)
}

// Kinds lists the datasets in the order of the documentation.
func Kinds() []Kind {
	kinds := []Kind{{
		Name: "synthetic",
		Open: func(ctx context.Context, o Options) (source.Source, error) {
			return synthetic.Open(ctx, o.Options, o.Synthetic)
		},
	}}
	for _, f := range format.Formats() {
		kinds = append(kinds, Kind{
			Name: f.Name, File: true, Format: &f,
			Open: func(ctx context.Context, o Options) (source.Source, error) {
				return source.OpenFile(ctx, &f, o.Options)
			},
		})
	}
	for _, f := range trace.Formats() {
		kinds = append(kinds, Kind{
			Name: f.Name, File: true, Trace: true, Format: &f,
			Open: func(ctx context.Context, o Options) (source.Source, error) {
				return trace.Open(ctx, f.Name, o.Options, o.Trace)
			},
		})
	}
	sessions := agentic.Format()
	kinds = append(kinds, Kind{
		Name: sessions.Name, File: true, Agentic: true, Format: &sessions,
		Open: func(ctx context.Context, o Options) (source.Source, error) {
			return agentic.Open(ctx, o.Options, o.Agentic)
		},
	})
	return append(kinds, Kind{
		Name: "public",
		Open: func(ctx context.Context, o Options) (source.Source, error) {
			return openPublic(ctx, o.Options, o.Public, o.Agentic)
		},
	})
}

// Check reads all records of a dataset of a file and returns their problems, in bounded
// memory. What records name, like images, is looked at, but not read as a whole.
func Check(ctx context.Context, kind Kind, o Options) (source.Description, error) {
	o.Whole = true
	s, err := kind.Open(ctx, o)
	if err != nil {
		return source.Description{}, err
	}
	return s.Describe(), s.Close()
}

// Formats lists the file formats in the order of the documentation.
func Formats() (out []source.Format) {
	for _, k := range Kinds() {
		if k.File {
			out = append(out, *k.Format)
		}
	}
	return out
}
