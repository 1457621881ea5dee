package export

import "github.com/mattn/go-runewidth"

// cells measures text in columns of a terminal. It does not depend on the
// environment, so that files come out the same everywhere.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// textWidth returns the width of one line in columns.
func textWidth(s string) int { return cells().StringWidth(s) }

// truncate cuts a line to a width; what is cut off is replaced by tail.
func truncate(s string, width int, tail string) string { return cells().Truncate(s, width, tail) }
