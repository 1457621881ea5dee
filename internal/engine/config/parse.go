package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxDepth is how deep a document may nest.
const maxDepth = 64

// parse reads a document into nodes. Errors are *Malformed.
func parse(data []byte, format Format, r *report) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, &Malformed{Detail: "not UTF-8 text"}
	}
	looksJSON := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	if format == YAML || format == Auto && !looksJSON {
		return parseYAML(data, r)
	}
	var inJSON report
	root, err := parseJSON(data, &inJSON)
	if err != nil && format == Auto {
		// YAML's flow style also begins with a brace.
		var inYAML report
		if root, yamlErr := parseYAML(data, &inYAML); yamlErr == nil {
			r.problems = append(r.problems, inYAML.problems...)
			return root, nil
		}
	}
	r.problems = append(r.problems, inJSON.problems...)
	return root, err
}

// jsonParser turns the tokens of encoding/json into nodes with positions.
type jsonParser struct {
	data   []byte
	dec    *json.Decoder
	lines  lineIndex
	report *report
}

func parseJSON(data []byte, r *report) (*node, error) {
	root, err := readJSON(data, r)
	if err == nil {
		root.locate("#")
	}
	return root, err
}

// readJSON is parseJSON without the nodes' pointers.
func readJSON(data []byte, r *report) (*node, error) {
	p := &jsonParser{data: data, dec: json.NewDecoder(bytes.NewReader(data)), lines: newLineIndex(data), report: r}
	p.dec.UseNumber()
	root, err := p.value(0)
	if err != nil {
		return nil, p.malformed(err)
	}
	at := p.start()
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		line, col := p.lines.position(at)
		return nil, &Malformed{Line: line, Column: col, Detail: "unexpected text after the document"}
	}
	return root, nil
}

// start returns where the next token begins.
func (p *jsonParser) start() int {
	at := int(p.dec.InputOffset())
	for at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[at]) >= 0 {
		at++
	}
	return at
}

func (p *jsonParser) malformed(err error) error {
	var m *Malformed
	if errors.As(err, &m) {
		return m
	}
	// Where the bad token begins: the offset in a *json.SyntaxError does not
	// count what the decoder read as tokens.
	line, col := p.lines.position(p.start())
	detail := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		line, col = p.lines.position(len(p.data))
		detail = "unexpected end of the document"
	}
	return &Malformed{Line: line, Column: col, Detail: detail}
}

func (p *jsonParser) value(depth int) (*node, error) {
	at := p.start()
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &node{}
	n.line, n.col = p.lines.position(at)
	if depth > maxDepth {
		return nil, &Malformed{Line: n.line, Column: n.col, Detail: fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	switch token := token.(type) {
	case bool:
		n.shape, n.scalar = boolean, fmt.Sprint(token)
	case json.Number:
		n.shape, n.scalar = number, token.String()
	case string:
		n.shape, n.scalar = text, token
	case json.Delim:
		if token == '[' {
			n.shape = list
			return n, p.list(n, depth)
		}
		n.shape = object
		return n, p.object(n, depth)
	}
	return n, nil
}

func (p *jsonParser) list(n *node, depth int) error {
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := p.dec.Token()
	return err
}

func (p *jsonParser) object(n *node, depth int) error {
	seen := make(map[string]int)
	for p.dec.More() {
		var m member
		m.line, m.col = p.lines.position(p.start())
		key, err := p.dec.Token()
		if err != nil {
			return err
		}
		m.name = key.(string) // the decoder refuses other keys
		if m.value, err = p.value(depth + 1); err != nil {
			return err
		}
		n.add(m, seen, p.report)
	}
	_, err := p.dec.Token()
	return err
}

// add appends a member, or reports it if its name is taken. seen maps the names
// so far to their lines.
func (n *node) add(m member, seen map[string]int, r *report) {
	if line, twice := seen[m.name]; twice {
		at := m.place
		at.ptr = "#"
		r.fail(at, CodeConflict, "%q is given twice; the first is on line %d", m.name, line)
		return
	}
	seen[m.name] = m.line
	n.members = append(n.members, m)
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
	lo, hi := 0, len(x.starts)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if x.starts[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + 1, max(offset-x.starts[lo], 0) + 1
}
