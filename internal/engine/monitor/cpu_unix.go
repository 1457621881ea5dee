//go:build unix

package monitor

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time of this process so far, user and system; nil =
// the system does not report it.
func CPUTime() *time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return nil
	}
	used := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	return &used
}
