package monitor

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// MemoryLimit returns the memory that this process may use, in bytes: the least of
// the machine's memory and the limits of its control group and those above it, read
// below root. False if nothing is known.
func MemoryLimit(root fs.FS) (bytes int64, ok bool) {
	const none = 1 << 60 // what version 1 of control groups reports without a limit is larger
	bytes = none
	for _, file := range limitFiles(readText(root, "proc/self/cgroup")) {
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

// limitFiles returns the files with the limits of the control groups of this process, of
// both versions. A container sees its own group as the root.
func limitFiles(groups string) []string {
	const newer, older = "sys/fs/cgroup", "sys/fs/cgroup/memory"
	files := []string{newer + "/memory.max", older + "/memory.limit_in_bytes"}
	for line := range strings.Lines(groups) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		for group = path.Clean("/" + group); group != "/"; group = path.Dir(group) {
			switch {
			case controllers == "":
				files = append(files, newer+group+"/memory.max")
			case slices.Contains(strings.Split(controllers, ","), "memory"):
				files = append(files, older+group+"/memory.limit_in_bytes")
			}
		}
	}
	return files
}
