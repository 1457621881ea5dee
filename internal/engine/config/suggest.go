package config

import "strings"

// suggestion returns `; did you mean "x"?` for the closest of the known names,
// or nothing when none is close.
func suggestion(name string, known []string) string {
	best, distance := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if d := editDistance(fold(name), fold(k)); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		best = containing(name, known)
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// containing returns the shortest of the known names that a part of a name is in;
// empty = none, or the part is too short to mean one.
func containing(part string, known []string) string {
	const least = 4
	best := ""
	for _, k := range known {
		if len(fold(part)) >= least && strings.Contains(fold(k), fold(part)) && (best == "" || len(k) < len(best)) {
			best = k
		}
	}
	return best
}

// fold makes spellings of one name equal: case, dashes and underscores go.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (Damerau, CACM 7(3), 1964; restricted form).
// Long names are not worth comparing; they are cut at 64 bytes.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
