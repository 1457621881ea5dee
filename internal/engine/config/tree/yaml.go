package tree

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"aiperfd/internal/engine/redact"
)

// yamlParser turns a YAML syntax tree into nodes.
type yamlParser struct {
	anchors    map[string]*Node
	aliased    int
	duplicates []Duplicate
	count      counter
}

// parseYAML reads one YAML 1.2 document (core schema). The library's parser is
// recursive and has panicked on odd input before, so a scan of the bytes bounds the
// tokens, the tokens bound the depth, and a panic counts as a syntax error.
func parseYAML(data []byte, values int) (root *Node, duplicates []Duplicate, err error) {
	defer func() {
		if recover() != nil {
			root, duplicates, err = nil, nil, &Malformed{Detail: "invalid YAML"}
		}
	}()
	if err := boundSigns(data, values); err != nil {
		return nil, nil, err
	}
	tokens := lexer.Tokenize(string(data))
	if err := boundTokens(tokens); err != nil {
		return nil, nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		m := yamlMalformed(err)
		if strings.HasPrefix(m.Detail, "mapping value is not allowed") && !bytes.ContainsAny(bytes.TrimSpace(data), "\r\n") {
			m.Detail += "; the document is a single line: curl sends line breaks with --data-binary, but not with -d"
		}
		return nil, nil, m
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, nil, malformedAt(doc.Body, "more than one document")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, nil, &Malformed{Detail: "the document is empty"}
	}
	p := &yamlParser{anchors: make(map[string]*Node), count: counter{most: values}}
	root, err = p.node(body, 0)
	if err != nil {
		return nil, p.duplicates, err
	}
	if err := root.locate(values); err != nil {
		return nil, p.duplicates, err
	}
	return root, p.duplicates, nil
}

func malformedAt(n ast.Node, format string, args ...any) error {
	at := nodePlace(n)
	return &Malformed{Line: at.Line, Column: at.Column, Detail: redact.Misplaced(fmt.Sprintf(format, args...))}
}

// yamlMalformed takes message and position of a library error, but not the
// source text that it would print around them.
func yamlMalformed(err error) *Malformed {
	var e interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &e) {
		return &Malformed{Detail: "invalid YAML"}
	}
	m := &Malformed{Detail: redact.Misplaced(e.GetMessage())}
	if tk := e.GetToken(); tk != nil && tk.Position != nil {
		m.Line, m.Column = tk.Position.Line, tk.Position.Column
	}
	return m
}

func nodePlace(n ast.Node) Place {
	var at Place
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return nodePlace(m.Values[0].Key)
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return nodePlace(m.Key)
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		at.Line, at.Column = tk.Position.Line, tk.Position.Column
	}
	return at
}

func (p *yamlParser) node(y ast.Node, depth int) (*Node, error) {
	if detail := p.count.add(depth); detail != "" {
		return nil, malformedAt(y, "%s", detail)
	}
	n := &Node{Place: nodePlace(y)}
	switch y := y.(type) {
	case *ast.MappingNode:
		n.Shape = Object
		return n, p.mapping(n, y.Values, depth)
	case *ast.MappingValueNode:
		n.Shape = Object
		return n, p.mapping(n, []*ast.MappingValueNode{y}, depth)
	case *ast.SequenceNode:
		n.Shape = List
		for _, v := range y.Values {
			item, err := p.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, item)
		}
		return n, nil
	case *ast.AnchorNode:
		return p.anchor(y, depth)
	case *ast.AliasNode:
		return p.alias(y)
	case *ast.TagNode:
		return p.tag(y, depth)
	}
	return n, scalar(n, y)
}

// scalar reads a leaf into n.
func scalar(n *Node, y ast.Node) error {
	switch y := y.(type) {
	case *ast.NullNode:
		n.Shape = Null
	case *ast.BoolNode:
		n.Shape, n.Scalar = Boolean, fmt.Sprint(y.Value)
	case *ast.IntegerNode:
		n.Shape, n.Scalar = Number, fmt.Sprint(y.Value)
	case *ast.FloatNode:
		n.Shape, n.Scalar = Number, y.GetToken().Value
		if !IsNumber(n.Scalar) {
			n.Scalar = strconv.FormatFloat(y.Value, 'g', -1, 64)
		}
		if math.IsInf(y.Value, 0) {
			n.Shape, n.Scalar = Text, y.GetToken().Value
		}
	case *ast.StringNode:
		n.Shape, n.Scalar = Text, y.Value
		if y.GetToken().Type == token.StringType && IsNumber(y.Value) {
			n.Shape = Number // 1e3, which the library takes for a text
		}
	case *ast.LiteralNode:
		n.Shape, n.Scalar = Text, y.Value.Value
	case *ast.InfinityNode:
		n.Shape, n.Scalar = Text, strings.Replace(strings.ToLower(y.GetToken().Value), ".inf", "inf", 1)
	case *ast.NanNode:
		n.Shape, n.Scalar = Text, "nan"
	default:
		return malformedAt(y, "%s is not supported", y.Type())
	}
	return nil
}

func (p *yamlParser) mapping(n *Node, values []*ast.MappingValueNode, depth int) error {
	seen := make(map[string]int)
	var merged []*Node
	for _, v := range values {
		value, err := p.node(v.Value, depth+1)
		if err != nil {
			return err
		}
		if v.Key.IsMergeKey() {
			merged = append(merged, value)
			continue
		}
		name := ast.Node(v.Key)
		if explicit, ok := name.(*ast.MappingKeyNode); ok { // ? name
			name = explicit.Value
		}
		key, ok := name.(*ast.StringNode)
		if !ok {
			return malformedAt(v.Key, "keys must be strings; put this one in quotes")
		}
		p.duplicates = n.add(Member{Place: nodePlace(key), Name: key.Value, Value: value}, seen, p.duplicates)
	}
	for _, m := range merged {
		sources := []*Node{m}
		if m.Shape == List {
			sources = m.Items
		}
		for _, s := range sources {
			if s.Shape != Object {
				return &Malformed{Line: m.Line, Column: m.Column, Detail: "only objects can be merged"}
			}
			n.merge(s, seen)
		}
	}
	return nil
}

// merge takes over the members of s whose names are free; seen has those that are taken.
func (n *Node) merge(s *Node, seen map[string]int) {
	for _, m := range s.Members {
		if _, taken := seen[m.Name]; !taken {
			seen[m.Name] = m.Line
			n.Members = append(n.Members, m)
		}
	}
}

// Named finds a member by its exact name.
func (n *Node) Named(name string) (*Node, bool) {
	for _, m := range n.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// anchor reads an anchored node. The name is known only behind the node, so an
// alias cannot refer to a node that contains it.
func (p *yamlParser) anchor(y *ast.AnchorNode, depth int) (*Node, error) {
	n, err := p.node(y.Value, depth)
	if err != nil {
		return nil, err
	}
	p.anchors[y.Name.GetToken().Value] = n
	return n, nil
}

func (p *yamlParser) alias(y *ast.AliasNode) (*Node, error) {
	name := y.Value.GetToken().Value
	source, ok := p.anchors[name]
	if !ok {
		return nil, malformedAt(y, "alias *%s has no anchor before it", name)
	}
	n := p.copy(source, nodePlace(y))
	if n == nil {
		return nil, malformedAt(y, "aliases expand to more than %d values", MaxAliased)
	}
	return n, nil
}

// copy returns a deep copy at another place, or nil when aliases add too much.
func (p *yamlParser) copy(source *Node, at Place) *Node {
	if p.aliased++; p.aliased > MaxAliased {
		return nil
	}
	n := &Node{Place: at, Shape: source.Shape, Scalar: source.Scalar}
	for _, m := range source.Members {
		value := p.copy(m.Value, at)
		if value == nil {
			return nil
		}
		n.Members = append(n.Members, Member{Place: at, Name: m.Name, Value: value})
	}
	for _, item := range source.Items {
		value := p.copy(item, at)
		if value == nil {
			return nil
		}
		n.Items = append(n.Items, value)
	}
	return n
}

// tag reads a tagged node; only the tags of the core schema that change nothing
// but the type of a scalar are understood.
func (p *yamlParser) tag(y *ast.TagNode, depth int) (*Node, error) {
	if y.Value == nil {
		return nil, malformedAt(y, "tag without a value")
	}
	n, err := p.node(y.Value, depth)
	if err != nil {
		return nil, err
	}
	switch name := y.GetToken().Value; {
	case name == "!!str" && n.Shape < List:
		n.Shape, n.Scalar = Text, y.Value.GetToken().Value
	case (name == "!!int" || name == "!!float") && n.Shape <= Text && IsNumber(n.Scalar):
		n.Shape = Number
	case name == "!!bool" && n.Shape == Boolean, name == "!!map" && n.Shape == Object, name == "!!seq" && n.Shape == List:
	default:
		return nil, malformedAt(y, "tag %s is not supported here", name)
	}
	return n, nil
}

// IsNumber reports whether s is a number literal of JSON.
func IsNumber(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return false
	}
	if strings.HasSuffix(digits, ".") || strings.Contains(digits, ".e") || strings.Contains(digits, ".E") {
		return false
	}
	for i := range len(digits) {
		if strings.IndexByte("0123456789.eE+-", digits[i]) < 0 {
			return false
		}
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}
