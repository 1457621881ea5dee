package schema

import (
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/tree"
)

// IsPhaseName reports whether a phase, and thus a folder on every system, may have a name.
func IsPhaseName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !tree.IsAlnum(c) && c != '_' && (i == 0 || c != '-') || i == 0 && '0' <= c && c <= '9' {
			return false
		}
	}
	upper := strings.ToUpper(name)
	device := upper == "CON" || upper == "PRN" || upper == "AUX" || upper == "NUL"
	if rest, ok := strings.CutPrefix(upper, "COM"); ok || strings.HasPrefix(upper, "LPT") {
		if !ok {
			rest = upper[3:]
		}
		port, err := strconv.Atoi(rest)
		device = device || err == nil && port >= 1 && port <= 9
	}
	return name != "" && len(name) <= 64 && !device
}
