//go:build amd64 || arm64

package transport

import (
	"bytes"
	"sync"
	"time"
)

// The size and the age at which a backlog is parsed, and the memory that it begins with and
// that is kept: a backlog is as large as that size and its last read.
const (
	backlogBytes  = 768
	backlogAge    = 250 * time.Millisecond
	backlogMemory = 1 << 10
	backlogReads  = 8
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

// newBacklog returns an empty backlog, if possible from the pool.
func newBacklog(pool *sync.Pool) *backlog {
	if l, ok := pool.Get().(*backlog); ok {
		return l
	}
	return &backlog{bytes: make([]byte, 0, backlogMemory), reads: make([]lateRead, 0, backlogReads)}
}

// free gives a backlog back to the pool.
func (l *backlog) free(pool *sync.Pool) {
	if cap(l.bytes) == backlogMemory && cap(l.reads) == backlogReads {
		l.bytes, l.reads = l.bytes[:0], l.reads[:0]
		pool.Put(l)
	}
}

// add adds a read, and reports whether there is room for more.
func (l *backlog) add(at time.Duration, b []byte) bool {
	l.bytes = append(l.bytes, b...)
	l.reads = append(l.reads, lateRead{at, len(l.bytes)})
	return len(l.bytes) < backlogBytes
}
