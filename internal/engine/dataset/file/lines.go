package file

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// lines is a JSONL file: one record per line, blank lines left out.
type lines struct {
	r      *bufio.Reader
	number int    // of the last line
	long   []byte // a line that is longer than the buffer of r
	most   int    // bytes of a line
	sieve  Sieve  // takes the lines; nil = nothing does
}

func (l *lines) about() (string, Unit) { return "jsonl", Lines }

func (l *lines) next() ([]byte, int, error) {
	for {
		l.number++
		read := l.line
		if l.sieve != nil {
			read = l.sifted
		}
		line, err := read()
		if line = bytes.TrimSpace(line); len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			return line, l.number, nil
		}
		if err != nil {
			return nil, l.number, err
		}
	}
}

// texts is a file of texts, one per line, blank lines left out. Its records have one
// member, text.
type texts struct{ lines }

func (t *texts) about() (string, Unit) { return "text", Lines }

func (t *texts) next() ([]byte, int, error) {
	line, number, err := t.lines.next()
	if err != nil {
		return nil, number, err
	}
	if !utf8.Valid(line) {
		return nil, number, &RecordError{Err: errors.New("the line is not valid UTF-8")}
	}
	record, err := json.Marshal(struct {
		Text string `json:"text"`
	}{string(line)})
	return record, number, err
}

// isJSON reports whether a file begins like one of JSON: with an object, or with a list
// that is empty or of objects. A text may begin with a bracket, too.
func isJSON(b *bufio.Reader) bool {
	list := false
	for at := 1; ; at++ {
		next, err := b.Peek(at)
		if err != nil {
			return false
		}
		switch next[at-1] {
		case ' ', '\t', '\r', '\n':
		case '[':
			if list {
				return false
			}
			list = true
		case '{':
			return list || followedByName(b, at)
		default:
			return list && next[at-1] == ']'
		}
	}
}

// followedByName reports whether a brace, the byte before at, begins an object.
func followedByName(b *bufio.Reader, at int) bool {
	for ; ; at++ {
		next, err := b.Peek(at + 1)
		if err != nil {
			return false
		}
		switch next[at] {
		case ' ', '\t', '\r', '\n':
		default:
			return next[at] == '"' || next[at] == '}'
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
		if len(l.long) <= l.most {
			l.long = append(l.long, line...)
		}
		line, err = l.r.ReadSlice('\n')
	}
	if len(l.long)+len(line) > l.most {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, &RecordError{Err: fmt.Errorf("the line is longer than %d MiB", l.most>>20)}
	}
	l.long = append(l.long, line...)
	return l.long, err
}

// sifted gives the next line to the sieve, without the white space around it, and returns its record.
func (l *lines) sifted() ([]byte, error) {
	size := 0
	for {
		part, err := l.r.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if size == 0 {
			part = bytes.TrimLeft(part, " \t\r\n")
		}
		if !full {
			part = bytes.TrimRight(part, " \t\r\n")
		}
		before := size
		switch size += len(part); {
		case size <= l.most:
			l.sieve.Write(part)
		case before <= l.most:
			l.sieve.Drop()
		}
		switch {
		case full:
		case size > l.most && (err == nil || errors.Is(err, io.EOF)):
			return nil, &RecordError{Err: fmt.Errorf("the line is longer than %d MiB", l.most>>20)}
		default:
			return l.sieve.Record(), err
		}
	}
}
