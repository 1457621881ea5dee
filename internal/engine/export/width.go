package export

import (
	"strings"

	"github.com/mattn/go-runewidth"

	"aiperfd/internal/engine/redact"
)

// cells measures text in columns of a terminal. It does not depend on the
// environment, so that files come out the same everywhere.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// TextWidth returns the width of one line in columns; ANSI renditions have none.
func TextWidth(s string) int { return cells().StringWidth(withoutStyle(s)) }

// textWidth is TextWidth for text without renditions.
func textWidth(s string) int { return cells().StringWidth(s) }

// truncate cuts a line to a width; what is cut off is replaced by tail.
func truncate(s string, width int, tail string) string { return cells().Truncate(s, width, tail) }

// Fit makes text of any origin one line of at most width columns.
func Fit(text string, width int) string { return truncate(Printable(text), width, "...") }

// Wrap makes text of any origin lines of at most width columns, broken between words; its
// own lines stay apart.
func Wrap(text string, width int) string { return wrap(PrintableLines(text), width) }

// withoutStyle removes ANSI renditions ("\x1b[…m").
func withoutStyle(s string) string {
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		if !ok {
			return s
		}
		_, after, ok = strings.Cut(after, "m")
		if !ok {
			return before
		}
		s = before + after
	}
}

// Printable makes text of unknown origin fit for a terminal: white space becomes
// a blank, other characters that control the terminal or the direction of
// writing are dropped.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case redact.Invisible(r):
			return -1
		}
		return r
	}, s)
}

// PrintableLines is [Printable] for text of several lines, which stay apart.
func PrintableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
