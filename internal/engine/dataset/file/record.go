package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Record is one record of a dataset.
type Record struct {
	Place Place
	// Data is one JSON object. Of JSONL and JSON documents it is the text as it is
	// written, which is not checked.
	Data []byte
}

// Place is where a record is.
type Place struct {
	File string // base name of the file, or its path in the folder; empty = an inline record
	Line int    // line, row or record from 1; of inline records the index from 0
	Unit Unit   // what Line counts
}

// Unit is what a number of a place counts.
type Unit int

// The units of places.
const (
	Lines   Unit = iota
	Rows         // of a Parquet or Arrow file
	Members      // of the array in a JSON document that may be one line
)

// String returns "chats.jsonl:12", "data.parquet: row 12", "chats.json: record 12" or
// "records[3]".
func (p Place) String() string {
	switch {
	case p.File == "":
		return "records[" + strconv.Itoa(p.Line) + "]"
	case p.Unit == Rows:
		return p.File + ": row " + strconv.Itoa(p.Line)
	case p.Unit == Members:
		return p.File + ": record " + strconv.Itoa(p.Line)
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// RecordError is the fault of one record, after which reading can go on.
type RecordError struct {
	Place Place
	Err   error
}

// Error returns the place and the fault.
func (e *RecordError) Error() string { return fmt.Sprintf("%v: %v", e.Place, e.Err) }

// Unwrap returns the fault.
func (e *RecordError) Unwrap() error { return e.Err }

// CheckObject returns an error unless a record is one JSON object: what is wrong, and in
// which column of the line.
func CheckObject(data []byte) error {
	err := json.Unmarshal(data, new(json.RawMessage))
	wrong, broken := errors.AsType[*json.SyntaxError](err)
	switch {
	case !broken && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")):
		return nil
	case !broken:
		return errors.New("must be a JSON object, one on each line")
	case strings.HasPrefix(wrong.Error(), "unexpected end"):
		return fmt.Errorf("unexpected end of JSON at %s", column(data, len(data)))
	}
	return fmt.Errorf("not valid JSON: %w at %s", wrong, column(data, int(wrong.Offset)-1))
}

// column names the place of a byte of a record, which usually is a line.
func column(data []byte, at int) string {
	before := data[:max(0, min(at, len(data)))]
	line := bytes.Count(before, []byte{'\n'})
	n := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	if line > 0 {
		return fmt.Sprintf("line %d, column %d of the record", line+1, n)
	}
	return fmt.Sprintf("column %d", n)
}
