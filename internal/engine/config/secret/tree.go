package secret

import (
	"strings"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

// HideTree undoes the substitutions in a tree, and replaces secrets by placeholders.
func HideTree(root *tree.Node) { hideNode(root, "") }

// hideNode is [HideTree] for n, the member called name.
func hideNode(n *tree.Node, name string) {
	switch {
	case n.Written != "":
		n.Shape, n.Scalar = tree.Text, n.Written
	case n.Shape == tree.Text && !strings.Contains(n.Scalar, "{{"):
		n.Scalar = redact.Text(redact.URL(n.Scalar))
		if redact.SensitiveName(name) || redact.SensitiveHeader(name) || SensitiveParam(name, n.Scalar) {
			n.Scalar = redact.Placeholder
		}
	}
	for _, m := range n.Members {
		hideNode(m.Value, m.Name)
	}
	for _, item := range n.Items {
		hideNode(item, name)
	}
}
