package results

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"aiperfd/internal/engine/export"
)

// Parts reads a file of records that may consist of several parts, as if it were one. Only
// one part is open at a time. It is not safe for concurrent use.
type Parts struct {
	open func(name string) (*os.File, error)
	name string
	ends []int64 // of the parts, in bytes from the start of the first one
	part int     // of file, from 0
	file *os.File
}

// openParts opens the parts of a file. open opens a part; its error for one that does not
// exist is fs.ErrNotExist. The last part may grow meanwhile; what is appended is not seen.
func openParts(open func(name string) (*os.File, error), name string) (*Parts, error) {
	p := &Parts{open: open, name: name, part: -1}
	file, err := open(name)
	for err == nil {
		// The size of a part is final once there is the next one.
		next, missing := open(export.PartName(name, len(p.ends)+2))
		info, statErr := file.Stat()
		closeErr := file.Close()
		if statErr == nil && closeErr == nil && (missing == nil || errors.Is(missing, fs.ErrNotExist)) {
			p.ends = append(p.ends, p.Size()+info.Size())
		} else {
			err = errors.Join(statErr, closeErr, missing)
		}
		if missing != nil {
			break
		}
		if file = next; err != nil {
			_ = file.Close() // the error is that of the part before
		}
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Size returns the bytes of all parts.
func (p *Parts) Size() int64 {
	if len(p.ends) == 0 {
		return 0
	}
	return p.ends[len(p.ends)-1]
}

// Count returns the number of parts.
func (p *Parts) Count() int { return len(p.ends) }

// Reader returns a reader of everything, from the start.
func (p *Parts) Reader() io.Reader { return io.NewSectionReader(p, 0, p.Size()) }

// ReadAt implements io.ReaderAt.
func (p *Parts) ReadAt(b []byte, at int64) (int, error) {
	read := 0
	for i, end := range p.ends {
		if at >= end || read == len(b) {
			continue
		}
		start := int64(0)
		if i > 0 {
			start = p.ends[i-1]
		}
		if err := p.use(i); err != nil {
			return read, err
		}
		n, err := p.file.ReadAt(b[read:min(int64(len(b)), int64(read)+end-at)], at-start)
		read, at = read+n, at+int64(n)
		if err != nil && !errors.Is(err, io.EOF) || at < end && read < len(b) {
			return read, errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
	if read < len(b) {
		return read, io.EOF
	}
	return read, nil
}

// use opens a part.
func (p *Parts) use(part int) error {
	if p.part == part {
		return nil
	}
	err := p.Close()
	if err == nil {
		p.file, err = p.open(export.PartName(p.name, part+1))
	}
	if err == nil {
		p.part = part
	}
	return err
}

// Close closes the part that is open.
func (p *Parts) Close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file, p.part = nil, -1
	return err
}
