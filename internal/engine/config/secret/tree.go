package secret

import (
	"strings"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

// HideTree undoes the substitutions in a tree, and replaces secrets by placeholders.
func HideTree(root *tree.Node) {
	var h hider
	h.hide(root, "")
	set := redact.NewSet(h.secrets...)
	root.Walk(func(n *tree.Node) {
		if n.Shape == tree.Text {
			n.Scalar = set.Exact(n.Scalar) // the same secret in another place
		}
	})
}

// hider collects the secrets that it hides.
type hider struct{ secrets []string }

// hide is [HideTree] for n, the member called name.
func (h *hider) hide(n *tree.Node, name string) {
	sensitive := redact.SensitiveName(name) || redact.SensitiveHeader(name)
	switch {
	case n.Written != "":
		n.Shape, n.Scalar = tree.Text, n.Written
	case n.Shape != tree.Text, sensitive && isTemplate(n.Scalar):
	case sensitive || SensitiveParam(name, redact.URL(n.Scalar)):
		h.secrets = append(h.secrets, n.Scalar)
		n.Scalar = redact.Placeholder
	case !strings.Contains(n.Scalar, "{{"):
		h.secrets = append(h.secrets, redact.URLSecrets(n.Scalar)...)
		n.Scalar = redact.Text(redact.URL(n.Scalar))
	}
	for _, m := range n.Members {
		if name == "otel" && m.Name == "headers" {
			h.hideAll(m.Value) // whatever they are called
			continue
		}
		h.hide(m.Value, m.Name)
	}
	for _, item := range n.Items {
		h.hide(item, name)
	}
}

// hideAll hides the texts of all members of n.
func (h *hider) hideAll(n *tree.Node) {
	for _, m := range n.Members {
		h.hide(m.Value, "Authorization")
	}
}

// isTemplate reports whether a text is a template only, possibly behind the scheme of an
// Authorization header.
func isTemplate(text string) bool {
	scheme, text, opened := strings.Cut(text, "{{")
	text, closed := strings.CutSuffix(strings.TrimSpace(text), "}}")
	switch strings.ToLower(strings.TrimSpace(scheme)) {
	case "", "bearer", "basic", "token", "apikey":
		return opened && closed && !strings.ContainsAny(text, "{}'\"")
	}
	return false
}
