package tree

import (
	"bytes"
	"strings"
)

// yaml writes n in block style, some values with anchors that later ones refer to.
func (m *Mutator) yaml(out *bytes.Buffer, n *Node, depth int) {
	if out.Len() > m.size {
		return
	}
	switch {
	case n.Shape < List || len(n.Items)+len(n.Members) == 0 || depth > 20:
		out.Write(n.JSON())
	case m.rand.IntN(50) == 0:
		out.WriteString("*a")
	case n.Shape == List:
		for _, item := range n.Items {
			m.line(out, depth, "-")
			m.yaml(out, item, depth+1)
		}
	default:
		for _, member := range n.Members {
			m.line(out, depth, string(Quote(member.Name))+":")
			m.yaml(out, member.Value, depth+1)
		}
		if m.rand.IntN(50) == 0 {
			m.line(out, depth, "<<:")
			out.WriteString("*a")
		}
	}
}

// line begins a line of a block, sometimes with an anchor.
func (m *Mutator) line(out *bytes.Buffer, depth int, head string) {
	out.WriteString("\n" + strings.Repeat("  ", depth) + head + " ")
	if m.rand.IntN(20) == 0 {
		out.WriteString("&a ")
	}
}
