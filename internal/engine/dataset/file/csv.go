package file

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"aiperfd/internal/engine/plainjson"
)

// csvTable is a CSV file (RFC 4180) with a header, or one with tabs instead of commas.
type csvTable struct {
	name    string
	r       *csv.Reader
	budget  *budget
	keys    [][]byte // "name":
	numbers []bool   // a column whose values may be JSON numbers
	line    int      // of the last row
	out     []byte
}

// newTable reads the header.
func newTable(name string, comma rune, r io.Reader, numbers []string) (*csvTable, error) {
	t := &csvTable{name: name, line: 1, budget: &budget{r: r, left: MaxRecordBytes}}
	t.r = csv.NewReader(t.budget)
	t.r.Comma, t.r.ReuseRecord = comma, true
	header, err := t.r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return t, nil // no records
	case err != nil:
		return nil, fmt.Errorf("the header: %w", err)
	}
	for i, column := range header {
		if slices.Contains(header[:i], column) {
			return nil, fmt.Errorf("the header has the column %q twice", column)
		}
		t.keys = append(t.keys, append(plainjson.AppendString(nil, column), ':'))
		t.numbers = append(t.numbers, slices.Contains(numbers, column))
	}
	return t, nil
}

func (t *csvTable) about() (string, Unit) { return t.name, Lines }

func (t *csvTable) next() ([]byte, int, error) {
	t.budget.left = MaxRecordBytes
	values, err := t.r.Read()
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		// The next row is read from the line after the fault.
		t.line = wrong.StartLine
		if errors.Is(err, csv.ErrFieldCount) {
			err = fmt.Errorf("the row has %d values, the header %d", len(values), len(t.keys))
		} else {
			err = fmt.Errorf("column %d: %w", wrong.Column, wrong.Err)
		}
		return nil, t.line, &RecordError{Err: err}
	}
	if err != nil {
		return nil, t.line + 1, err
	}
	t.line, _ = t.r.FieldPos(0)
	t.out = append(t.out[:0], '{')
	for i, v := range values {
		if i > 0 {
			t.out = append(t.out, ',')
		}
		t.out = append(t.out, t.keys[i]...)
		if t.numbers[i] && isNumber(v) {
			t.out = append(t.out, v...)
		} else {
			t.out = plainjson.AppendString(t.out, v)
		}
	}
	t.out = append(t.out, '}')
	return t.out, t.line, nil
}

// isNumber reports whether a value is a JSON number.
func isNumber(v string) bool {
	return v != "" && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') && json.Valid([]byte(v))
}

// budget bounds what is read for one record. The reader above reads ahead by a buffer,
// so the bound is not exact.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the row is longer than %d MiB; a quote may be missing", MaxRecordBytes>>20)
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}
