//go:build !linux

package engine

import (
	"runtime"

	"aiperfd/internal/engine/bench"
)

// readProcess fills p with what the Go runtime alone can tell.
func readProcess(p *Process) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	p.RSS = bench.Bytes(mem.Sys)
}
