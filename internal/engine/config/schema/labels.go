package schema

import (
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// Labels are the labels of a run: name → value.
type Labels map[string]string

// The limits of labels.
const (
	MaxLabels     = 32
	maxLabelName  = 63
	MaxLabelValue = 256
)

// Decode reads an object of strings.
func (l *Labels) Decode(f Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object with string values")
	}
	if len(n.Members) > MaxLabels {
		f.Fail(n.Place, problem.CodeOutOfRange, "labels: at most %d are allowed; got %d", MaxLabels, len(n.Members))
	}
	*l = make(Labels, len(n.Members))
	for _, m := range n.Members {
		switch {
		case m.Value.Shape != tree.Text:
			f.WrongType(m.Value, Join(f.Path, m.Name), "a string")
		case m.Name == "" || len(m.Name) > maxLabelName:
			f.Fail(m.Place, problem.CodeOutOfRange, "%q: a label name must have 1 to %d characters", problem.Clip(m.Name), maxLabelName)
		case len(m.Value.Scalar) > MaxLabelValue:
			f.Fail(m.Place, problem.CodeOutOfRange, "%s: a label value can have at most %d characters", problem.Clip(m.Name), MaxLabelValue)
		default:
			(*l)[m.Name] = m.Value.Scalar
		}
	}
	return true
}
