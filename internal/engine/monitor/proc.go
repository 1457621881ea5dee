package monitor

import (
	"bytes"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/verdict"
)

// tickLength is the unit of /proc/stat: USER_HZ is 100 on every architecture
// that Go runs on.
const tickLength = 10 * time.Millisecond

// readMachine adds up the lines of /proc/stat of the processors that are
// allowed: proc(5). nil if there are none.
func readMachine(root fs.FS, allowed func(cpu int) bool) *Machine {
	data, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return nil
	}
	m := &Machine{}
	for line := range bytes.Lines(data) {
		words := strings.Fields(string(line))
		if len(words) < 9 || !strings.HasPrefix(words[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(words[0][len("cpu"):])
		if err != nil || !allowed(cpu) {
			continue // the line of all processors has no number
		}
		// user nice system idle iowait irq softirq steal; guests are in user.
		n := numbers(words[1:9])
		m.Cores++
		m.Busy += time.Duration(n[0]+n[1]+n[2]+n[5]+n[6]) * tickLength
		m.Idle += time.Duration(n[3]+n[4]) * tickLength
		m.Steal += time.Duration(n[7]) * tickLength
	}
	if m.Cores == 0 {
		return nil
	}
	return m
}

// numbers parses integers; 0 for words that are none.
func numbers(words []string) []int64 {
	out := make([]int64, len(words))
	for i, w := range words {
		if n, err := strconv.ParseInt(w, 10, 64); err == nil {
			out[i] = n
		}
	}
	return out
}

// threads sums the run-queue waits of the threads of this process. The total of a
// thread is lost when it ends, so totals are kept here.
type threads struct {
	seen  map[string]verdict.RunQueue // by thread id
	total verdict.RunQueue
}

// mostThreads bounds the work of one reading: about 10 µs a thread.
const mostThreads = 256

// read reads all threads: the file of the process covers its first thread only. nil if the kernel does not report them.
func (t *threads) read(root fs.FS) *verdict.RunQueue {
	const dir = "proc/self/task"
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return nil
	}
	now := make(map[string]verdict.RunQueue, len(entries))
	for _, e := range entries[:min(len(entries), mostThreads)] {
		data, err := fs.ReadFile(root, dir+"/"+e.Name()+"/schedstat")
		if err != nil {
			continue // the thread has just ended
		}
		words := strings.Fields(string(data)) // on the processor, ready for it (ns); times that it got it
		if len(words) < 3 {
			continue
		}
		n := numbers(words[:3])
		q := verdict.RunQueue{Wait: time.Duration(n[1]), Slices: n[2]}
		before := t.seen[e.Name()]
		if q.Slices < before.Slices {
			before = verdict.RunQueue{} // a new thread with an old id
		}
		t.total.Wait += q.Wait - before.Wait
		t.total.Slices += q.Slices - before.Slices
		now[e.Name()] = q
	}
	if len(now) == 0 {
		return nil
	}
	t.seen = now
	total := t.total
	return &total
}

// readRSS returns the resident memory in bytes; 0 if it is unknown.
func readRSS(root fs.FS, page int) int64 {
	data, err := fs.ReadFile(root, "proc/self/statm")
	if err != nil {
		return 0
	}
	words := strings.Fields(string(data)) // size, resident, … in pages
	if len(words) < 2 {
		return 0
	}
	return numbers(words[1:2])[0] * int64(page)
}
