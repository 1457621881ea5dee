package metric

import (
	"fmt"
	"io"
)

// File is where a set leaves what it will need only at the end, so that a long run
// grows on disk and not in memory. An [os.File] is one; nobody else may write to it.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// disk appends blocks to a file. The zero disk, and one that could not write, takes
// nothing: blocks stay in memory then.
type disk struct {
	file   File
	end    int64
	failed error // of a write
	lost   error // of a read: blocks are gone
}

// put appends b and returns where it begins; ok = false if it was not taken.
func (d *disk) put(b []byte) (at int64, ok bool) {
	if d == nil || d.file == nil || d.failed != nil {
		return 0, false
	}
	if _, err := d.file.WriteAt(b, d.end); err != nil {
		d.failed = fmt.Errorf("keep values on disk: %w", err)
		return 0, false
	}
	at = d.end
	d.end += int64(len(b))
	return at, true
}

// get reads what put has written at an offset; false if it is gone.
func (d *disk) get(b []byte, at int64) bool {
	if _, err := d.file.ReadAt(b, at); err != nil {
		d.lost = fmt.Errorf("read values back: %w", err)
		return false
	}
	return true
}

// KeepIn makes the set leave full blocks of values in a file. Call it before the
// first record.
func (s *Set) KeepIn(f File) {
	s.disk.file = f
	s.spans.disk = &s.disk
	for i := range s.series {
		s.series[i].exact.disk = &s.disk
	}
}

// DiskError returns why values are not on disk, and take memory in its place, or
// could not be read back, so that percentiles come from sketches, without
// intervals, and there are no curves; nil = neither.
func (s *Set) DiskError() error {
	if s.disk.lost != nil {
		return s.disk.lost
	}
	return s.disk.failed
}
