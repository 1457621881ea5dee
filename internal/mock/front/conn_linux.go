package front

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// tickSteps is how many events without a delay a stream sends before the other
	// streams have their turn.
	tickSteps = 32
	// readAhead bounds what is read of a connection while it is being answered.
	readAhead = 64 << 10
)

// conn is a connection of the front. It belongs to the front's thread.
type conn struct {
	f     *Front
	fd    int
	wants uint32 // events that epoll waits for
	slot  int    // in front.due; −1 = not there

	in      []byte // bytes that were read but not served; usually none
	inAt    int64  // when the last of them arrived
	headed  bool   // the head of the request is complete, its body is not
	pending []byte // bytes of the response that the socket has not taken yet

	w        responseWriter
	x        Exchange // nil between requests
	parked   bool     // the response waits until pending is sent
	resumeAt int64    // when its next event is due
}

// busy reports whether a response is not sent completely.
func (c *conn) busy() bool { return c.x != nil || len(c.pending) > 0 }

// readable reads once. Level-triggered epoll reports the rest again.
func (c *conn) readable() {
	n, oobn, _, _, err := unix.Recvmsg(c.fd, c.f.buf, c.f.oob[:], unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return
	case err != nil || n == 0:
		c.gone()
		return
	}
	c.inAt = arrival(c.f.opt.Now(), c.f.oob[:oobn])
	data := c.f.buf[:n]
	if c.busy() || len(c.in) > 0 {
		c.in = append(c.in, data...)
		data = c.in
	}
	if !c.busy() {
		c.take(data)
	} else if len(c.in) >= readAhead {
		c.want(c.wants &^ unix.EPOLLIN)
	}
}

// A client that begins with TLS waits for a TLS response and never sends an HTTP
// request. plainOnly is the usual response of servers of plain HTTP.
const (
	tlsHandshake = 0x16 // type of the first record, RFC 8446, section 5.1
	plainOnly    = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nthis port speaks plain HTTP"
)

// take handles the bytes that a connection has received between requests. data is c.in
// or the front's buffer.
func (c *conn) take(data []byte) {
	if len(data) > 0 && data[0] == tlsHandshake {
		_, _ = unix.Write(c.fd, []byte(plainOnly)) // best effort: the connection is closed in any case
		c.close()
		return
	}
	head, v := parseHead(data, c.f.handler.Serves)
	if v == ours && len(data) < head.size+head.length {
		v = needMore
		c.headed = true
	}
	switch v {
	case needMore:
		if len(c.in) == 0 {
			c.in = append(c.in, data...)
			c.f.due.push(c, c.f.opt.Now()+int64(c.f.opt.ReadHeader))
		}
		if c.headed {
			c.f.due.remove(c) // only heads have a time limit
		}
	case unusual:
		c.handOver(data)
	case ours:
		head.ArrivedNs = c.inAt
		c.x = c.f.handler.Begin(head.Request, &c.w)
		if c.x == nil {
			c.handOver(data)
			return
		}
		c.f.due.remove(c)
		c.headed = false
		end := head.size + head.length
		c.in = append([]byte(nil), data[end:]...) // of a client that pipelines
		c.next(c.x.Start(data[head.size:end]))
	}
}

// next schedules tick for a time of the clock, or calls it at once if that has passed.
// Without more, the response is complete.
func (c *conn) next(dueNs int64, more bool) {
	switch {
	case !more:
		c.finish(Complete)
	case dueNs <= c.f.opt.Now():
		c.tick()
	default:
		c.f.due.push(c, dueNs)
	}
}

// tick performs what is due: the next writes of a response, or the end of a connection
// that was idle for too long.
func (c *conn) tick() {
	if c.x == nil {
		c.close()
		return
	}
	at := int64(0)
	for range tickSteps {
		var more bool
		if at, more = c.x.Step(); !more {
			c.finish(Complete)
			return
		}
		if len(c.pending) > 0 || at > c.f.opt.Now() {
			break
		}
	}
	if len(c.pending) > 0 {
		// The client does not read. Continue when it does, with the writes that became
		// due meanwhile, as after a write that blocked.
		c.f.due.remove(c)
		c.parked, c.resumeAt = true, at
		return
	}
	c.f.due.push(c, at)
}

// finish ends the exchange and the response.
func (c *conn) finish(end End) {
	x := c.x
	c.f.due.remove(c)
	c.x, c.parked = nil, false
	if !x.Finish(end) || c.w.end() != nil {
		c.close()
		return
	}
	if len(c.pending) == 0 {
		c.idle()
	}
}

// idle lets a connection wait for its next request.
func (c *conn) idle() {
	switch {
	case c.f.draining.Load():
		c.close()
	case len(c.in) > 0:
		c.handOver(c.in) // a client that pipelines
	default:
		c.want(unix.EPOLLIN)
		if c.f.opt.KeepAlive > 0 {
			c.f.due.push(c, c.f.opt.Now()+int64(c.f.opt.KeepAlive))
		}
	}
}

// send writes b and stores what the socket does not accept.
func (c *conn) send(b []byte) error {
	if len(c.pending) == 0 {
		n, err := unix.Write(c.fd, b)
		if err != nil && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		b = b[max(n, 0):]
	}
	if len(b) > 0 {
		c.pending = append(c.pending, b...)
		c.want(c.wants | unix.EPOLLOUT)
	}
	return nil
}

// writable writes the pending bytes and continues the response.
func (c *conn) writable() {
	n, err := unix.Write(c.fd, c.pending)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
		return
	}
	if err != nil {
		c.gone()
		return
	}
	if c.pending = c.pending[n:]; len(c.pending) > 0 {
		return
	}
	c.pending = nil
	c.want(c.wants &^ unix.EPOLLOUT)
	switch {
	case c.x == nil:
		c.idle()
	case c.parked:
		c.parked = false
		c.x.Resume()
		c.next(c.resumeAt, true)
	}
}

func (c *conn) want(events uint32) {
	if events == c.wants {
		return
	}
	c.wants = events
	_ = c.f.watch(unix.EPOLL_CTL_MOD, c.fd, events) // cannot fail for a descriptor in the set
}

// gone ends a connection that the client has closed.
func (c *conn) gone() {
	c.pending = nil
	if c.x != nil {
		c.finish(ClientGone)
		return
	}
	c.close()
}

// handOver passes the connection to net/http, with the bytes that were read.
func (c *conn) handOver(data []byte) {
	head := append([]byte(nil), data...)
	fd := c.fd
	_ = unix.EpollCtl(c.f.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	c.forget()
	conn, err := newHanded(fd, head, c.f.opt.Time(c.inAt))
	if err != nil {
		return // too few descriptors; the connection is closed
	}
	c.f.rest.put(conn)
}

// close closes the connection, which has no exchange.
func (c *conn) close() {
	fd := c.fd
	c.forget()
	_ = unix.Close(fd)
}

// forget removes the connection from the front.
func (c *conn) forget() {
	c.f.due.remove(c)
	c.f.conns[c.fd] = nil
	c.f.open--
	c.fd = -1
	c.in, c.pending = nil, nil
}

// arrival returns when the bytes that were just read arrived, from the kernel's stamp
// (SO_TIMESTAMPNS, socket(7)) if there is a plausible one. Only the age of the stamp is
// used, because it is from another clock.
func arrival(now int64, control []byte) int64 {
	wall := time.Now().UnixNano()
	const header, stamp = unix.SizeofCmsghdr, 16 // struct timespec of two 64-bit fields
	native := binary.NativeEndian
	if len(control) < header+stamp || native.Uint32(control[8:]) != unix.SOL_SOCKET ||
		native.Uint32(control[12:]) != unix.SCM_TIMESTAMPNS {
		return now
	}
	sec, nsec := int64(native.Uint64(control[header:])), int64(native.Uint64(control[header+8:]))
	age := wall - (sec*int64(time.Second) + nsec)
	if age < 0 || age > int64(time.Second) {
		return now
	}
	return now - age
}
