package config

import "aiperfd/internal/engine/config/tree"

// Labels are what users say about a run: name → value.
type Labels map[string]string

// The limits of labels.
const (
	maxLabels     = 32
	maxLabelName  = 63
	maxLabelValue = 256
)

// decode reads an object of strings.
func (l *Labels) decode(f field, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.wrongType(n, f.path, "an object with string values")
	}
	if len(n.Members) > maxLabels {
		f.fail(n.Place, CodeOutOfRange, "labels: at most %d are allowed; got %d", maxLabels, len(n.Members))
	}
	*l = make(Labels, len(n.Members))
	for _, m := range n.Members {
		switch {
		case m.Value.Shape != tree.Text:
			f.wrongType(m.Value, join(f.path, m.Name), "a string")
		case m.Name == "" || len(m.Name) > maxLabelName:
			f.fail(m.Place, CodeOutOfRange, "%q: a label name must have 1 to %d characters", clip(m.Name), maxLabelName)
		case len(m.Value.Scalar) > maxLabelValue:
			f.fail(m.Place, CodeOutOfRange, "%s: a label value can have at most %d characters", clip(m.Name), maxLabelValue)
		default:
			(*l)[m.Name] = m.Value.Scalar
		}
	}
	return true
}
