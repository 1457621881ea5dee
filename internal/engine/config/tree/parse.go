package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"unicode/utf8"
)

// Format is the notation of a text.
type Format string

// The notations.
const (
	Auto Format = "" // JSON if it begins with a brace and is JSON, else YAML
	JSON Format = "json"
	YAML Format = "yaml"
)

// Malformed is the error for text that is not a document at all: a syntax
// error, or a structure that is too large or too deep to be read.
type Malformed struct {
	Line, Column int // 1-based; 0 = the text as a whole
	Detail       string
}

// Error gives position and reason.
func (e *Malformed) Error() string {
	if e.Line == 0 {
		return "read configuration: " + e.Detail
	}
	return fmt.Sprintf("read configuration: line %d, column %d: %s", e.Line, e.Column, e.Detail)
}

// Duplicate is a member that was left out because its name is taken.
type Duplicate struct {
	Place
	Name  string
	First int // line of the member that has the name
}

// Parse reads a text with at most the given number of values into nodes; JSON is read as
// JSON if the format is YAML too. Errors are *Malformed.
func Parse(data []byte, format Format, values int) (*Node, []Duplicate, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, nil, &Malformed{Detail: "not UTF-8 text"}
	}
	looksJSON := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	if format != JSON && !looksJSON {
		return parseYAML(data, values)
	}
	root, duplicates, err := parseJSON(data, values)
	if err == nil || format == JSON {
		return root, duplicates, err
	}
	// YAML's flow style also begins with a brace.
	root, duplicates, yamlErr := parseYAML(data, values)
	if yamlErr == nil || format == YAML {
		return root, duplicates, yamlErr
	}
	return nil, nil, err
}

// jsonParser turns the tokens of encoding/json into nodes with positions.
type jsonParser struct {
	data       []byte
	dec        *json.Decoder
	lines      lineIndex
	duplicates []Duplicate
	count      counter
}

// ParseJSON reads JSON into nodes. Errors are *Malformed.
func ParseJSON(data []byte) (*Node, []Duplicate, error) { return parseJSON(data, MaxOwnValues) }

func parseJSON(data []byte, values int) (*Node, []Duplicate, error) {
	p := &jsonParser{data: data, dec: json.NewDecoder(bytes.NewReader(data)), lines: newLineIndex(data), count: counter{most: values}}
	p.dec.UseNumber()
	root, err := p.value(0)
	if err != nil {
		return nil, p.duplicates, p.malformed(err)
	}
	at := p.start()
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		line, col := p.lines.position(at)
		return nil, p.duplicates, &Malformed{Line: line, Column: col, Detail: "unexpected text after the document"}
	}
	if err := root.locate(values); err != nil {
		return nil, p.duplicates, err
	}
	return root, p.duplicates, nil
}

// start returns the position of the next token.
func (p *jsonParser) start() int {
	at := int(p.dec.InputOffset())
	for at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[at]) >= 0 {
		at++
	}
	return at
}

func (p *jsonParser) malformed(err error) error {
	if m, ok := errors.AsType[*Malformed](err); ok {
		return m
	}
	// The start of the bad token: the offset in a *json.SyntaxError does not
	// count what the decoder read as tokens.
	line, col := p.lines.position(p.start())
	detail := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		line, col = p.lines.position(len(p.data))
		detail = "unexpected end of the document"
	}
	return &Malformed{Line: line, Column: col, Detail: detail}
}

func (p *jsonParser) value(depth int) (*Node, error) {
	at := p.start()
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &Node{}
	n.Line, n.Column = p.lines.position(at)
	if detail := p.count.add(depth); detail != "" {
		return nil, &Malformed{Line: n.Line, Column: n.Column, Detail: detail}
	}
	switch token := token.(type) {
	case bool:
		n.Shape, n.Scalar = Boolean, fmt.Sprint(token)
	case json.Number:
		n.Shape, n.Scalar = Number, token.String()
	case string:
		n.Shape, n.Scalar = Text, token
	case json.Delim:
		if token == '[' {
			n.Shape = List
			return n, p.list(n, depth)
		}
		n.Shape = Object
		return n, p.object(n, depth)
	}
	return n, nil
}

func (p *jsonParser) list(n *Node, depth int) error {
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := p.dec.Token()
	return err
}

func (p *jsonParser) object(n *Node, depth int) error {
	seen := make(map[string]int)
	for p.dec.More() {
		var m Member
		m.Line, m.Column = p.lines.position(p.start())
		key, err := p.dec.Token()
		if err != nil {
			return err
		}
		m.Name = key.(string) // the decoder refuses other keys
		if m.Value, err = p.value(depth + 1); err != nil {
			return err
		}
		p.duplicates = n.add(m, seen, p.duplicates)
	}
	_, err := p.dec.Token()
	return err
}

// add appends a member to those of n, or to the duplicates if its name is taken.
// seen maps the names so far to their lines.
func (n *Node) add(m Member, seen map[string]int, duplicates []Duplicate) []Duplicate {
	if line, twice := seen[m.Name]; twice {
		return append(duplicates, Duplicate{m.Place, m.Name, line})
	}
	seen[m.Name] = m.Line
	n.Members = append(n.Members, m)
	return duplicates
}

// lineIndex finds line and column of an offset.
type lineIndex struct{ starts []int }

func newLineIndex(data []byte) lineIndex {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return lineIndex{starts}
}

// position returns 1-based line and column, the column in bytes.
func (x lineIndex) position(offset int) (line, col int) {
	line = sort.Search(len(x.starts), func(i int) bool { return x.starts[i] > offset })
	return line, max(offset-x.starts[line-1], 0) + 1
}
