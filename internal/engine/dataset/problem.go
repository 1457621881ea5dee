package dataset

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/suggest"
)

// maxProblems is the most problems of a file that are listed at once.
const maxProblems = 20

// Problem is one fault of a record.
type Problem struct {
	Where   string // "chats.jsonl:12" or "records[3]"
	Message string // the fault and the accepted values
}

// FileError lists the problems of the records of a file in their order, from one to
// twenty.
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
	return suggest.Nearest(name, accepted, len(name)/3+1)
}
