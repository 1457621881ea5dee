// Package tree reads JSON and YAML into trees of nodes that keep the position, the
// order and the spelling of the text.
package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/plainjson"
)

// Shape is the kind of a node.
type Shape uint8

// The shapes. Those of scalars come before List.
const (
	Null Shape = iota
	Boolean
	Number
	Text
	List
	Object
)

// String names the shape in messages.
func (s Shape) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[s]
}

// Place is the position of a node: in a file, or in a flag.
type Place struct {
	Pointer      string // JSON pointer as a URI fragment, in the user's spelling
	Line, Column int    // 1-based; 0 = not from a file
	Flag         string // the flag or variable that gave it; empty = a document
	Order        int    // index of the flag in argv
}

// Node is one value of a parsed document, before it is decoded. Objects keep the order and the spelling of their keys.
type Node struct {
	Place
	Shape       Shape
	Scalar      string // text of a text, literal of a number, true or false
	Items       []*Node
	Members     []Member
	Secrets     []string // values that a substitution put into the text
	References  []string // names of the secrets among them
	Written     string   // the text before substitutions; empty = there were none
	Substituted bool     // a substitution gave the whole text
	// Confidential nodes hold a secret that ${secret:NAME} gave. The decoder clears it
	// where a secret may stand.
	Confidential bool
}

// Member is one key and value of an object node.
type Member struct {
	Place
	Name  string
	Value *Node
}

// TextNode returns a node with a text, without a place.
func TextNode(s string) *Node { return &Node{Shape: Text, Scalar: s} }

// ObjectNode returns an object, without a place.
func ObjectNode(members ...Member) *Node { return &Node{Shape: Object, Members: members} }

// ListNode returns a list, without a place.
func ListNode(items ...*Node) *Node { return &Node{Shape: List, Items: items} }

// NodeOf returns the node of a value that JSON can encode, without a place.
func NodeOf(v any) (*Node, error) {
	data, err := plainjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode value: %w", err)
	}
	n, _, err := ParseJSON(data)
	if err != nil {
		return nil, err
	}
	n.Walk(func(below *Node) { below.Place = Place{} })
	return n, nil
}

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	out := *n
	out.Members = slices.Clone(n.Members)
	for i := range out.Members {
		out.Members[i].Value = out.Members[i].Value.Clone()
	}
	out.Items = slices.Clone(n.Items)
	for i, item := range out.Items {
		out.Items[i] = item.Clone()
	}
	return &out
}

// IsText reports whether n can stand for a text: one that a substitution turned
// into a number can.
func (n *Node) IsText() bool { return n.Shape == Text || n.Substituted && n.Shape < List }

// Index returns the index of the member called name, in camelCase or
// snake_case, or -1. The last one wins; duplicates are reported elsewhere.
func (n *Node) Index(name string) int {
	snake := SnakeCase(name)
	for i, m := range slices.Backward(n.Members) {
		if m.Name == name || m.Name == snake {
			return i
		}
	}
	return -1
}

// Get returns the value of a member, or nil if there is none or it is null.
func (n *Node) Get(name string) *Node {
	if n == nil || n.Shape != Object {
		return nil
	}
	i := n.Index(name)
	if i < 0 || n.Members[i].Value.Shape == Null {
		return nil
	}
	return n.Members[i].Value
}

// Set adds a member or replaces its value.
func (n *Node) Set(name string, value *Node) {
	if i := n.Index(name); i >= 0 {
		n.Members[i].Value = value
		return
	}
	n.Members = append(n.Members, Member{Place: value.Place, Name: name, Value: value})
}

// Drop removes a member and returns its value, or nil.
func (n *Node) Drop(name string) *Node {
	i := n.Index(name)
	if i < 0 {
		return nil
	}
	value := n.Members[i].Value
	n.Members = append(n.Members[:i:i], n.Members[i+1:]...)
	return value
}

// Locate gives n a pointer, and every node below it the pointer of its place in n.
func (n *Node) Locate(ptr string) {
	n.Pointer = ptr
	for i := range n.Members {
		m := &n.Members[i]
		m.Pointer = ptr + "/" + EscapePointer(m.Name)
		m.Value.Locate(m.Pointer)
	}
	for i, item := range n.Items {
		item.Locate(fmt.Sprintf("%s/%d", ptr, i))
	}
}

// EscapePointer writes one reference token of a JSON pointer (RFC 6901 section
// 3) so that it may stand in a URI fragment (section 6).
func EscapePointer(name string) string {
	plain := 0
	for plain < len(name) && IsAlnum(name[plain]) {
		plain++
	}
	if plain == len(name) {
		return name
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
	var out strings.Builder
	for i := range len(name) {
		c := name[i]
		if c < 0x80 && (IsAlnum(c) || strings.IndexByte("-._~!$&'()*+,;=:@?", c) >= 0) {
			out.WriteByte(c)
			continue
		}
		fmt.Fprintf(&out, "%%%02X", c)
	}
	return out.String()
}

// IsAlnum reports whether c is an ASCII letter or digit.
func IsAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// SnakeCase writes a camelCase name as AIPerf's Python side does.
func SnakeCase(camel string) string {
	var out strings.Builder
	out.Grow(len(camel) + 4)
	for i := range len(camel) {
		c := camel[i]
		if 'A' <= c && c <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			c |= 0x20
		}
		out.WriteByte(c)
	}
	return out.String()
}

// JSON returns the value as JSON, numbers as they were written.
func (n *Node) JSON() json.RawMessage {
	var out bytes.Buffer
	n.writeJSON(&out)
	return out.Bytes()
}

func (n *Node) writeJSON(out *bytes.Buffer) {
	switch n.Shape {
	case Null:
		out.WriteString("null")
	case Boolean, Number:
		out.WriteString(n.Scalar)
	case Text:
		out.Write(Quote(n.Scalar))
	case List:
		out.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				out.WriteByte(',')
			}
			item.writeJSON(out)
		}
		out.WriteByte(']')
	case Object:
		out.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(Quote(m.Name))
			out.WriteByte(':')
			m.Value.writeJSON(out)
		}
		out.WriteByte('}')
	}
}

// Quote writes a JSON string without escaping HTML.
func Quote(s string) []byte {
	out, _ := plainjson.Marshal(s) // a string cannot fail to encode
	return out
}

// Walk calls f for n and everything below it, parents first.
func (n *Node) Walk(f func(*Node)) {
	f(n)
	for _, m := range n.Members {
		m.Value.Walk(f)
	}
	for _, item := range n.Items {
		item.Walk(f)
	}
}

// GenericPath replaces the indexes in a canonical path by *.
func GenericPath(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if p != "" && p[0] >= '0' && p[0] <= '9' {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}
