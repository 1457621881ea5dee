package config

// Labels are what users say about a run: name → value.
type Labels map[string]string

// The limits of labels.
const (
	maxLabels     = 32
	maxLabelName  = 63
	maxLabelValue = 256
)

// decode reads an object of strings.
func (l *Labels) decode(f field, n *node) bool {
	if n.shape != object {
		return f.wrongType(n, f.path, "an object with string values")
	}
	if len(n.members) > maxLabels {
		f.fail(n.place, CodeOutOfRange, "labels: at most %d are allowed; got %d", maxLabels, len(n.members))
	}
	*l = make(Labels, len(n.members))
	for _, m := range n.members {
		switch {
		case m.value.shape != text:
			f.wrongType(m.value, join(f.path, m.name), "a string")
		case m.name == "" || len(m.name) > maxLabelName:
			f.fail(m.place, CodeOutOfRange, "%q: a label name must have 1 to %d characters", clip(m.name), maxLabelName)
		case len(m.value.scalar) > maxLabelValue:
			f.fail(m.place, CodeOutOfRange, "%s: a label value can have at most %d characters", clip(m.name), maxLabelValue)
		default:
			(*l)[m.name] = m.value.scalar
		}
	}
	return true
}
