//go:build unix

package monitor

import "syscall"

// FileLimit returns how many files the process may have open; ok = false if it is not
// known.
func FileLimit() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true //nolint:unconvert // signed on some systems
}
