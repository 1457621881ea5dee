//go:build !unix

package terminal

import "os"

// Foreground reports whether f is a terminal that this process may read from.
func Foreground(f *os.File) bool { return IsTerminal(f) }
