package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// maxProblems is how many problems of a file are listed at once.
const maxProblems = 20

// Problem is one thing that is wrong with a record.
type Problem struct {
	Where   string // "chats.jsonl:12" or "records[3]"
	Message string // what is wrong and what is accepted
}

// FileError lists what is wrong with the records of a file, in their order, at
// least one and at most twenty problems.
type FileError struct {
	Problems []Problem
	More     bool // reading stopped at the twentieth; there may be more
}

// Error returns one line for each problem.
func (e *FileError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.Where+": "+p.Message)
	}
	if e.More {
		lines = append(lines, fmt.Sprintf("stopped after %d problems", len(e.Problems)))
	}
	return strings.Join(lines, "\n")
}

// add appends problems of one place and reports whether there is room for more.
func (e *FileError) add(where string, messages ...string) bool {
	for _, m := range messages {
		if len(e.Problems) == maxProblems {
			e.More = true
			return false
		}
		e.Problems = append(e.Problems, Problem{where, m})
	}
	return true
}

// nearest returns the accepted name that is most like the given one; empty =
// none is close enough to be meant.
func nearest(name string, accepted []string) string {
	meant := map[string]string{"prompt": "text", "prompts": "texts", "content": "text", "question": "text", "system_prompt": "system", "max_tokens": "output_length"}[strings.ToLower(name)]
	if slices.Contains(accepted, meant) {
		return meant
	}
	best, found := len(name)/3+2, ""
	for _, a := range accepted {
		if d := editDistance(strings.ToLower(name), a); d < best {
			best, found = d, a
		}
	}
	return found
}

// editDistance is the least number of bytes to insert, delete or replace, or of
// neighbours to swap, that turns a into b.
func editDistance(a, b string) int {
	if len(a) > 64 {
		return len(a) // nobody means that
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
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
		before, last = last, row
	}
	return last[len(b)]
}
