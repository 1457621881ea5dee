package truth

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// FlushEvery is how long a record waits at most before it is written.
const FlushEvery = time.Second

const (
	fileMode = 0o644
	// batchSize is how many bytes wake the writer before the second is over, and
	// maxBacklog how many may wait for the disk before requests wait for it too.
	batchSize  = 256 << 10
	maxBacklog = 8 << 20
)

// File appends lines to a file. One goroutine owns the file; write is safe
// for concurrent use and blocks while the backlog is full.
type File struct {
	mu     sync.Mutex
	room   sync.Cond // the backlog was taken, or the file is closed
	lines  []byte    // not written yet
	closed bool

	full chan struct{} // buffered 1; lines has a batch
	stop chan struct{} // closed by close: write what is there and end
	done chan error    // buffered 1; the result of the writer
}

// Open creates path, or truncates it, and starts the writer.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	if err != nil {
		return nil, fmt.Errorf("open truth file: %w", err)
	}
	t := &File{full: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan error, 1)}
	t.room.L = &t.mu
	go func() { t.done <- t.run(f) }()
	return t, nil
}

// Write queues the line of a truth; it is dropped when the file is closed
// already.
func (t *File) Write(truth *Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.lines) >= maxBacklog && !t.closed {
		t.room.Wait()
	}
	if t.closed {
		return
	}
	t.lines = AppendLine(t.lines, truth)
	if len(t.lines) >= batchSize {
		select {
		case t.full <- struct{}{}:
		default: // the writer knows
		}
	}
}

// take returns what is queued and leaves the empty buffer spare in its place.
func (t *File) take(spare []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	t.lines = spare[:0]
	t.room.Broadcast()
	return lines
}

// run writes lines until stop. After an error it goes on to take lines, so that
// no request hangs, and reports the first error at the end.
func (t *File) run(f *os.File) error {
	tick := time.NewTicker(FlushEvery)
	defer tick.Stop()
	var buf []byte
	var failed error
	for stop := false; !stop; {
		select {
		case <-t.full:
		case <-tick.C:
		case <-t.stop:
			stop = true
		}
		if buf = t.take(buf); failed == nil {
			_, failed = f.Write(buf)
		}
	}
	return errors.Join(failed, f.Close())
}

// Close writes what is queued and waits for the writer. Call it once.
func (t *File) Close() error {
	t.mu.Lock()
	t.closed = true
	t.room.Broadcast()
	t.mu.Unlock()
	close(t.stop)
	if err := <-t.done; err != nil {
		return fmt.Errorf("write truth file: %w", err)
	}
	return nil
}
