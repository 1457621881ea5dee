package results

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"aiperfd/internal/engine/bench"
)

// Merged are the records of the parts of a run that several load generators performed.
type Merged struct {
	// Clock has the epoch of the run, which all parts share, once a record has been read; before, the zero Unix time.
	Clock bench.Clock
	// LeftOut is that of [Measured], of all parts.
	LeftOut int

	parts []*Results
	to    io.Writer
}

// Merge returns the records of parts of a run. Their lines are written to a file as they are read.
func Merge(to io.Writer, parts ...*Results) *Merged {
	return &Merged{Clock: bench.ClockAt(epochUnknown()), parts: parts, to: to}
}

// pulledRecords are the records of a part that are still to be merged.
type pulledRecords struct {
	measured *Measured
	next     func() (writtenRecord, error, bool)
	stop     func()
	head     writtenRecord
	more     bool
}

// advance reads the next record.
func (p *pulledRecords) advance() (err error) {
	p.head, err, p.more = p.next()
	return err
}

// Records yields the records in the order of their ends, as one load generator would have written them. It ends after
// the first error, which is that of ctx if that ends before.
func (m *Merged) Records(ctx context.Context) iter.Seq2[*bench.Record, error] {
	return func(yield func(*bench.Record, error) bool) {
		out := bufio.NewWriterSize(m.to, 256<<10)
		err := m.merge(ctx, out, func(r *bench.Record) bool { return yield(r, nil) })
		if errors.Is(err, errStopped) {
			return
		}
		if err = errors.Join(err, out.Flush()); err != nil {
			yield(nil, err)
		}
	}
}

// merge writes the lines of all parts and hands over their records.
func (m *Merged) merge(ctx context.Context, out *bufio.Writer, take func(*bench.Record) bool) error {
	var open []*pulledRecords
	defer func() {
		for _, p := range open {
			p.stop()
		}
	}()
	for _, r := range m.parts {
		p := &pulledRecords{measured: r.Measured(func(int64, int64) {})}
		p.next, p.stop = iter.Pull2(p.measured.written(ctx))
		open = append(open, p)
		if err := p.advance(); err != nil {
			return fmt.Errorf("%s: %w", r.Dir, err)
		}
	}
	for {
		first := earliest(open)
		if first == nil {
			break
		}
		if epoch := first.measured.Clock.Wall(0); m.Clock.Wall(0).Equal(epochUnknown()) {
			m.Clock = first.measured.Clock
		} else if !m.Clock.Wall(0).Equal(epoch) {
			return fmt.Errorf("merge records: the epochs %v and %v are of different runs", m.Clock.Wall(0), epoch)
		}
		_, _ = out.Write(first.head.line) // Flush returns the error
		_ = out.WriteByte('\n')
		if !take(first.head.record) {
			return errStopped
		}
		if err := first.advance(); err != nil {
			return err
		}
	}
	for _, p := range open {
		m.LeftOut += p.measured.LeftOut
	}
	return nil
}

// earliest returns the part whose next record ended first; nil = none has more records.
func earliest(parts []*pulledRecords) (first *pulledRecords) {
	for _, p := range parts {
		if p.more && (first == nil || p.head.record.Stamps.End < first.head.record.Stamps.End) {
			first = p
		}
	}
	return first
}
