// Package terminal draws on terminals and writes lines where there is none: the progress of a run,
// log lines, results. It knows what a terminal can display; package view has the numbers and tables.
package terminal

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Colored reports whether output to f should have colours (see no-color.org).
func Colored(f *os.File) bool { return IsTerminal(f) && colorWanted(os.Getenv) }

// colorWanted reports whether the environment allows colours on a terminal.
func colorWanted(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Redrawable reports whether lines that were written to f can be replaced.
func Redrawable(f *os.File) bool { return IsTerminal(f) && os.Getenv("TERM") != "dumb" }

// ASCIIOnly reports whether the locale has no UTF-8: the first of LC_ALL,
// LC_CTYPE and LANG that is set decides (POSIX 8.2), and none is the C locale.
func ASCIIOnly(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return !strings.Contains(strings.ReplaceAll(locale, "-", ""), "utf8")
		}
	}
	return runtime.GOOS != "windows" // consoles there have no locale variables
}

// Columns returns the width of the terminal f, 0 if it is none.
func Columns(f *os.File) int {
	width, _ := Size(f)
	return width
}

// Size returns the columns and lines of the terminal f, 0 if it is none.
func Size(f *os.File) (columns, lines int) {
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}
