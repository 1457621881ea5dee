//go:build !unix

package monitor

import "time"

// CPUTime returns nil: the system does not report it.
func CPUTime() *time.Duration { return nil }

// FileLimit returns how many files the process may have open; ok = false if it is not
// known.
func FileLimit() (n uint64, ok bool) { return 0, false }

// RaiseFileLimit does nothing: the system has no such limit.
func RaiseFileLimit(uint64) (limit uint64, ok bool) { return 0, false }
