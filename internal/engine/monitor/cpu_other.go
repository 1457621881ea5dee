//go:build !unix

package monitor

import "time"

// CPUTime returns nil: the system does not report it.
func CPUTime() *time.Duration { return nil }
