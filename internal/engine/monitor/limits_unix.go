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

// FileLimit returns how many files the process may have open; ok = false if it is not
// known.
func FileLimit() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true //nolint:unconvert // signed on some systems
}
