package listen

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// kept is the number of file descriptors that a listener keeps for probes.
const kept = 16

// descriptors are open files that only hold their file descriptors, so that connections
// can be accepted when the process has as many files open as it may. The zero value holds
// none. It is safe for concurrent use.
type descriptors struct {
	mu    sync.Mutex
	files []*os.File // guarded by mu
	done  bool       // guarded by mu
}

// fill opens files up to kept, as far as the process may.
func (d *descriptors) fill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.done && len(d.files) < kept {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return // the next call tries again
		}
		d.files = append(d.files, f)
	}
}

// release closes one of the files; false if there is none.
func (d *descriptors) release() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := len(d.files) - 1
	if last < 0 {
		return false
	}
	d.files[last].Close() // it was only read from
	d.files = d.files[:last]
	return true
}

// close closes all files for good.
func (d *descriptors) close() {
	d.mu.Lock()
	d.done = true
	d.mu.Unlock()
	for d.release() {
	}
}

// exhausted reports whether an error means that no more files can be opened.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
