//go:build !linux

package monitor

import (
	"os"
	"runtime"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// ReadUsage returns the figures of the Go runtime, without those of the system.
func ReadUsage() run.Process {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return run.Process{PID: os.Getpid(), Goroutines: runtime.NumGoroutine(), RSS: bench.Bytes(mem.Sys)}
}
