//go:build !linux

package monitor

import "runtime"

// ReadUsage returns the figures of the Go runtime, without those of the system.
func ReadUsage() Usage {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return Usage{RSS: int64(mem.Sys)}
}
