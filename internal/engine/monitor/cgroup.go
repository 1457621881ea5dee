package monitor

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/verdict"
)

// readCgroup returns the tightest processor limit of the control groups of this
// process, and for how long it was throttled by it; nil without a limit. Groups are
// of version 2 (cgroup-v2.rst of the kernel's documentation) or 1 (sched-bwc.rst).
func readCgroup(root fs.FS) *verdict.Cgroup {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var tightest *verdict.Cgroup
	for line := range bytes.Lines(data) {
		// number:controllers:path; version 2 has number 0 and no controllers.
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var mounts []string
		read := limitV1
		switch {
		case parts[0] == "0" && parts[1] == "":
			mounts, read = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, limitV2
		case slices.Contains(strings.Split(parts[1], ","), "cpu"):
			mounts = []string{"sys/fs/cgroup/" + parts[1], "sys/fs/cgroup/cpu"}
		default:
			continue
		}
		for _, mount := range mounts {
			// A limit of a group holds for all groups below it.
			for dir := path.Join(mount, parts[2]); strings.HasPrefix(dir, mount); dir = path.Dir(dir) {
				if g := read(root, dir); g != nil && (tightest == nil || g.Quota < tightest.Quota) {
					tightest = g
				}
			}
		}
	}
	return tightest
}

// limitV2 reads the limit of one group of version 2; nil if it has none.
func limitV2(root fs.FS, dir string) *verdict.Cgroup {
	quota, period, _ := strings.Cut(readText(root, dir+"/cpu.max"), " ") // "max 100000", or quota and period in µs
	return limitOf(quota, period, statOf(readText(root, dir+"/cpu.stat"), "throttled_usec")*int64(time.Microsecond))
}

// limitV1 reads the limit of one group of version 1; nil if it has none.
func limitV1(root fs.FS, dir string) *verdict.Cgroup {
	quota, period := readText(root, dir+"/cpu.cfs_quota_us"), readText(root, dir+"/cpu.cfs_period_us")
	return limitOf(quota, period, statOf(readText(root, dir+"/cpu.stat"), "throttled_time"))
}

// limitOf returns the limit of a group that was throttled for some nanoseconds; nil if its quota is
// none, such as -1.
func limitOf(quota, period string, throttled int64) *verdict.Cgroup {
	used, err := strconv.ParseFloat(strings.TrimSpace(quota), 64)
	of, _ := strconv.ParseFloat(strings.TrimSpace(period), 64)
	if err != nil || used <= 0 || of <= 0 {
		return nil
	}
	return &verdict.Cgroup{Quota: used / of, Throttled: time.Duration(throttled)}
}

// readText returns the content of a file; empty if it cannot be read.
func readText(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(data)
}

// statOf returns a number of a file of "name number" lines.
func statOf(text, name string) int64 {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			return numbers(words[1:])[0]
		}
	}
	return 0
}
