package engine

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// readProcess fills p from getrusage(2) and proc(5). What cannot be read stays
// zero.
func readProcess(p *run.Process) {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) == nil {
		p.CPUUser = time.Duration(use.Utime.Nano())
		p.CPUSystem = time.Duration(use.Stime.Nano())
		p.VoluntarySwitches, p.InvoluntarySwitches = use.Nvcsw, use.Nivcsw
	}
	status := procFields("/proc/self/status")
	p.RSS = bench.Bytes(status["VmRSS"] << 10) // the file counts KiB
	p.Threads = int(status["Threads"])
	if info, err := os.Stat("/proc/self"); err == nil {
		p.Created = info.ModTime().UTC()
	}
	if io := procFields("/proc/self/io"); len(io) > 0 {
		p.IO = &run.IO{
			ReadOps: io["syscr"], WriteOps: io["syscw"], ReadBytes: io["read_bytes"],
			WriteBytes: io["write_bytes"], ReadChars: io["rchar"], WriteChars: io["wchar"],
		}
	}
}

// procFields reads a file of "name: number [unit]" lines; nil if it cannot.
func procFields(path string) map[string]int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	out := map[string]int64{}
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		name, rest, _ := strings.Cut(sc.Text(), ":")
		if words := strings.Fields(rest); len(words) > 0 {
			if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
				out[name] = n
			}
		}
	}
	return out
}
