package monitor

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// system reads the totals that Linux keeps.
type system struct {
	root    fs.FS // of the file system
	threads threads
}

func newSystem() system { return system{root: os.DirFS("/")} }

func (s *system) fill(t *Totals) {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
		t.At = time.Duration(now.Nano())
	}
	t.CPU = CPUTime()
	var mine unix.CPUSet
	allowed := func(int) bool { return true }
	if unix.SchedGetaffinity(0, &mine) == nil {
		allowed = mine.IsSet
	}
	t.Machine = readMachine(s.root, allowed)
	t.RunQueue = s.threads.read(s.root)
	t.Cgroup = readCgroup(s.root)
	t.Network = readNetwork(s.root)
	t.Governor, t.MHz = readGovernor(s.root, allowed)
	t.RSS = readRSS(s.root, os.Getpagesize())
}
