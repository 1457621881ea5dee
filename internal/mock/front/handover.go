package front

import (
	"net"
	"os"
	"sync"
	"time"

	"aiperfd/internal/engine/sockstamp"
)

// Handover is a listener that accepts the connections that are put into it.
type Handover struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*Handover)(nil)

// NewHandover returns a listener with the given address.
func NewHandover(addr net.Addr) *Handover {
	// A burst of new connections waits here while net/http starts to serve them.
	return &Handover{addr: addr, conns: make(chan net.Conn, 128), closed: make(chan struct{})}
}

// put adds a connection; a closed listener closes it.
func (h *Handover) put(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close() // the server has ended
	}
}

// Accept implements net.Listener.
func (h *Handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It closes connections that were not accepted.
func (h *Handover) Close() error {
	h.once.Do(func() { close(h.closed) })
	for {
		select {
		case c := <-h.conns:
			_ = c.Close()
		default:
			return nil
		}
	}
}

// Addr implements net.Listener.
func (h *Handover) Addr() net.Addr { return h.addr }

// handed is a connection some bytes of which were read already. It supports one reader
// at a time.
type handed struct {
	*sockstamp.Conn
	mu   sync.Mutex
	head []byte    // what was read, not yet returned
	at   time.Time // when it arrived
}

// newHanded returns a connection for a socket. It takes over fd, which it also closes on
// an error.
func newHanded(fd int, head []byte, at time.Time) (*handed, error) {
	f := os.NewFile(uintptr(fd), "")
	c, err := net.FileConn(f) // duplicates the descriptor
	_ = f.Close()
	if err != nil {
		return nil, err
	}
	return &handed{Conn: sockstamp.New(c), head: head, at: at}, nil
}

// Read returns the bytes that were read before, then reads the connection.
func (h *handed) Read(b []byte) (int, error) {
	h.mu.Lock()
	if n := copy(b, h.head); n > 0 {
		h.head = h.head[n:]
		h.mu.Unlock()
		return n, nil
	}
	h.mu.Unlock()
	return h.Conn.Read(b)
}

// Last returns when the last bytes arrived; the zero time before the first.
func (h *handed) Last() time.Time {
	if at := h.Conn.Last(); !at.IsZero() {
		return at
	}
	return h.at
}
