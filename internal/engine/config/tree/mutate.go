// This file makes hostile documents of good ones: it changes, moves and multiplies
// their values, with sizes up to a limit, deep nesting, long names, extreme numbers, odd
// characters, expressions and YAML aliases. Tests of the loader use it, and scripts/hostile
// against a daemon.

package tree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Mutator makes documents. The same seed and sources give the same ones. It is not safe
// for concurrent use.
type Mutator struct {
	rand    *rand.Rand
	sources []*Node
	names   []string // of the members of all sources
	values  []*Node  // lists and objects of all sources
	size    int
}

// NewMutator returns a mutator of some documents, in JSON or YAML, which makes texts of about size
// bytes at most. The error is that of a source that cannot be parsed.
func NewMutator(seed uint64, size int, sources ...[]byte) (*Mutator, error) {
	m := &Mutator{rand: rand.New(rand.NewPCG(seed, 0xd0c)), size: size}
	for _, text := range sources {
		root, _, err := Parse(text, Auto, 1<<20)
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		m.sources = append(m.sources, root)
		root.Walk(func(n *Node) {
			for _, member := range n.Members {
				m.names = append(m.names, member.Name)
			}
			if n.Shape >= List {
				m.values = append(m.values, n)
			}
		})
	}
	return m, nil
}

// Document returns the next document and its notation.
func (m *Mutator) Document() ([]byte, Format) {
	root := m.changed()
	for left := 4 * m.size; !fits(root, &left); left = 4 * m.size {
		root = m.changed() // a value that a multiplication repeats has become a large one
	}
	out, format := root.JSON(), JSON
	if m.rand.IntN(2) == 0 {
		var b bytes.Buffer
		m.yaml(&b, root, 0)
		out, format = b.Bytes(), YAML
	}
	if m.rand.IntN(4) == 0 {
		out = m.garble(out)
	}
	return out[:min(len(out), m.size)], format
}

// changed returns one of the documents with some changes.
func (m *Mutator) changed() *Node {
	root := m.sources[m.rand.IntN(len(m.sources))].Clone()
	for range 1 + m.rand.IntN(4) {
		if left := m.size; !fits(root, &left) {
			break // values are shared after a multiplication: a second one could multiply it
		}
		m.change(root)
	}
	return root
}

// fits subtracts the size of n and of what is below it. It reports whether something is left.
func fits(n *Node, left *int) bool {
	if *left -= len(n.Scalar) + 1; *left < 0 {
		return false
	}
	for _, m := range n.Members {
		if *left -= len(m.Name); !fits(m.Value, left) {
			return false
		}
	}
	for _, item := range n.Items {
		if !fits(item, left) {
			return false
		}
	}
	return true
}

// change changes one value below root.
func (m *Mutator) change(root *Node) {
	var all []*Node
	root.Walk(func(n *Node) { all = append(all, n) })
	n := all[m.rand.IntN(len(all))]
	switch m.rand.IntN(9) {
	case 0: // nest
		name := m.name()
		for range min(1<<m.rand.IntN(9), m.size/(len(name)+1)) {
			inner := *n
			*n = Node{Shape: List, Items: []*Node{&inner}}
			if m.rand.IntN(2) == 0 {
				*n = Node{Shape: Object, Members: []Member{{Name: name, Value: &inner}}}
			}
		}
	case 1: // multiply
		m.multiply(n)
	case 2: // another value of some document
		*n = *m.values[m.rand.IntN(len(m.values))].Clone()
	case 3, 4: // another member, known or not
		if n.Shape == Object {
			n.Members = append(n.Members, Member{Name: m.name(), Value: m.scalar()})
		}
	case 5: // a member less
		if len(n.Members) > 0 {
			i := m.rand.IntN(len(n.Members))
			n.Members = append(n.Members[:i:i], n.Members[i+1:]...)
		}
	default:
		if n.Shape < List {
			*n = *m.scalar()
		}
	}
}

// multiply repeats the elements or members of n up to the size.
func (m *Mutator) multiply(n *Node) {
	times := min(1<<m.rand.IntN(18), m.size/(len(n.JSON())+1)+1)
	switch {
	case n.Shape == List && len(n.Items) > 0:
		for range times {
			n.Items = append(n.Items, n.Items[0])
		}
	case n.Shape == Object && len(n.Members) > 0:
		for i := range times {
			n.Members = append(n.Members, Member{Name: n.Members[0].Name + strconv.Itoa(i), Value: n.Members[0].Value})
		}
	case n.Shape == Text && n.Scalar != "":
		n.Scalar = strings.Repeat(n.Scalar, min(times, m.size/len(n.Scalar)+1))
	}
}

// name returns a name of a member.
func (m *Mutator) name() string {
	if m.rand.IntN(8) == 0 {
		return m.text()
	}
	return m.names[m.rand.IntN(len(m.names))]
}

// scalar returns an extreme value.
func (m *Mutator) scalar() *Node {
	switch m.rand.IntN(5) {
	case 0:
		return &Node{Shape: Shape(m.rand.IntN(2)), Scalar: "true"}
	case 1, 2:
		numbers := []string{"0", "-1", "1", "2", "1e308", "-1e308", "1e-308", "1e400", "9223372036854775807", "-9223372036854775808",
			"18446744073709551616", "2147483648", "1000000", "1e9", "14400", "0.1", "16384", "1" + strings.Repeat("0", 400), "1e18", "65536"}
		return &Node{Shape: Number, Scalar: numbers[m.rand.IntN(len(numbers))]}
	}
	return TextNode(m.text())
}

// text returns a text that a parser, an expression or a terminal may take badly.
func (m *Mutator) text() string {
	texts := []string{
		"", " ", "\x00", "\u202e", "e\u0301", "\U0001f600", "\ufeff", "\x1b[2J", "\u2028", "nan", "inf", "-inf", "1e400", "~", "null", "<redacted>",
		"{{ 'a' * 100000000 }}", "{% set a='a'|center(2000000000) %}{{ a }}", "{{ 'a'|indent(2000000000) }}", "{{ range(1000000000)|join }}",
		"{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}", "{% set a = 'a' %}" + strings.Repeat("{% set a = a ~ a %}", 40) + "{{ a }}",
		"{{ " + strings.Repeat("(", 500), "{{ phases.profiling.requests }}", "{{ variables }}", "${PATH}", "${secret:A}", "${" + strings.Repeat("A", 1000) + ":x}",
		"[*]" + strings.Repeat("|[*][]", 30), "$.." + strings.Repeat("*..", 50), strings.Repeat("@|", 100) + "@", "join(@, @)",
		"http://[::1]:1/", "http://127.0.0.1:1/" + strings.Repeat("a/", 200), "../../etc/passwd", "/dev/zero", "/proc/self/mem", "2h", "1e9d", "30 min",
		"p99(time_to_first_token) < 1ms", "synthetic", "file", "adaptive_search", "latin_hypercube", "sobol", "grid", "poisson", "fixed_schedule", "user_centric",
	}
	s := texts[m.rand.IntN(len(texts))]
	if m.rand.IntN(6) == 0 && s != "" {
		s = strings.Repeat(s, min(1<<m.rand.IntN(20), m.size/len(s)+1))
	}
	return s
}

// garble changes bytes of a text: cut, repeated, replaced by signs.
func (m *Mutator) garble(text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	at := m.rand.IntN(len(text))
	signs := []string{"[", "{", "]", "}", ",", ":", "- ", "? ", "&a ", "*a ", "!!x ", "|\n", ">\n", "%", "@", "`", "\"", "'", "#", "\t", "\r", "\n", "---\n", "...\n", "<<: ", "\xff", "\\"}
	sign := []byte(signs[m.rand.IntN(len(signs))])
	switch m.rand.IntN(4) {
	case 0:
		return text[:at]
	case 1:
		return append(text[:at:at], append(bytes.Repeat(sign, 1<<m.rand.IntN(20)), text[at:]...)...)
	case 2:
		end := at + m.rand.IntN(len(text)-at)
		return append(text[:end:end], bytes.Repeat(text[at:end], 1<<m.rand.IntN(8))...)
	}
	copy(text[at:], sign)
	return text
}
