//go:build amd64 || arm64

package transport

import (
	"bytes"
	"time"
)

// The size and the age at which a backlog is parsed.
const (
	backlogBytes = 2 << 10
	backlogAge   = 500 * time.Millisecond
)

// backlog holds reads of a stream that have timestamps and are not parsed yet: nothing
// depends on reads in the middle of a stream. With a thousand streams the memory for
// parsing an event is not in the cache; for several events in a row it is loaded once.
type backlog struct {
	bytes []byte
	reads []lateRead
}

// lateRead is one read of a backlog.
type lateRead struct {
	at  time.Duration
	end int // in bytes
}

// middle reports whether a read of a chunked stream ends with an event and its chunk,
// so that the stream continues. The last chunk and the trailers end with two CRLF.
func middle(b []byte) bool {
	return bytes.HasSuffix(b, []byte("\n\n\r\n")) && !bytes.HasSuffix(b, []byte("[DONE]\n\n\r\n"))
}

// add adds a read, and reports whether there is room for more.
func (l *backlog) add(at time.Duration, b []byte) bool {
	l.bytes = append(l.bytes, b...)
	l.reads = append(l.reads, lateRead{at, len(l.bytes)})
	return len(l.bytes) < backlogBytes
}

// empty removes all reads and keeps the memory.
func (l *backlog) empty() { l.bytes, l.reads = l.bytes[:0], l.reads[:0] }
