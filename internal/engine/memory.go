package engine

import (
	"io/fs"

	"aiperfd/internal/engine/monitor"
)

// The memory that the responses in flight may take together: a share of the memory of
// this process, because growing buffers and decoding need several times as much for a
// moment.
const (
	memoryShare  = 8         // the share is 1/8
	leastMemory  = 256 << 20 // bytes
	memoryIfNone = 1 << 30   // bytes, if no limit is known

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
