package monitor

import (
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// ReadUsage returns what this process has used since its start, from getrusage(2) and proc(5). What
// the system does not report is zero.
func ReadUsage() run.Process {
	u := run.Process{PID: os.Getpid(), Goroutines: runtime.NumGoroutine()}
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) == nil {
		u.CPUUser, u.CPUSystem = time.Duration(use.Utime.Nano()), time.Duration(use.Stime.Nano())
		u.VoluntarySwitches, u.InvoluntarySwitches = use.Nvcsw, use.Nivcsw
	}
	root := os.DirFS("/")
	status := fields(root, "proc/self/status")
	u.RSS = bench.Bytes(status["VmRSS"] << 10) // the file counts KiB
	u.Threads = int(status["Threads"])
	if info, err := os.Stat("/proc/self"); err == nil {
		u.Created = info.ModTime().UTC()
	}
	if io := fields(root, "proc/self/io"); len(io) > 0 {
		u.IO = &run.IO{
			ReadOps: io["syscr"], WriteOps: io["syscw"], ReadBytes: io["read_bytes"],
			WriteBytes: io["write_bytes"], ReadChars: io["rchar"], WriteChars: io["wchar"],
		}
	}
	return u
}

// fields reads a file of "name: number [unit]" lines; empty if it cannot be read.
func fields(root fs.FS, name string) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(readText(root, name)) {
		name, rest, _ := strings.Cut(line, ":")
		if words := strings.Fields(rest); len(words) > 0 {
			if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
				out[name] = n
			}
		}
	}
	return out
}
