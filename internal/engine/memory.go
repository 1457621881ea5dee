package engine

import (
	"io/fs"

	"aiperfd/internal/engine/monitor"
)

// The memory that the responses in flight may take together: a share of what this
// process may use, because buffers that grow, and decoding, take several times as
// much for a moment.
const (
	memoryShare  = 8         // one part in so many
	leastMemory  = 256 << 20 // bytes
	memoryIfNone = 1 << 30   // bytes, if no limit is known

	noMemoryLimit = 1 << 60 // limits from here on are none
)

// responseMemory returns that share in bytes. limit is the runtime's own limit of
// memory (GOMEMLIMIT); the machine's and those of control
// groups are read below root.
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
