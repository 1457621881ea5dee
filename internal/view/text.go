// Package view formats for people: numbers, text in the columns of a terminal, and tables. It performs
// no output.
package view

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// cells measures text in columns of a terminal. It does not depend on the
// environment, so that files come out the same everywhere.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// Width returns the width of one line in columns; ANSI renditions have none.
func Width(line string) int { return cells().StringWidth(Unstyled(line)) }

// Truncate cuts a line without renditions to a width; what is cut off is replaced by tail.
func Truncate(line string, width int, tail string) string {
	return cells().Truncate(line, width, tail)
}

// Fit makes text of any origin one line of at most width columns.
func Fit(text string, width int) string { return Truncate(Printable(text), width, "...") }

// Unstyled removes ANSI renditions ("\x1b[…m").
func Unstyled(s string) string {
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

// Invisible reports whether a character leaves no mark on a screen: a control character
// but for tab and line break, a format character, a filler, a selector of variants, or
// U+FFFD, which stands for a byte that is no text. Programs remove these from texts, and
// then what they have separated stands together. Everything that removes characters
// from texts of servers uses this function, so that a redact.Set finds in a text what
// is found in it afterwards.
func Invisible(r rune) bool {
	const firstFormat, lastBefore, firstAfter = 0xad, 0x3164, 0xfe00 // between the last two are no such characters
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r < firstFormat:
		return unicode.IsControl(r)
	case lastBefore < r && r < firstAfter:
		return false
	}
	return r == utf8.RuneError ||
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Printable makes text of unknown origin fit for a terminal: white space becomes
// a blank, other characters that control the terminal or the direction of
// writing are dropped.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case Invisible(r):
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

// Wrap breaks text into lines of at most width columns, at blanks and inside words
// that are longer than a line. Its time is linear in the length of the text.
func Wrap(text string, width int) string {
	var lines []string
	for part := range strings.SplitSeq(text, "\n") {
		line, used := "", 0
		for _, word := range withUnits(strings.Fields(part), width) {
			for word != "" {
				head := Truncate(beginning(word, width), width, "")
				if head == "" {
					head = word // not even one character fits
				}
				w := Width(head)
				switch {
				case line == "":
					line, used = head, w
				case head == word && used+1+w <= width:
					line, used = line+" "+head, used+1+w
				default:
					lines, line, used = append(lines, line), head, w
				}
				if word = word[len(head):]; word != "" {
					lines, line, used = append(lines, line), "", 0
				}
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// units are the units that stay on the line of their number.
var units = [...]string{"ms", "s", "sec", "%", "req/s", "tok/s", "requests/s", "tokens/s"}

// withUnits joins units to the numbers before them, so that no line of a width ends between
// them.
func withUnits(words []string, width int) []string {
	out := make([]string, 0, len(words))
	for _, word := range words {
		if n := len(out); n > 0 && len(out[n-1])+1+len(word) <= width {
			digit := strings.TrimSuffix(out[n-1], "*")
			unit := strings.TrimRight(word, ",.;:)")
			if digit != "" && isDigit(digit[len(digit)-1]) && slices.Contains(units[:], unit) {
				out[n-1] += " " + word
				continue
			}
		}
		out = append(out, word)
	}
	return out
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// beginning returns the first characters of a word, at least width columns if the word
// has as many. It limits the bytes that are measured.
func beginning(word string, width int) string {
	most := 8*width + 64
	if len(word) <= most {
		return word
	}
	for most > 0 && !utf8.RuneStart(word[most]) {
		most--
	}
	return word[:most]
}

// Hang joins words to lines of at most width columns, and never splits a word. joint is what
// stands between two lines: a line break and the indent of the next line. An empty word is one more blank between its
// neighbors if they are on one line.
func Hang(words []string, width int, joint string) string {
	indent := len(joint) - strings.LastIndexByte(joint, '\n') - 1
	var out strings.Builder
	used, blanks := 0, 1
	for i, word := range withUnits(words, width) {
		w := Width(word)
		switch {
		case i == 0:
		case word == "":
			blanks++
			continue
		case used+blanks+w > width:
			out.WriteString(joint)
			used = indent
		default:
			out.WriteString(strings.Repeat(" ", blanks))
			used += blanks
		}
		blanks = 1
		out.WriteString(word)
		used += w
	}
	return out.String()
}
