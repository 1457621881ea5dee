//go:build unix

package certify

import (
	"syscall"
	"time"
)

// processTime returns the processor time of this process so far; nil = the system
// does not tell.
func processTime() *time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return nil
	}
	used := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	return &used
}
