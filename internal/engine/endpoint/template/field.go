package template

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jmespath/go-jmespath"
	"github.com/ohler55/ojg/jp"
)

// finder returns the value at a place of a JSON value; nil = none.
type finder func(any) (any, error)

// Bounds of the place of an output. Neither library bounds what an expression
// makes of a value, so that those are refused that could multiply it.
const (
	maxField  = 1024 // bytes
	maxCopies = 64   // of the same part of an answer
)

// parseField compiles the place of an output: a JMESPath (jmespath.org), or a
// JSONPath (RFC 9535) if it starts with $.
func parseField(path string) (finder, error) {
	if len(path) > maxField {
		return nil, fmt.Errorf("read response field: %d bytes, at most %d are accepted", len(path), maxField)
	}
	if !strings.HasPrefix(path, "$") {
		tree, err := jmespath.NewParser().Parse(path)
		if err != nil {
			return nil, fmt.Errorf("read response field %q: not a JMESPath: %w", path, err)
		}
		if err := boundJMESPath(tree.PrettyPrint(0)); err != nil {
			return nil, fmt.Errorf("read response field %q: %w", path, err)
		}
		q, err := jmespath.Compile(path)
		if err != nil {
			return nil, fmt.Errorf("read response field %q: not a JMESPath: %w", path, err)
		}
		return q.Search, nil
	}
	q, err := jp.ParseString(path)
	if err != nil {
		return nil, fmt.Errorf("read response field %q: not a JSONPath: %w", path, err)
	}
	if err := boundJSONPath(path, q); err != nil {
		return nil, fmt.Errorf("read response field %q: %w", path, err)
	}
	return func(v any) (any, error) {
		switch found := q.Get(v); len(found) {
		case 0:
			return nil, nil
		case 1:
			return found[0], nil
		default:
			return found, nil
		}
	}, nil
}

var errCopies = fmt.Errorf("it could repeat a part of the answer more than %d times", maxCopies)

// boundJMESPath looks at the printed tree of an expression: the library does not
// export the tree itself. What multiplies a value are lists and objects of several
// expressions, one inside or after the other; escapes of escapes; and glue that is
// as long as an answer may be.
func boundJMESPath(tree string) error {
	lines := strings.Split(tree, "\n")
	copies, quotings := 1, 0
	for i, line := range lines {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		switch node := strings.TrimSpace(line); {
		case node == "ASTMultiSelectList {" || node == "ASTMultiSelectHash {":
			copies *= max(1, children(lines[i+1:], depth))
		case node == `value: "to_string"`:
			quotings++
		case node == `value: "join"` && !literalGlue(lines[i+1:]):
			return errors.New("the first argument of join must be a text of at most 64 bytes")
		}
		if copies > maxCopies || quotings > 2 {
			return errCopies
		}
	}
	return nil
}

// children counts the nodes right below one at a depth of blanks; lines are what
// follows it.
func children(lines []string, depth int) int {
	n := 0
	below := strings.Repeat(" ", depth+4) + "AST"
	for _, line := range lines {
		if len(line)-len(strings.TrimLeft(line, " ")) <= depth {
			break
		}
		if strings.HasPrefix(line, below) {
			n++
		}
	}
	return n
}

// literalGlue reports whether the first argument of a function is a short text.
func literalGlue(lines []string) bool {
	const most = 64
	value, ok := "", false
	if len(lines) > 2 && strings.TrimSpace(lines[1]) == "ASTLiteral {" {
		value, ok = strings.CutPrefix(strings.TrimSpace(lines[2]), `value: "`)
	}
	return ok && len(value) <= most
}

// boundJSONPath refuses what finds the same values again and again.
func boundJSONPath(path string, q jp.Expr) error {
	copies := 1
	for _, part := range q {
		if u, ok := part.(jp.Union); ok {
			copies *= max(1, len(u))
		}
	}
	inner := regexp.MustCompile(`\[\??\(`).FindAllStringIndex(path, -1)
	if copies > maxCopies || strings.Count(path, "..") > 1 || len(inner) > 1 && strings.Contains(path, "..") {
		return errCopies
	}
	return nil
}
