//go:build amd64 || arm64

package transport

import (
	"bytes"
	"time"
)

// A backlog of this size is looked at, or of this age.
const (
	backlogBytes = 2 << 10
	backlogAge   = 500 * time.Millisecond
)

// backlog holds reads of a stream that were stamped and not looked at yet. What is
// in the middle of a stream decides nothing. With a thousand streams the memory
// that reading an event touches is cold each time; for several in a row it is cold
// once.
type backlog struct {
	bytes []byte
	reads []lateRead
}

// lateRead is one read of a backlog.
type lateRead struct {
	at  time.Duration
	end int // in bytes
}

// middle reports whether a read of a chunked stream ends with an event and its
// chunk, so that there is more to come. The last chunk and the trailers end with
// two ends of line of HTTP.
func middle(b []byte) bool {
	return bytes.HasSuffix(b, []byte("\n\n\r\n")) && !bytes.HasSuffix(b, []byte("[DONE]\n\n\r\n"))
}

// add keeps a read, and reports whether there is room for more.
func (l *backlog) add(at time.Duration, b []byte) bool {
	l.bytes = append(l.bytes, b...)
	l.reads = append(l.reads, lateRead{at, len(l.bytes)})
	return len(l.bytes) < backlogBytes
}

// empty removes all reads and keeps the memory.
func (l *backlog) empty() { l.bytes, l.reads = l.bytes[:0], l.reads[:0] }
