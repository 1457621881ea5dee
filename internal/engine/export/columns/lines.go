package columns

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/regular"
)

// MaxLine bounds a line of a record file, in bytes.
const MaxLine = 256 << 20

// EachLine calls line with every line of the record file of a run, of all its parts,
// without the end of the line; of a Parquet file with the lines that the run would have
// written. A run that has both formats has the same records in both. It returns the name of the file; the error is fs.ErrNotExist if
// there is neither. The slice is valid during the call only; an error of line ends the reading.
func EachLine(dir string, names export.Names, line func([]byte) error) (name string, err error) {
	name = filepath.Join(dir, names.Records)
	f, err := export.OpenParts(regular.Open, name)
	table := errors.Is(err, fs.ErrNotExist)
	if table {
		name = filepath.Join(dir, names.Tables)
		f, err = export.OpenParts(regular.Open, name)
	}
	if err != nil {
		return name, err
	}
	defer f.Close()
	split := &splitter{line: line}
	if table {
		err = WriteLines(split, f, f.Size())
	} else {
		_, err = io.Copy(split, f.Reader())
	}
	if err == nil {
		err = split.end()
	}
	if err != nil {
		return name, fmt.Errorf("%s: %w", name, err)
	}
	return name, nil
}

// splitter hands over the lines of what is written to it.
type splitter struct {
	line func([]byte) error
	n    int // lines handed over
	rest []byte
}

func (s *splitter) Write(p []byte) (int, error) {
	for from := p; ; {
		i := bytes.IndexByte(from, '\n')
		if i < 0 {
			if len(s.rest)+len(from) > MaxLine {
				return 0, fmt.Errorf("line %d is longer than %d bytes", s.n+1, MaxLine)
			}
			s.rest = append(s.rest, from...)
			return len(p), nil
		}
		s.rest = append(s.rest, from[:i]...)
		if err := s.end(); err != nil {
			return 0, err
		}
		from = from[i+1:]
	}
}

// end hands over the line that has begun.
func (s *splitter) end() error {
	if len(s.rest) == 0 {
		return nil
	}
	s.n++
	if err := s.line(s.rest); err != nil {
		return fmt.Errorf("line %d: %w", s.n, err)
	}
	s.rest = s.rest[:0]
	return nil
}
