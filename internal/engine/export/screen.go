package export

import (
	"cmp"
	"fmt"
	"strings"

	"aiperfd/internal/view"
)

// style is an ANSI rendition.
type style string

const (
	bold   style = "1"
	red    style = "1;31"
	yellow style = "33"
	green  style = "32"
)

// screen writes text for a terminal: lines, names with values, boxes and tables.
type screen struct {
	width int  // columns
	color bool // with ANSI escapes
	ascii bool // without other characters
	boxes *view.Border
	text  strings.Builder
}

// paint returns text in a style.
func (s *screen) paint(st style, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + string(st) + "m" + text + "\x1b[0m"
}

// line writes a line.
func (s *screen) line(text string) {
	s.text.WriteString(text)
	s.text.WriteByte('\n')
}

// fact prints a name and a value; further lines of the value are indented.
func (s *screen) fact(st style, name, value string) {
	const indent = 11
	label := fmt.Sprintf("%-*s", indent, name+":")
	value = view.Wrap(view.Printable(value), s.width-indent)
	value = strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", indent))
	s.line(s.paint(st, label) + value)
}

// panel prints text in a box with a title in its upper edge.
func (s *screen) panel(st style, title, text string) {
	s.text.WriteString(s.boxes.Panel(title, text, s.width, func(text string) string { return s.paint(st, text) }))
}

// headlineIndent is the width of the names in the headline.
const headlineIndent = 12

// entry prints a name and a value on at most so many lines, and truncates the value
// if it needs more; 0 = on as many as it needs.
func (s *screen) entry(st style, name, value string, most int) {
	width := s.width - headlineIndent
	lines := strings.Split(view.Wrap(view.Printable(value), width), "\n")
	if most > 0 && len(lines) > most {
		lines[most-1] = view.Truncate(lines[most-1]+" "+lines[most], width, "...")
		if !strings.HasSuffix(lines[most-1], "...") {
			lines[most-1] += "..."
		}
		lines = lines[:most]
	}
	for i, line := range lines {
		if i > 0 {
			name = ""
		}
		s.line(s.paint(cmp.Or(st, bold), fmt.Sprintf("%-*s", headlineIndent, name)) + s.paint(st, line))
	}
}

// entryLines returns the number of lines that an entry needs.
func (s *screen) entryLines(value string) int {
	return 1 + strings.Count(view.Wrap(view.Printable(value), s.width-headlineIndent), "\n")
}

// sign returns a character, or its substitute in ASCII.
func (s *screen) sign(unicode, ascii string) string {
	if s.ascii {
		return ascii
	}
	return unicode
}

// lines returns the number of lines so far.
func (s *screen) lines() int { return strings.Count(s.text.String(), "\n") }
