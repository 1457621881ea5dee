package schema

import (
	"time"

	"aiperfd/internal/engine/config/tree"
)

// Time is an instant, an RFC 3339 text in documents.
type Time struct{ time.Time }

var _ Decodable = (*Time)(nil)

// Decode reads a text.
func (t *Time) Decode(f Target, n *tree.Node) bool {
	if !n.IsText() {
		return f.WrongType(n, f.Path, "an RFC 3339 time such as 2026-01-31T22:00:00Z")
	}
	read, err := time.Parse(time.RFC3339Nano, n.Scalar)
	read = read.UTC()
	if err != nil || read.Year() < 0 || read.Year() > 9999 {
		return f.Invalid(n, "must be an RFC 3339 time such as 2026-01-31T22:00:00Z")
	}
	t.Time = read
	return true
}
