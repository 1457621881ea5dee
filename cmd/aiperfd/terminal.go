package main

import (
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether somebody sits at the other end of a file.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colored reports whether output to f should have colours (see no-color.org).
func colored(f *os.File) bool {
	_, off := os.LookupEnv("NO_COLOR")
	return isTerminal(f) && !off && os.Getenv("TERM") != "dumb"
}
