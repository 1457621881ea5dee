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

// RaiseFileLimit raises the number of files that the process may have open to n, unless
// it is that high, and returns the number that applies then: with the rights for it
// above the hard limit, else up to that. ok = false if it is not known.
func RaiseFileLimit(n uint64) (limit uint64, ok bool) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		return 0, false
	}
	if uint64(now.Cur) < n { //nolint:unconvert // signed on some systems
		wanted := now
		setLimit(&wanted.Cur, n)
		setLimit(&wanted.Max, max(n, uint64(now.Max))) //nolint:unconvert // see above
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &wanted) != nil {
			now.Cur = now.Max
			_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now) // FileLimit returns what applies
		}
	}
	return FileLimit()
}

// setLimit sets a limit, which is signed on some systems.
func setLimit[T int64 | uint64](limit *T, n uint64) { *limit = T(n) }
