//go:build !unix

package monitor

// FileLimit returns how many files the process may have open; ok = false if it is not
// known.
func FileLimit() (n uint64, ok bool) { return 0, false }
