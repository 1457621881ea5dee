package file

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/suggest"
)

// MaxProblems is the most problems of a file that are listed at once.
const MaxProblems = 20

// Problem is one fault of a record.
type Problem struct {
	Where   string // "chats.jsonl:12" or "records[3]"
	Message string // the fault and the accepted values
}

// Error lists the problems of the records of a file in their order, from one to
// twenty.
type Error struct {
	Problems []Problem
	More     bool // reading stopped at the twentieth; there may be more
}

// Error returns one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.Where+": "+p.Message)
	}
	if e.More {
		lines = append(lines, fmt.Sprintf("stopped after %d problems", len(e.Problems)))
	}
	return strings.Join(lines, "\n")
}

// Add appends problems of one place and reports whether there is room for more.
func (e *Error) Add(where string, messages ...string) bool {
	for _, m := range messages {
		if len(e.Problems) == MaxProblems {
			e.More = true
			return false
		}
		e.Problems = append(e.Problems, Problem{where, m})
	}
	return true
}

// OrNil returns the error, or nil if there are no problems.
func (e *Error) OrNil() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// Nearest returns the accepted name that is most like the given one; empty =
// none is close enough to be meant.
func Nearest(name string, accepted []string) string {
	meant := map[string]string{"prompt": "text", "prompts": "texts", "content": "text", "question": "text", "system_prompt": "system", "max_tokens": "output_length"}[strings.ToLower(name)]
	if slices.Contains(accepted, meant) {
		return meant
	}
	return suggest.Nearest(name, accepted, len(name)/3+1)
}

// Clip shortens a text of a file for a message.
func Clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
