// Package source defines datasets as streams of conversations, and makes such streams
// of the records of files.
package source

import (
	"context"
	"io"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/tokenizer"
)

// Source is an opened dataset: its conversations in their order, as many times as they
// are needed. Only one goroutine may use it.
type Source interface {
	// Next returns the next entry of the pass; io.EOF = the pass has ended. The other
	// errors are mistakes of the user, for example a [*file.Error].
	Next(ctx context.Context) (Entry, error)
	// Rewind starts the next pass. It returns [ErrOnce] if the input can be read only
	// once.
	Rewind(ctx context.Context) error
	// Describe describes what was read so far.
	Describe() Description
	// Close releases the input.
	Close() error
}

// Indexed is a source that returns its entries in any order.
type Indexed interface {
	Source
	Len() int       // ≥ 1
	At(i int) Entry // 0 ≤ i < Len
}

// Entry is one conversation of a source that is not yet complete.
type Entry struct {
	Number int // in the order of the source, from 0; the same in every pass
	Size   int // bytes of its records; 0 = unknown
	// Make completes the conversation: it generates texts, reads media and counts
	// tokens. It is safe for concurrent use and returns the same content every time.
	Make func() (*bench.Conversation, error)
}

// Description describes what was read of a source so far.
type Description struct {
	Path     string   // the file it was read from, or the id of a dataset of the hub; empty = none
	Revision string   // commit of a dataset of the hub
	Entries  int      // of a complete pass; 0 = unknown
	LeftOut  string   // records that are not used, as a sentence; empty = none
	Inexact  int      // generated texts that missed their length; their real length is recorded
	Warnings []string // for the report
}

// Options are what all datasets have in common.
type Options struct {
	// Entries is the number of conversations: to make, 1 to [MaxEntries] (synthetic),
	// or to use, the first ones, 0 = all (files).
	Entries   int
	Seed      bench.Seed
	Tokenizer tokenizer.Tokenizer // files: nil = do not count input tokens
	System    string              // literal system message, put before any other; empty = none
	DelayCap  *time.Duration      // upper bound of every think time; nil = none
	File      file.File           // datasets that are read from files
	BlockSize int                 // tokens per hash id; 0 = the format has no hash ids
	OSL       random.Dist         // output cap of records without one; not given = none is sent
	// Open opens an image, audio clip or video that a record names; nil = files may
	// not be read. Only regular files may be opened.
	Open  func(name string) (io.ReadCloser, error)
	Timed bool // conversations are needed in the order of their times
	// From and Until bound the times at which conversations with times begin, both
	// included; nil = no bound.
	From, Until *time.Duration
	// Filters are the values that members of a record must have for it to be used, in any case; nil = none.
	Filters map[string]string
	// StripImages sends an image that the conversation has sent before by its key alone.
	StripImages bool
	// Sample is the share of the conversations that are used, chosen by the seed and their ids; nil = all.
	Sample  *float64
	SkipBad int  // records with problems that are skipped before reading fails
	Whole   bool // all records are checked before the first is used, if the file can be read again
	Systems bool // the endpoint type takes system messages
	// Path returns an error unless the path of a recorded request is that of the
	// endpoint type; nil = every path is.
	Path func(path string) error
	// Batch is the number of texts, images, audio clips and videos per request of
	// datasets that draw them; nil = those of the records.
	Batch   map[string]int
	Columns Columns // of tables whose columns the user names
	Part    string  // of [Format.Parts]; empty = all records
}

// Columns names columns of a table; of several names, the first one that a row has is
// used. None = those that are usual.
type Columns struct {
	Prompt       []string
	System       []string
	OutputTokens []string
	Image        []string
}

// within reports whether a conversation begins within the bounds.
func (o *Options) within(p *pending) bool {
	t := &p.conversation.Turns[0]
	return !t.Timed || (o.From == nil || t.At >= *o.From) && (o.Until == nil || t.At <= *o.Until)
}

// MaxEntries bounds the entries of a dataset that are numbered in memory.
const MaxEntries = 10_000_000

// Milliseconds converts a think time to a duration of at most limit (nil = the largest
// duration).
func Milliseconds(ms float64, limit *time.Duration) time.Duration {
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
