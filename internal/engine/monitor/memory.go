package monitor

import (
	"io/fs"
	"strconv"
	"strings"
)

// MemoryLimit returns the memory that this process may use, in bytes: the least of
// the machine's memory and the limits of control groups, as a container sees them
// below root. False if nothing is known.
func MemoryLimit(root fs.FS) (bytes int64, ok bool) {
	const none = 1 << 60 // what version 1 of control groups reports without a limit is larger
	bytes = none
	for _, file := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(readText(root, file)), 10, 64); err == nil && n > 0 {
			bytes = min(bytes, n)
		}
	}
	if words := strings.Fields(readText(root, "proc/meminfo")); len(words) > 1 && words[0] == "MemTotal:" {
		if kib, err := strconv.ParseInt(words[1], 10, 64); err == nil && kib > 0 && kib < none>>10 {
			bytes = min(bytes, kib<<10)
		}
	}
	return bytes, bytes < none
}
