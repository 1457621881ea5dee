package main

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// isTerminal reports whether somebody sits at the other end of a file.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colored reports whether output to f should have colours (see no-color.org).
func colored(f *os.File) bool { return isTerminal(f) && colorWanted(os.Getenv) }

// colorWanted reports whether the environment allows colours on a terminal.
func colorWanted(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// redrawable reports whether lines that were written to f can be replaced.
func redrawable(f *os.File) bool { return isTerminal(f) && os.Getenv("TERM") != "dumb" }

// asciiOnly reports whether the locale has no UTF-8: the first of LC_ALL,
// LC_CTYPE and LANG that is set decides (POSIX 8.2), and none is the C locale.
func asciiOnly(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return !strings.Contains(strings.ReplaceAll(locale, "-", ""), "utf8")
		}
	}
	return runtime.GOOS != "windows" // consoles there have no locale variables
}

// columns returns the width of the terminal f, 0 if it is none.
func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
