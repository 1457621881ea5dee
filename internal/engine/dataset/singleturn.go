package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/media"
)

// longDelay is a think time that is probably in the wrong unit.
const longDelay = time.Minute

// manyRecords is how many inline records a document should have at most.
const manyRecords = 500

// openSingleTurn reads a file of independent requests.
func openSingleTurn(ctx context.Context, o Options) (Source, error) {
	name := "inline records"
	if o.File.Path != "" {
		name = o.File.Path
	}
	b := rowBuilder{
		Options: o, byID: map[string]*bench.Conversation{}, ids: map[string]bool{},
		attacher: attacher{open: o.File.Open, files: map[string]bench.Media{}},
	}
	err := b.read(ctx)
	if err == nil {
		err = b.count(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open dataset %s: %w", name, err)
	}
	about := Description{Kind: "single_turn", Path: o.File.Path, Warnings: b.warnings()}
	return newMemory(b.entries, about)
}

// rowBuilder groups records to conversations.
type rowBuilder struct {
	Options
	entries []*bench.Conversation
	byID    map[string]*bench.Conversation // sessions of the dataset
	ids     map[string]bool                // every session id of the file
	rows    int
	longest time.Duration // largest think time before the cap

	attacher attacher
}

func (b *rowBuilder) read(ctx context.Context) error {
	if b.Entries < 0 || b.Entries > maxEntries {
		return fmt.Errorf("entries %d: must be from 0 to %d", b.Entries, maxEntries)
	}
	if err := b.File.Check(); err != nil {
		return err
	}
	decoder := newRowDecoder()
	var wrong file.FileError
	err := each(ctx, b.File, func(where string, record []byte) bool {
		r, problems := decoder.decode(record)
		if len(problems) > 0 {
			return wrong.Add(where, problems...)
		}
		if problems = b.add(r); len(problems) > 0 {
			return wrong.Add(where, problems...)
		}
		return true
	})
	switch {
	case err != nil && len(wrong.Problems) > 0:
		return errors.Join(&wrong, err)
	case err != nil:
		return err
	case len(wrong.Problems) > 0:
		return &wrong
	case b.rows == 0:
		return errors.New("no records")
	}
	b.name()
	return nil
}

// Add appends a record to its conversation, unless that is beyond the requested number
// of entries. It returns the problems of the media of the record.
func (b *rowBuilder) add(r row) (problems []string) {
	index := b.rows
	b.rows++
	c := b.byID[r.session]
	if r.session == "" {
		c = nil
	}
	b.ids[r.session] = true
	if c == nil {
		if b.Entries > 0 && len(b.entries) == b.Entries {
			return nil
		}
		c = &bench.Conversation{ID: r.session, System: b.System, Mode: bench.MessageArrayWithResponses}
		b.entries = append(b.entries, c)
		if r.session != "" {
			b.byID[r.session] = c
		}
	}
	t := bench.Turn{Texts: r.texts, Named: r.named, Role: r.role, MaxTokens: bench.Tokens(r.output), ExtraBody: r.extra}
	if r.delay != nil {
		b.longest = max(b.longest, milliseconds(*r.delay, nil))
		t.Delay = milliseconds(*r.delay, b.DelayCap)
	}
	if t.MaxTokens == 0 && b.File.OSL.Given() {
		t.MaxTokens = bench.Tokens(b.File.OSL.DrawInt(b.Seed.Index(bench.StreamMaxTokens, index)))
	}
	problems = b.attach(&t, &r)
	c.Turns = append(c.Turns, t)
	return problems
}

// attach adds the media of a record to its turn.
func (b *rowBuilder) attach(t *bench.Turn, r *row) (problems []string) {
	for class, to := range [...]*[]bench.Media{media.ClassImage: &t.Images, media.ClassAudio: &t.Audios, media.ClassVideo: &t.Videos} {
		var err error
		if *to, err = b.attacher.attach(media.Class(class), r.media[class].list); err != nil {
			problems = append(problems, r.media[class].member+": "+err.Error())
		}
	}
	return problems
}

// name assigns an unused session id to every conversation without one.
func (b *rowBuilder) name() {
	next := 0
	for _, c := range b.entries {
		for c.ID == "" {
			if id := fmt.Sprintf("session_%06d", next); !b.ids[id] {
				c.ID = id
			}
			next++
		}
	}
}

// count counts the tokens of the texts, if there is a tokenizer.
func (b *rowBuilder) count(ctx context.Context) error {
	if b.Tokenizer == nil {
		return nil
	}
	return parallel(ctx, len(b.entries), func(i int) error {
		for k := range b.entries[i].Turns {
			t := &b.entries[i].Turns[k]
			for _, text := range t.Texts {
				t.InputTokens += bench.Tokens(b.Tokenizer.Count(text))
			}
			for _, named := range t.Named {
				for _, text := range named.Texts {
					t.InputTokens += bench.Tokens(b.Tokenizer.Count(text))
				}
			}
		}
		return nil
	})
}

func (b *rowBuilder) warnings() []string {
	var out []string
	if b.longest > longDelay && b.DelayCap == nil {
		out = append(out, fmt.Sprintf("the longest delay is %v; delays are milliseconds, and no cap is set", b.longest))
	}
	if n := len(b.File.Records); n > manyRecords {
		out = append(out, fmt.Sprintf("%d inline records; a file is read faster and keeps the document small", n))
	}
	return out
}

// each calls do for every record in order with its place, until do returns false.
func each(ctx context.Context, f file.File, do func(where string, record []byte) bool) error {
	r, err := file.Open(ctx, f)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !do(record.Place.String(), record.Data) {
			return nil
		}
	}
}
