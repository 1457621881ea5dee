package collect

import (
	"errors"
	"fmt"
	"os"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
)

// parts is a file that is continued in a next one before it grows beyond a size. A write
// goes to one part as a whole, and a failed one leaves nothing.
type parts struct {
	path string // of the first part
	most int64  // bytes of a part, unless one write is longer; 0 = without limit
	n    int    // of the part that is written, from 1
	file *os.File
	to   *whole
}

// createParts creates the first part.
func createParts(path string, most int64) (*parts, error) {
	p := &parts{path: path, most: most}
	return p, p.next()
}

// next creates the next part.
func (p *parts) next() error {
	file, err := durable.Create(export.PartName(p.path, p.n+1), durable.Shared)
	if err != nil {
		return err
	}
	p.n++
	p.file, p.to = file, &whole{file: file}
	return nil
}

// Write implements io.Writer.
func (p *parts) Write(b []byte) (int, error) {
	if p.most > 0 && p.to.size > 0 && p.to.size+int64(len(b)) > p.most {
		before := p.file
		if err := p.next(); err != nil {
			return 0, err
		}
		if err := errors.Join(before.Sync(), before.Close()); err != nil {
			return 0, fmt.Errorf("close %s: %w", before.Name(), err)
		}
	}
	return p.to.Write(b)
}

// close makes the last part durable.
func (p *parts) close() error { return errors.Join(p.file.Sync(), p.file.Close()) }
