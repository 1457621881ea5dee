package engine

import (
	"io/fs"
	"strconv"
	"strings"
)

// What the responses under way may keep together: a share of the memory that this
// process may use, because buffers that grow, and decoding, take several times as
// much for a moment.
const (
	memoryShare  = 8         // one part in so many
	leastMemory  = 256 << 20 // bytes
	memoryIfNone = 1 << 30   // bytes, where nobody says how much there is
)

// responseMemory returns that share in bytes. limit is the runtime's own limit of
// memory (GOMEMLIMIT); the machine's and those of control groups are read below
// root, as a container sees them.
func responseMemory(root fs.FS, limit int64) int64 {
	const none = 1 << 60 // version 1 of control groups has a limit of that size for none
	whole := limit
	for _, file := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if data, err := fs.ReadFile(root, file); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 {
				whole = min(whole, n)
			}
		}
	}
	if data, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		if words := strings.Fields(string(data)); len(words) > 1 && words[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(words[1], 10, 64); err == nil && kib > 0 && kib < none>>10 {
				whole = min(whole, kib<<10)
			}
		}
	}
	if whole >= none {
		return memoryIfNone
	}
	return max(whole/memoryShare, leastMemory)
}
