package timeline

import (
	"cmp"
	"fmt"
	"io"
)

// File stores blocks that are read only at the end of a run, so that memory does
// not grow with its length. [os.File] implements it. Nothing else may write to it.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// Disk appends blocks to a file. The zero Disk, and one that could not write, takes
// nothing; blocks stay in memory then. Not safe for concurrent use.
type Disk struct {
	file   File
	end    int64
	failed error // of a write
	lost   error // of a read: blocks are gone
}

// Use makes the disk store blocks in a file from here on. It is called once at
// most.
func (d *Disk) Use(f File) { d.file = f }

// Lost reports whether a block could not be read back.
func (d *Disk) Lost() bool { return d.lost != nil }

// Err returns the first error: of a read, or else of a write.
func (d *Disk) Err() error { return cmp.Or(d.lost, d.failed) }

// Put appends b and returns its offset; false if the disk did not take it. d may be
// nil.
func (d *Disk) Put(b []byte) (at int64, ok bool) {
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

// Get reads a block that Put has written at an offset; false if it cannot be read.
func (d *Disk) Get(b []byte, at int64) bool {
	if _, err := d.file.ReadAt(b, at); err != nil {
		d.lost = fmt.Errorf("read values back: %w", err)
		return false
	}
	return true
}
