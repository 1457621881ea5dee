package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
)

// The bounds of what is read ahead of a conversation to find its other records, and, if
// the conversations have times, those that are earlier.
const (
	windowBytes = 8 << 20 // of records
	windowTimed = 1024    // conversations
)

// maxChecked bounds the files whose records are all checked before the first is used.
// They stay in memory.
const maxChecked = 4 << 20

// manyRecords is how many inline records a document should have at most.
const manyRecords = 500

// longDelay is a think time that is probably in the wrong unit.
const longDelay = time.Minute

// Format is one row of the table of file formats.
type Format struct {
	Name string
	// Parts are names of parts of a dataset that has this format; [Options.Part] is the one that
	// is wanted. nil = there are none.
	Parts []string
	// Folder, Key and Numbers are those of [file.File].
	Folder  bool
	Key     string
	Numbers []string
	// MaxRecord is that of [file.File].
	MaxRecord int
	// BlockSize is the number of tokens that a hash id stands for, unless the document
	// has another one; 0 = records have no hash ids.
	BlockSize int
	// Trace means that the records are requests that were recorded, which are replayed at
	// their times unless something else is requested. Timed reports whether a record has
	// a time.
	Trace bool
	Timed func(h *Head) bool
	// Clock means that the times are those of a clock: they are counted from the first.
	Clock bool
	// Hoist means that a first turn with the role system is the system message of its
	// conversation, if the endpoint type takes one.
	Hoist bool
	// Recorded means that delays are pauses of a recording, which may be long: none is a mistaken unit.
	Recorded bool
	// Counts means that New needs a tokenizer.
	Counts bool
	// Detect reports whether a file that begins like this is of the format, and Needs
	// says what it looks for, for messages. nil = the format must be named.
	Detect func(h *Head) bool
	Needs  string
	// Columns means that the user may name the members of the records.
	Columns bool
	// Sampling is the default order; empty = sequential.
	Sampling string
	// Draws means that conversations are made of drawn records, so that the option
	// entries is their number.
	Draws bool
	// Open opens a dataset that is not a stream of records; nil = New decodes them.
	Open func(ctx context.Context, o Options) (Source, error)
	// Records opens the records; nil = [file.Open] does.
	Records func(ctx context.Context, f file.File) (Records, error)
	// New returns the decoder of the records of one pass, which are open.
	New func(o *Options) Decoder
	// Note adds to the description what the rows have found when they were finished; nil =
	// nothing.
	Note func(*Description)
}

// Records are the records of a pass, as [file.Reader] returns them.
type Records interface {
	Next() (file.Record, error)
	Close() error
}

var _ Records = (*file.Reader)(nil)

// Decoder decodes a record. The row does not refer to the record; without turns and a
// reason to skip it, it is not counted. An error is the problem of the record, or all of
// them ([Problems]).
type Decoder func(record file.Record) (Row, error)

// Row is a conversation, or a part of one, as a record holds it.
type Row struct {
	// Skip is why the record is not used, though it has no problem; empty = it is. Then
	// the other fields have no meaning.
	Skip string
	// Session is the id of the conversation; rows with the same one are parts of it;
	// empty = a conversation of its own.
	Session string
	// Sampled is the id by which the row is, or is not, in a sample of the sessions; empty = Session.
	Sampled string
	// Conversation is what the record says of the conversation. Its turns are appended to
	// those of earlier rows.
	Conversation bench.Conversation
	// Finish completes the turns when they are needed: it reads media and generates
	// texts. nil = they are complete. It is safe for concurrent use.
	Finish func(turns []bench.Turn) error
}

// OpenFile returns the conversations of a file. A small file is checked and kept as a
// whole; of others the records are decoded when they are needed.
func OpenFile(ctx context.Context, f *Format, o Options) (Source, error) {
	s, err := open(ctx, f, o)
	if err != nil {
		return nil, fmt.Errorf("open dataset %s: %w", o.File.Name(), err)
	}
	return s, nil
}

func open(ctx context.Context, f *Format, o Options) (Source, error) {
	if o.Entries < 0 || o.Entries > MaxEntries {
		return nil, fmt.Errorf("entries %d: must be from 0 to %d", o.Entries, MaxEntries)
	}
	if err := o.File.Check(); err != nil {
		return nil, err
	}
	if f.Open != nil {
		return f.Open(ctx, o)
	}
	s := newStream(f, o)
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if o.Whole && !s.once {
		if err := s.check(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, s.Rewind(ctx)
	}
	if size, ok := o.File.Size(); len(o.File.Records) > 0 || ok && size <= maxChecked {
		return s.keep(ctx)
	}
	return s, nil
}

func newStream(f *Format, o Options) *stream {
	s := &stream{format: f, o: o}
	s.o.File.Folder, s.o.File.Key, s.o.File.Numbers = f.Folder, f.Key, f.Numbers
	s.o.File.MaxRecord = f.MaxRecord
	s.once = !o.File.Rewindable()
	return s
}

// stream reads conversations from a file, pass after pass.
type stream struct {
	format *Format
	o      Options
	once   bool // the file cannot be read again

	reader  Records // of this pass
	decode  Decoder
	ended   bool // the file
	window  window
	used    sessions // ids of conversations that have been returned
	rows    int
	entries int            // returned
	records int            // that were read
	skipped int            // records with problems
	unused  int            // records that are not used
	unnamed int            // counts the names of conversations without an id
	zero    *time.Duration // what the clock showed at the first conversation

	about findings
}

// findings are what the first pass has found.
type findings struct {
	complete bool // the pass has ended
	entries  int
	outside  bool           // there are conversations outside of the times that are used
	skipped  int            // records with problems
	example  string         // the problem of the first of them
	left     int            // records that are not used
	unused   map[string]int // of them, by reason
	longest  time.Duration  // largest think time before the cap
}

// start opens the file for a pass.
func (s *stream) start(ctx context.Context) (err error) {
	if s.format.Records != nil {
		s.reader, err = s.format.Records(ctx, s.o.File)
	} else {
		s.reader, err = file.Open(ctx, s.o.File)
	}
	if err != nil {
		s.reader = nil // not a nil reader in an interface
		return err
	}
	s.decode = s.format.New(&s.o)
	s.ended, s.window, s.used, s.zero = false, newWindow(s.o.Timed), newSessions(), nil
	s.rows, s.entries, s.skipped, s.unused, s.unnamed, s.records = 0, 0, 0, 0, 0, 0
	return nil
}

// Close closes the file.
func (s *stream) Close() error {
	if s.reader == nil {
		return nil
	}
	r := s.reader
	s.reader = nil
	return r.Close()
}

// Rewind opens the file again.
func (s *stream) Rewind(ctx context.Context) error {
	if s.once {
		return ErrOnce
	}
	return errors.Join(s.Close(), s.start(ctx))
}

// Next returns the next conversation as soon as its records are known.
func (s *stream) Next(context.Context) (Entry, error) {
	for {
		if s.o.Entries > 0 && s.entries == s.o.Entries {
			return s.end()
		}
		if p := s.window.take(s.ended); p != nil {
			if s.format.Clock {
				s.count(&p.conversation)
			}
			if !s.o.within(p) {
				s.about.outside = true
				continue
			}
			return s.entry(p), nil
		}
		if s.ended {
			return s.end()
		}
		problems, err := s.read()
		if err != nil {
			return Entry{}, err
		}
		if len(problems.Problems) > 0 {
			return Entry{}, &problems
		}
	}
}

// end ends the pass.
func (s *stream) end() (Entry, error) {
	if s.entries == 0 {
		return Entry{}, s.nothing()
	}
	s.about.complete, s.about.entries = true, s.entries
	return Entry{}, io.EOF
}

// nothing is the error of a pass without a conversation.
func (s *stream) nothing() error {
	switch {
	case s.about.outside:
		return errors.New("no conversation begins within the start and end offsets")
	case s.skipped > 0:
		return fmt.Errorf("no records without problems; the first: %s", s.about.example)
	case s.unused > 0:
		return fmt.Errorf("none of %d records is used: %s", s.unused, s.about.reasons())
	}
	return errors.New("no records")
}

// read adds one record to the window and returns its problems.
func (s *stream) read() (wrong file.Error, err error) {
	record, err := s.reader.Next()
	s.records++
	if errors.Is(err, io.EOF) {
		s.ended = true
		return wrong, nil
	}
	var row Row
	var problem error
	if broken, ok := errors.AsType[*file.RecordError](err); ok {
		record.Place, problem = broken.Place, broken.Err
	} else if err != nil {
		return wrong, err
	} else if row.Skip, problem = s.o.filtered(record.Data); problem == nil && row.Skip == "" {
		if row, problem = s.decode(record); problem == nil {
			problem = s.misplaced(&row)
		}
	}
	switch {
	case problem != nil:
		if all := problemsOf(problem); !s.skip(record.Place, all) {
			wrong.Add(record.Place.String(), all...)
		}
	case row.Skip != "":
		s.leave(row.Skip)
	case !s.o.Sampled(cmp.Or(row.Sampled, row.Session, row.Conversation.ID), s.records):
		s.leave("not in the sample of sessions")
	case len(row.Conversation.Turns) > 0:
		s.add(&row, len(record.Data))
	}
	return wrong, nil
}

// Sampled reports whether the record with a number in the input is one of those that are used: records of a
// conversation are used, or not, together. One without an id is a conversation of its own, known by its number.
func (o *Options) Sampled(id string, number int) bool {
	if o.Sample == nil {
		return true
	}
	id = cmp.Or(id, strconv.Itoa(number))
	return o.Seed.Child("sample").Rand(id).Float64() < *o.Sample
}

// leave counts a record that is not used.
func (s *stream) leave(reason string) {
	if s.about.unused == nil {
		s.about.unused = map[string]int{}
	}
	if s.unused++; s.unused > s.about.left {
		s.about.left = s.unused
		s.about.unused[reason]++
	}
}

// misplaced returns the problem of a row that does not fit to earlier rows of its
// conversation.
func (s *stream) misplaced(row *Row) error {
	id := row.Session
	if id == "" {
		return nil
	}
	earlier := s.window.sessions[id]
	switch {
	case earlier == nil && s.used.has(id):
		return fmt.Errorf("session_id %q: its other records are more than %d MiB before this one; "+
			"in a file of this size, the records of a session must be close together", id, windowBytes>>20)
	case earlier != nil && earlier.conversation.Mode != row.Conversation.Mode:
		return fmt.Errorf("session_id %q: its earlier records have the context mode %v, this one has %v",
			id, earlier.conversation.Mode, row.Conversation.Mode)
	}
	return nil
}

// skip reports whether a record with problems may be skipped.
func (s *stream) skip(at file.Place, problems []string) bool {
	if s.skipped == s.o.SkipBad {
		return false
	}
	s.skipped++
	if s.about.skipped = max(s.about.skipped, s.skipped); s.about.example == "" {
		s.about.example = at.String() + ": " + problems[0]
	}
	return true
}

// add adds a row to its conversation.
func (s *stream) add(r *Row, size int) {
	for i := range r.Conversation.Turns {
		t := &r.Conversation.Turns[i]
		s.about.longest = max(s.about.longest, t.Delay)
		if s.o.DelayCap != nil {
			t.Delay = min(t.Delay, *s.o.DelayCap)
		}
		if t.MaxTokens == 0 && t.Payload == nil && s.o.OSL.Given() {
			t.MaxTokens = bench.Tokens(s.o.OSL.DrawInt(s.o.Seed.Index(bench.StreamMaxTokens, s.rows)))
		}
		s.rows++
	}
	s.window.add(r, size)
}

// entry returns a conversation whose records are all known.
func (s *stream) entry(p *pending) Entry {
	c := &p.conversation
	for c.ID == "" {
		if id := fmt.Sprintf("session_%06d", s.unnamed); s.window.sessions[id] == nil && !s.used.has(id) {
			c.ID = id
		}
		s.unnamed++
	}
	s.used.add(c.ID)
	if s.o.System != "" {
		c.System = join(s.o.System, c.System)
	}
	s.entries++
	hoist := s.format.Hoist && s.o.Systems
	return Entry{Number: s.entries - 1, Size: p.bytes, Make: func() (*bench.Conversation, error) { return p.finish(s.o.Tokenizer, hoist) }}
}

// count counts the times of a conversation from that of the first. One that is earlier
// than the first, because it is outside of the window, has no time left.
func (s *stream) count(c *bench.Conversation) {
	if s.zero == nil {
		s.zero = new(c.Turns[0].At)
	}
	for i := range c.Turns {
		c.Turns[i].At = max(0, c.Turns[i].At-*s.zero)
	}
}

// join puts an empty line between two texts.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// keep reads the whole file and returns its conversations. A packed file may turn out to
// be too large for that.
func (s *stream) keep(ctx context.Context) (Source, error) {
	var wrong file.Error
	var err error
	for more := true; more && !s.ended && err == nil && ctx.Err() == nil; {
		if s.window.bytes > 4*maxChecked {
			s.about = findings{}
			return s, s.Rewind(ctx)
		}
		var problems file.Error
		problems, err = s.read()
		for _, p := range problems.Problems {
			more = wrong.Add(p.Where, p.Message)
		}
	}
	if err = errors.Join(wrong.OrNil(), err, ctx.Err(), s.Close()); err != nil {
		return nil, err
	}
	var entries []Entry
	for {
		entry, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return NewIndexed(len(entries), func(i int) Entry { return entries[i] }, s.Describe), nil
}

// check reads a whole pass and returns all its problems as a [*file.Error], in
// bounded memory.
func (s *stream) check(ctx context.Context) error {
	var wrong file.Error
	for more := true; more && !s.ended; {
		problems, err := s.read()
		if err = errors.Join(err, ctx.Err()); err != nil {
			return errors.Join(wrong.OrNil(), err)
		}
		for _, p := range problems.Problems {
			more = wrong.Add(p.Where, p.Message)
		}
		for p := s.window.take(s.ended); p != nil; p = s.window.take(s.ended) {
			s.entry(p)
		}
	}
	if err := wrong.OrNil(); err != nil {
		return err
	}
	if _, err := s.end(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Describe describes what the first pass has found so far.
func (s *stream) Describe() Description {
	d := Description{Path: s.o.File.Path}
	if s.about.complete {
		d.Entries = s.about.entries
	}
	if n := s.about.skipped; n > 0 {
		d.LeftOut = skippedWarning(n, s.about.example)
		d.Warnings = append(d.Warnings, d.LeftOut)
	}
	if len(s.about.unused) > 0 {
		d.LeftOut = "records that are not used: " + s.about.reasons()
		d.Warnings = append(d.Warnings, d.LeftOut)
	}
	if s.about.longest > longDelay && s.o.DelayCap == nil && !s.format.Recorded {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the longest delay is %v; delays are milliseconds, and no cap is set", s.about.longest))
	}
	if s.format.Note != nil {
		s.format.Note(&d)
	}
	if n := len(s.o.File.Records); n > manyRecords {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d inline records; a file is read faster and keeps the document small", n))
	}
	return d
}

// reasons lists why records are not used, with their numbers.
func (f *findings) reasons() string {
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(f.unused)) {
		all = append(all, fmt.Sprintf("%d %s", f.unused[reason], reason))
	}
	return strings.Join(all, ", ")
}
