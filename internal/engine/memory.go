package engine

import (
	"io/fs"

	"aiperfd/internal/engine/monitor"
)

// The memory that the responses in flight may take together: a share of the memory of
// this process, because decoding needs several times as much for a moment.
const (
	memoryShare  = 4        // the share is 1/4
	leastMemory  = 64 << 20 // bytes
	memoryIfNone = 1 << 30  // bytes, if no limit is known

	noMemoryLimit = 1 << 60 // larger limits count as none
)

// responseMemory returns that share in bytes. limit is the memory limit of the runtime
// (GOMEMLIMIT); the limits of the machine and of control groups are read below root.
func responseMemory(root fs.FS, limit int64) int64 {
	system, ok := monitor.MemoryLimit(root)
	switch {
	case ok:
		limit = min(limit, system)
	case limit >= noMemoryLimit:
		return memoryIfNone
	}
	return max(limit/memoryShare, leastMemory)
}
