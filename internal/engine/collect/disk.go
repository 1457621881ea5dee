package collect

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
)

// DefaultReserve is the free disk space that record files leave by default: room for the
// results of the run.
const DefaultReserve = 32 << 20

// warnDiskFull is the warning on a run that could not record all requests.
const warnDiskFull = "disk-full"

// disk stops the record files of a run before they fill the disk: the results, which are
// written last, need room too. Files that have stopped do not go on, so that they have no
// gap. Safe for concurrent use. nil = without limit.
type disk struct {
	dir     string
	reserve int64
	free    func(dir string) (int64, error)
	alarm   func(text string)

	low atomic.Bool

	mu      sync.Mutex
	lacking []lack // guarded by mu; in the order in which the files have stopped
}

// lack is a file that lacks requests.
type lack struct {
	name     string
	requests int
}

// newDisk returns the disk of a folder. At most a quarter of what is free now is reserved.
func newDisk(dir string, reserve int64, alarm func(text string)) *disk {
	d := &disk{dir: dir, reserve: reserve, free: durable.Free, alarm: alarm}
	if free, err := d.free(dir); err == nil {
		d.reserve = min(reserve, free/4)
	}
	return d
}

// look checks the free space.
func (d *disk) look() {
	if d == nil || d.low.Load() {
		return
	}
	if free, err := d.free(d.dir); err == nil && free < d.reserve {
		d.stop()
	}
}

func (d *disk) stop() {
	if d.low.CompareAndSwap(false, true) && d.alarm != nil {
		d.alarm("the disk is nearly full: the run continues, but its requests are no longer recorded")
	}
}

// stopped reports whether a request can no longer be written to a file.
func (d *disk) stopped(file string) bool {
	if d == nil || !d.low.Load() {
		return false
	}
	d.lack(file)
	return true
}

// filled reports whether the error of a file means that the disk is full. Then it stops
// all files.
func (d *disk) filled(file string, err error) bool {
	if d == nil || !durable.Full(err) {
		return false
	}
	d.stop()
	d.lack(file)
	return true
}

func (d *disk) lack(file string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := filepath.Base(file)
	for i := range d.lacking {
		if d.lacking[i].name == name {
			d.lacking[i].requests++
			return
		}
	}
	d.lacking = append(d.lacking, lack{name, 1})
}

// incomplete returns the files that lack requests, and the warning that says so.
func (d *disk) incomplete() (names []string, w bench.Warning) {
	if d == nil {
		return nil, w
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var texts []string
	for _, l := range d.lacking {
		names = append(names, l.name)
		texts = append(texts, fmt.Sprintf("%s lacks the last %d or more", l.name, l.requests))
	}
	return names, bench.Warning{Code: warnDiskFull, Detail: fmt.Sprintf(
		"the disk was nearly full, so that not all requests were recorded: %s; the results include all requests", strings.Join(texts, ", "))}
}

// whole is a file that contains complete writes only: a failed one leaves nothing.
type whole struct {
	file interface {
		Write(b []byte) (int, error)
		Seek(offset int64, whence int) (int64, error)
		Truncate(size int64) error
	}
	size int64
}

// Write implements io.Writer.
func (w *whole) Write(b []byte) (int, error) {
	n, err := w.file.Write(b)
	if err != nil {
		if w.file.Truncate(w.size) == nil {
			_, _ = w.file.Seek(w.size, 0) // if it fails, the next write fails too
		}
		return 0, err
	}
	w.size += int64(n)
	return n, nil
}
