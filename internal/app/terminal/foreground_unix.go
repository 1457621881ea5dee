//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// Foreground reports whether f is a terminal that this process may read from. One in the
// background would be stopped by the attempt.
func Foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
