package transport

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"aiperfd/internal/engine/sockstamp"
)

// The parts of RFC 9113 that say whose bytes are read.
const (
	frameHead       = 9 // bytes before the payload of a frame
	frameData       = 0x0
	frameHeaders    = 0x1
	frameSettings   = 0x4
	flagEndHeaders  = 0x4
	flagAck         = 0x1
	flagPadded      = 0x8
	settingStreams  = 0x3
	preface         = 24 // bytes that a client sends before its first frame
	unlimited       = 1000
	frameContinuing = 0x9
)

// maxOverhead bounds the bytes that a server may send on a connection while neither a
// request nor a response advances, 4 MiB: 246,723 PING frames. A server that is slow to
// answer sends a few per minute.
const maxOverhead = 4 << 20

// errOverhead ends a connection whose server sends frames that advance no response: PING,
// SETTINGS, PRIORITY, DATA that is empty or all padding, frames of unknown types and of
// streams that have ended. Without a bound, it could do so until the request timeout.
var errOverhead = errors.New("more than 4194304 bytes of HTTP/2 frames in a row that advance no request")

// frames finds frames in the bytes of a connection, in pieces of any size.
type frames struct {
	skip  int // bytes before the first frame
	head  [frameHead]byte
	have  int // of head
	left  int // of the payload
	kind  byte
	flags byte
	id    uint32
}

// scan calls each for every piece of a frame in b: once at least for a frame, with
// an empty payload where that is in the next read. began and ended tell the first
// and the last piece.
func (f *frames) scan(b []byte, each func(payload []byte, began, ended bool)) {
	n := min(f.skip, len(b))
	f.skip, b = f.skip-n, b[n:]
	for len(b) > 0 {
		began := false
		if f.have < frameHead {
			n := copy(f.head[f.have:], b)
			f.have, b = f.have+n, b[n:]
			if f.have < frameHead {
				return
			}
			f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
			f.kind, f.flags = f.head[3], f.head[4]
			f.id = binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31)
			began = true
		}
		n := min(f.left, len(b))
		f.left -= n
		if f.left == 0 {
			f.have = 0
		}
		each(b[:n], began, f.left == 0)
		b = b[n:]
	}
}

// shared is a connection below HTTP/2. It notes which read brought which bytes of
// which stream, so that requests that share a connection have stamps of their own.
// One goroutine reads and one at a time writes, as the HTTP/2 client does.
type shared struct {
	net.Conn // above TLS
	stamps   *sockstamp.Conn
	settled  chan struct{} // closed when the server has said how many streams it takes

	reads   int32 // where nobody below counts them
	in      frames
	padding int    // of the DATA frame that is being read; <0 = its length is the next byte
	setting []byte // of the SETTINGS frame that is being read
	out     frames

	mu      sync.Mutex
	excess  int                // guarded by mu; bytes read since a request or a response has advanced
	streams map[uint32]*stream // guarded by mu; those that we opened and have not forgotten
	opened  *stream            // guarded by mu; the newest of them
	limit   int                // guarded by mu; streams at a time
}

// stream is what was read for one request. Guarded by the connection's mu.
type stream struct {
	id     uint32
	first  time.Time // the read that brought the first byte
	head   time.Time // the read that completed the response head
	last   time.Time // the latest read with anything for the stream
	lag    time.Duration
	reads  int32
	latest int32   // number of the connection's latest read for it
	data   bool    // the body has begun
	pieces []piece // of the body, not taken yet
}

// piece is what one read brought of a body.
type piece struct {
	n  int
	at time.Time
	in int32 // number of that read
}

func newShared(c net.Conn, stamps *sockstamp.Conn) *shared {
	return &shared{
		Conn: c, stamps: stamps, settled: make(chan struct{}), limit: unlimited,
		out: frames{skip: preface}, streams: map[uint32]*stream{},
	}
}

// Read reads and notes. After too many bytes that belong to no response it returns
// errOverhead, which ends the connection and the requests on it.
func (s *shared) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if n > 0 {
		s.reads++
		at, lag, number := time.Now(), time.Duration(0), s.reads
		if s.stamps != nil {
			at, lag, number = s.stamps.Last(), s.stamps.TakeLag(), s.stamps.Reads()
		}
		s.mu.Lock()
		s.in.scan(b[:n], func(payload []byte, began, ended bool) { s.received(payload, began, ended, at, lag, number) })
		excess := s.excess
		s.mu.Unlock()
		if excess > maxOverhead {
			return n, errOverhead
		}
	}
	return n, err
}

// received notes a piece of a frame of the server's. Call with mu held.
func (s *shared) received(payload []byte, began, ended bool, at time.Time, lag time.Duration, number int32) {
	s.excess += len(payload)
	if began {
		s.excess += frameHead
	}
	if s.in.id == 0 {
		if s.in.kind == frameSettings && s.in.flags&flagAck == 0 {
			s.settings(payload, began, ended)
		}
		return
	}
	st := s.streams[s.in.id]
	wanted := st != nil
	if !wanted {
		st = &stream{} // forgotten: the rest of an answer that nobody wants
	}
	if st.first.IsZero() {
		st.first = at
	}
	if st.latest != number || st.reads == 0 {
		st.reads, st.latest = st.reads+1, number
	}
	st.last, st.lag = at, max(st.lag, lag)
	switch s.in.kind {
	case frameHeaders, frameContinuing:
		if ended && s.in.flags&flagEndHeaders != 0 && !st.data {
			st.head = at // a later block replaces an informational one
		}
		if wanted {
			s.excess = 0
		}
	case frameData:
		st.data = true
		n := s.unpadded(payload, began)
		if n > 0 {
			st.add(piece{n: n, at: at, in: number})
		}
		switch {
		case n == 0:
		case wanted:
			s.excess = 0
		default:
			s.excess -= n // many cancelled responses may be on their way
		}
	}
}

// unpadded returns how many bytes of a piece of a DATA frame are data.
func (s *shared) unpadded(payload []byte, began bool) int {
	if began {
		s.padding = 0
		if s.in.flags&flagPadded != 0 {
			s.padding = -1
		}
	}
	if s.padding < 0 && len(payload) > 0 {
		s.padding, payload = int(payload[0]), payload[1:]
	}
	if s.padding <= 0 {
		return len(payload)
	}
	return min(len(payload), max(0, len(payload)+s.in.left-s.padding)) // padding is at the end
}

// add notes data; what came with the same read is one piece.
func (st *stream) add(p piece) {
	if last := len(st.pieces) - 1; last >= 0 && st.pieces[last].in == p.in {
		st.pieces[last].n += p.n
		return
	}
	st.pieces = append(st.pieces, p)
}

// settings takes the server's limit of streams.
func (s *shared) settings(payload []byte, began, ended bool) {
	const size = 6 // identifier and value
	if began {
		s.setting = s.setting[:0]
	}
	s.setting = append(s.setting, payload...)
	for len(s.setting) >= size {
		if binary.BigEndian.Uint16(s.setting) == settingStreams {
			s.limit = int(min(binary.BigEndian.Uint32(s.setting[2:]), unlimited))
		}
		s.setting = append(s.setting[:0], s.setting[size:]...)
	}
	if !ended {
		return
	}
	select {
	case <-s.settled:
	default:
		close(s.settled)
	}
}

// Write writes and notes the streams that it opens.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	s.out.scan(b, func(_ []byte, began, _ bool) {
		if s.out.kind == frameData || s.out.kind == frameHeaders {
			s.excess = 0
		}
		if began && s.out.kind == frameHeaders && s.streams[s.out.id] == nil {
			s.opened = &stream{id: s.out.id}
			s.streams[s.out.id] = s.opened
		}
	})
	s.mu.Unlock()
	return s.Conn.Write(b)
}

// newest returns the stream that was opened last; nil = none.
func (s *shared) newest() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// streamLimit returns how many streams the server takes at a time.
func (s *shared) streamLimit() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit
}

// take calls feed for the next n bytes of a body, in pieces that came with one
// read each.
func (s *shared) take(st *stream, b []byte, feed func(at time.Time, b []byte)) {
	for len(b) > 0 {
		s.mu.Lock()
		p := piece{n: len(b), at: st.last}
		if len(st.pieces) > 0 {
			p = st.pieces[0]
			p.n = min(p.n, len(b))
			if st.pieces[0].n -= p.n; st.pieces[0].n == 0 {
				st.pieces = st.pieces[1:]
			}
		}
		s.mu.Unlock()
		feed(p.at, b[:p.n])
		b = b[p.n:]
	}
}

// times returns what is known of a stream now.
func (s *shared) times(st *stream) stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stream{first: st.first, head: st.head, last: st.last, lag: st.lag, reads: st.reads}
}

// forget drops a stream; what still comes for it is not noted.
func (s *shared) forget(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st.id)
}
