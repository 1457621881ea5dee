package truth

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// FlushEvery is the maximum delay before a record is written.
const FlushEvery = time.Second

const (
	fileMode = 0o644
	// batchSize is how many bytes wake the writer before the second is over, and
	// maxBacklog how many may wait for the disk before requests wait for it too.
	batchSize  = 256 << 10
	maxBacklog = 8 << 20
)

// File appends lines to a file. One goroutine owns the file; Write is safe for concurrent
// use and blocks while the backlog is full.
type File struct {
	mu     sync.Mutex
	room   sync.Cond // the backlog was taken, or the file is closed
	lines  []byte    // not written yet
	closed bool

	full chan struct{} // buffered 1; lines has a batch
	stop chan struct{} // closed by Close: write the queued lines and end
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

// Write queues the line of a record. It drops the line if the file is closed.
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
		default: // the writer will wake up already
		}
	}
}

// take returns the queued lines and replaces them by the empty buffer spare.
func (t *File) take(spare []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	t.lines = spare[:0]
	t.room.Broadcast()
	return lines
}

// run writes lines until stop is closed. After an error it continues to take lines, so
// that no request blocks, and reports the first error at the end.
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

// Close writes the queued lines and waits for the writer. It must be called once.
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
