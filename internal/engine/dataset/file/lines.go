package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lines is a JSONL file: one record per line, blank lines left out.
type lines struct {
	r      *bufio.Reader
	number int    // of the last line
	long   []byte // a line that is longer than the buffer of r
}

func (l *lines) about() (string, Unit) { return "jsonl", Lines }

func (l *lines) next() ([]byte, int, error) {
	for {
		l.number++
		line, err := l.line()
		if line = bytes.TrimSpace(line); len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			return line, l.number, nil
		}
		if err != nil {
			return nil, l.number, err
		}
	}
}

// line reads the next line. The last one may have no end; then the error is io.EOF.
func (l *lines) line() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	l.long = l.long[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(l.long) <= MaxRecordBytes {
			l.long = append(l.long, line...)
		}
		line, err = l.r.ReadSlice('\n')
	}
	if len(l.long)+len(line) > MaxRecordBytes {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, &RecordError{Err: fmt.Errorf("the line is longer than %d MiB", MaxRecordBytes>>20)}
	}
	l.long = append(l.long, line...)
	return l.long, err
}
