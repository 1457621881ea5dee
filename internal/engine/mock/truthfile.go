package mock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	truthFlushEvery = time.Second
	truthFileMode   = 0o644
	// truthBacklog is how many lines may wait for the disk before requests wait
	// for it too: a second's worth at a few thousand requests a second.
	truthBacklog = 4096
)

// truthFile appends lines to a file. One goroutine owns the file; write is safe
// for concurrent use and blocks while the backlog is full.
type truthFile struct {
	lines chan []byte
	stop  chan struct{} // closed by close: write what is queued and end
	done  chan error    // buffered 1; the result of the writer
}

// openTruthFile creates path, or truncates it, and starts the writer.
func openTruthFile(path string) (*truthFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, truthFileMode)
	if err != nil {
		return nil, fmt.Errorf("open truth file: %w", err)
	}
	t := &truthFile{
		lines: make(chan []byte, truthBacklog),
		stop:  make(chan struct{}),
		done:  make(chan error, 1),
	}
	go func() { t.done <- t.run(f) }()
	return t, nil
}

// write queues one line; it is dropped when the file is closed already.
func (t *truthFile) write(line []byte) {
	select {
	case t.lines <- line:
	case <-t.stop:
	}
}

// run writes lines until stop. After an error it goes on to take lines, so that
// no request hangs, and reports the first error at the end.
func (t *truthFile) run(f *os.File) error {
	w := bufio.NewWriterSize(f, 64<<10)
	tick := time.NewTicker(truthFlushEvery)
	defer tick.Stop()
	for {
		// bufio remembers the first error, and Flush below returns it.
		select {
		case line := <-t.lines:
			w.Write(line)
		case <-tick.C:
			w.Flush()
		case <-t.stop:
			for range len(t.lines) {
				w.Write(<-t.lines)
			}
			return errors.Join(w.Flush(), f.Close())
		}
	}
}

// close writes what is queued and waits for the writer. Call it once.
func (t *truthFile) close() error {
	close(t.stop)
	if err := <-t.done; err != nil {
		return fmt.Errorf("write truth file: %w", err)
	}
	return nil
}
