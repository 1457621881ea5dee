package file

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// newText begins to read a text file that is not CSV: a JSON document whose records are
// in an array, one object that is written on several lines, or JSONL.
func newText(b *bufio.Reader, f *File) (container, error) {
	key, most := f.Key, cmp.Or(f.MaxRecord, MaxRecordBytes)
	d := &document{r: b, line: 1, most: most, sieve: f.Sieve}
	first, err := d.peek()
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, err
	case first == '[':
		d.array = true
		d.skip(1)
		return d, nil
	case first == '{' && key != "":
		if at, ok := findArray(b, key); ok {
			d.array, d.within = true, true
			d.skip(at)
			return d, nil
		}
	}
	if begins(b, "{\n") || begins(b, "{\r\n") {
		return d, nil
	}
	return &lines{r: b, number: d.line - 1, most: most, sieve: f.Sieve}, nil
}

// findArray looks for a member of the object that begins here and is an array, within
// the buffer. It returns how many bytes are before the first element.
func findArray(b *bufio.Reader, key string) (at int, ok bool) {
	d := json.NewDecoder(&window{b: b})
	if _, err := d.Token(); err != nil {
		return 0, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return 0, false
		}
		if name == key {
			token, err := d.Token()
			return int(d.InputOffset()), err == nil && token == json.Delim('[')
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return 0, false
		}
	}
	return 0, false
}

// window reads the buffer of a reader without consuming it, no further than needed.
type window struct {
	b  *bufio.Reader
	at int
}

func (w *window) Read(p []byte) (int, error) {
	if _, err := w.b.Peek(w.at + 1); err != nil {
		return 0, err
	}
	ready, err := w.b.Peek(w.b.Buffered())
	n := copy(p, ready[w.at:])
	w.at += n
	return n, err
}

// document is a JSON document with records in an array, or JSON values one after the
// other. It finds where a value ends and does not check what is in it.
type document struct {
	r      *bufio.Reader
	array  bool // the records are elements of an array
	within bool // the array is a member of an object
	count  int  // records so far
	line   int  // of the next byte
	value  []byte
	size   int // bytes of the value
	most   int // bytes of a value
	sieve  Sieve
}

func (d *document) about() (string, Unit) { return "json", Members }

func (d *document) next() ([]byte, int, error) {
	d.count++
	if err := d.read(); err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("line %d: %w", d.line, err)
		}
		return nil, d.count, err
	}
	if d.sieve != nil {
		return d.sieve.Record(), d.count, nil
	}
	return d.value, d.count, nil
}

// read reads the next value.
func (d *document) read() error {
	c, err := d.peek()
	if !d.array {
		if err == nil && c != '{' {
			err = fmt.Errorf("unexpected %q; an object was expected", c)
		}
		if err != nil {
			return err
		}
		return d.scan(0)
	}
	if err == nil && c == ']' {
		return d.end()
	}
	if err == nil && d.count > 1 {
		if c != ',' {
			return fmt.Errorf("unexpected %q between the elements of the array; a comma or ] was expected", c)
		}
		d.skip(1)
		c, err = d.peek()
	}
	switch {
	case err != nil:
		return cut(err)
	case c == ',' || c == ']' || c == '}' || c == ':':
		return fmt.Errorf("unexpected %q; an element of the array was expected", c)
	}
	return d.scan(0)
}

// end reads what follows the array: the rest of the object around it, and nothing else.
func (d *document) end() error {
	d.skip(1)
	if d.within {
		if err := d.scan(1); err != nil {
			return err
		}
	}
	c, err := d.peek()
	if err == nil {
		return fmt.Errorf("unexpected %q after the end of the document", c)
	}
	return err
}

// scan reads up to the end of a value and keeps it in d.value. The depth is the number
// of arrays and objects that are open; with more than 0 what is read is not kept.
func (d *document) scan(depth int) error {
	d.value, d.size = d.value[:0], 0
	keep := depth == 0
	inText, escaped := false, false
	for {
		if _, err := d.r.Peek(1); err != nil {
			if depth == 0 && !inText && d.size > 0 && errors.Is(err, io.EOF) {
				return nil // a number, or true
			}
			return cut(err)
		}
		chunk, _ := d.r.Peek(d.r.Buffered()) // buffered
		n, done := len(chunk), false
	bytes:
		for i, c := range chunk {
			switch {
			case escaped:
				escaped = false
			case inText && c == '\\':
				escaped = true
			case c == '"':
				inText = !inText
				done = !inText && depth == 0
			case inText:
			case c == '{' || c == '[':
				depth++
			case (c == '}' || c == ']') && depth > 0:
				depth--
				done = depth == 0
			case depth == 0 && bytes.IndexByte([]byte(",]} \t\r\n"), c) >= 0:
				n, done = i, true
				break bytes
			}
			if done {
				n = i + 1
				break
			}
		}
		switch {
		case keep && d.sieve != nil:
			d.sieve.Write(chunk[:n])
		case keep:
			d.value = append(d.value, chunk[:n]...)
		}
		if keep {
			d.size += n
		}
		d.skip(n)
		switch {
		case d.size > d.most:
			if d.sieve != nil {
				d.sieve.Drop()
			}
			return fmt.Errorf("the record is longer than %d MiB", d.most>>20)
		case done:
			return nil
		}
	}
}

// peek returns the next byte that is not white space.
func (d *document) peek() (byte, error) {
	for {
		next, err := d.r.Peek(1)
		if err != nil {
			return 0, err
		}
		switch next[0] {
		case ' ', '\t', '\r', '\n':
			d.skip(1)
		default:
			return next[0], nil
		}
	}
}

// skip consumes bytes that are in the buffer.
func (d *document) skip(n int) {
	skipped, _ := d.r.Peek(n) // buffered
	d.line += bytes.Count(skipped, []byte{'\n'})
	_, _ = d.r.Discard(n) // buffered
}

// cut is the error of a document that ends too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the document ends in the middle")
	}
	return err
}
