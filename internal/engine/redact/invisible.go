package redact

import (
	"strings"

	"aiperfd/internal/view"
)

// withoutInvisible returns s without invisible characters, or s itself if it has none.
func withoutInvisible(s string) string {
	if !strings.ContainsFunc(s, view.Invisible) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if view.Invisible(r) {
			return -1
		}
		return r
	}, s)
}
