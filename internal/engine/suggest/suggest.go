// Package suggest finds the name that the author of a misspelled name probably
// meant.
package suggest

import "strings"

// DidYouMean returns `; did you mean "x"?` with the known name that is closest to
// name, or else the shortest one that contains it. It returns "" if no known name
// is close.
func DidYouMean(name string, known []string) string {
	best := Nearest(name, known, max(1, len(name)/3))
	if best == "" {
		best = containing(name, known)
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// Nearest returns the first of the known names with the smallest edit distance
// to name, or "" if all distances exceed limit. Names are compared as [Fold]
// returns them.
func Nearest(name string, known []string, limit int) string {
	best, folded := "", Fold(name)
	for _, k := range known {
		if d := distance(folded, Fold(k)); d <= limit {
			best, limit = k, d-1
		}
	}
	return best
}

// containing returns the shortest known name that contains part. Short parts
// occur in many names, so they give "".
func containing(part string, known []string) string {
	const minLength = 4
	part = Fold(part)
	if len(part) < minLength {
		return ""
	}
	best := ""
	for _, k := range known {
		if strings.Contains(Fold(k), part) && (best == "" || len(k) < len(best)) {
			best = k
		}
	}
	return best
}

// Fold returns a name in lower case, without dashes and underscores. Spellings of
// the same name have the same fold.
func Fold(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// distance returns the number of insertions, deletions, replacements and swaps
// of neighbouring bytes that turn a into b (Damerau, CACM 7(3), 1964; restricted
// form). Only the first 64 bytes are compared, which bounds the time for names
// from untrusted input.
func distance(a, b string) int {
	const maxLength = 64
	a, b = a[:min(len(a), maxLength)], b[:min(len(b), maxLength)]
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
