//go:build !linux

package monitor

import "runtime"

// ReadUsage returns what the Go runtime knows without the system.
func ReadUsage() Usage {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return Usage{RSS: int64(mem.Sys)}
}
