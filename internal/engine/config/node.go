package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"aiperfd/internal/engine/plainjson"
)

// shape is what a node is.
type shape uint8

const (
	null shape = iota
	boolean
	number
	text
	list
	object
)

// String names the shape in messages.
func (s shape) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[s]
}

// place says where something was written: in a file, or in a flag.
type place struct {
	ptr       string // JSON pointer as a URI fragment, in the user's spelling
	line, col int    // 1-based; 0 = not from a file
	flag      string // the flag or variable that gave it; empty = a document
	order     int    // index of the flag in argv
}

// node is one value of a parsed document, before anything is known about what
// it means. Objects keep the order and the spelling of their keys.
type node struct {
	place
	shape   shape
	scalar  string // text of a text, literal of a number, true or false
	items   []*node
	members []member
	secrets []string // values that a substitution put into the text
	subst   bool     // a substitution gave the whole text
}

// member is one key and value of an object node.
type member struct {
	place
	name  string
	value *node
}

func textNode(s string) *node { return &node{shape: text, scalar: s} }

func objectNode(members ...member) *node { return &node{shape: object, members: members} }

func listNode(items ...*node) *node { return &node{shape: list, items: items} }

// isText reports whether n can stand for a text: one that a substitution turned
// into a number can.
func (n *node) isText() bool { return n.shape == text || n.subst && n.shape < list }

// index returns the index of the member called name, in camelCase or
// snake_case, or -1. The last one wins; duplicates are reported elsewhere.
func (n *node) index(name string) int {
	snake := snakeCase(name)
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].name == name || n.members[i].name == snake {
			return i
		}
	}
	return -1
}

// get returns the value of a member, or nil if there is none or it is null.
func (n *node) get(name string) *node {
	if n == nil || n.shape != object {
		return nil
	}
	i := n.index(name)
	if i < 0 || n.members[i].value.shape == null {
		return nil
	}
	return n.members[i].value
}

// set adds a member or replaces its value.
func (n *node) set(name string, value *node) {
	if i := n.index(name); i >= 0 {
		n.members[i].value = value
		return
	}
	n.members = append(n.members, member{place: value.place, name: name, value: value})
}

// drop removes a member and returns its value, or nil.
func (n *node) drop(name string) *node {
	i := n.index(name)
	if i < 0 {
		return nil
	}
	value := n.members[i].value
	n.members = append(n.members[:i:i], n.members[i+1:]...)
	return value
}

// locate gives every node below n its pointer.
func (n *node) locate(ptr string) {
	n.ptr = ptr
	for i := range n.members {
		m := &n.members[i]
		m.ptr = ptr + "/" + escapePointer(m.name)
		m.value.locate(m.ptr)
	}
	for i, item := range n.items {
		item.locate(fmt.Sprintf("%s/%d", ptr, i))
	}
}

// escapePointer writes one reference token of a JSON pointer (RFC 6901 section
// 3) so that it may stand in a URI fragment (section 6).
func escapePointer(name string) string {
	plain := 0
	for plain < len(name) && isAlnum(name[plain]) {
		plain++
	}
	if plain == len(name) {
		return name
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
	var out strings.Builder
	for i := range len(name) {
		c := name[i]
		if c < 0x80 && (isAlnum(c) || strings.IndexByte("-._~!$&'()*+,;=:@?", c) >= 0) {
			out.WriteByte(c)
			continue
		}
		fmt.Fprintf(&out, "%%%02X", c)
	}
	return out.String()
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// snakeCase writes a camelCase name as AIPerf's Python side does.
func snakeCase(camel string) string {
	var out strings.Builder
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

// json returns the value as JSON, numbers as they were written.
func (n *node) json() json.RawMessage {
	var out bytes.Buffer
	n.writeJSON(&out)
	return out.Bytes()
}

func (n *node) writeJSON(out *bytes.Buffer) {
	switch n.shape {
	case null:
		out.WriteString("null")
	case boolean, number:
		out.WriteString(n.scalar)
	case text:
		out.Write(quote(n.scalar))
	case list:
		out.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				out.WriteByte(',')
			}
			item.writeJSON(out)
		}
		out.WriteByte(']')
	case object:
		out.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(quote(m.name))
			out.WriteByte(':')
			m.value.writeJSON(out)
		}
		out.WriteByte('}')
	}
}

// quote writes a JSON string without escaping HTML.
func quote(s string) []byte {
	out, _ := plainjson.Marshal(s) // a string cannot fail to encode
	return out
}

// walk calls f for n and everything below it, parents first.
func (n *node) walk(f func(*node)) {
	f(n)
	for _, m := range n.members {
		m.value.walk(f)
	}
	for _, item := range n.items {
		item.walk(f)
	}
}
