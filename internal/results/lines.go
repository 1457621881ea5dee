package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"aiperfd/internal/engine/export"
)

// maxLine bounds a line of a record file, in bytes.
const maxLine = 256 << 20

// eachLine calls line with every line of the record file, of all its parts, without the end of
// the line; of a Parquet file with the lines that the run would have written. What follows the
// last end of a line is torn, as a crash leaves it, and is no line. The slice is valid during the
// call only; an error of line ends the reading.
func (r *Results) eachLine(line func([]byte) error) error {
	err := r.eachWritten(line, func(in io.Reader, _ int64) io.Reader { return in })
	if !errors.Is(err, fs.ErrNotExist) || r.Names.Tables == "" {
		return err
	}
	table, err := openParts(r.open, r.Names.Tables)
	if err != nil {
		return err
	}
	defer table.Close()
	return export.WriteLines(&splitter{line: line}, table, table.Size())
}

// eachWritten is eachLine of the lines that the run wrote itself. watch may replace the reader of
// the file, which has a number of bytes.
func (r *Results) eachWritten(line func([]byte) error, watch func(io.Reader, int64) io.Reader) error {
	if r.Names.Records == "" {
		return fs.ErrNotExist
	}
	file, err := openParts(r.open, r.Names.Records)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.CopyBuffer(&splitter{line: line}, watch(file.Reader(), file.Size()), make([]byte, 256<<10))
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	return nil
}

// splitter hands over the lines of what is written to it.
type splitter struct {
	line func([]byte) error
	n    int // lines handed over
	rest []byte
}

// Write implements io.Writer.
func (s *splitter) Write(p []byte) (int, error) {
	for from := p; ; {
		i := bytes.IndexByte(from, '\n')
		if i < 0 {
			if len(s.rest)+len(from) > maxLine {
				return 0, fmt.Errorf("line %d is longer than %d bytes", s.n+1, maxLine)
			}
			s.rest = append(s.rest, from...)
			return len(p), nil
		}
		line := from[:i]
		if len(s.rest) > 0 {
			s.rest = append(s.rest, line...)
			line = s.rest
		}
		s.n++
		if err := s.line(line); err != nil {
			return 0, err
		}
		s.rest = s.rest[:0]
		from = from[i+1:]
	}
}
