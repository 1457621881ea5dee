package mock

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aiperfd/internal/mock/api"
)

const (
	// tickSteps is how many events without a delay a stream sends before the other
	// streams have their turn.
	tickSteps = 32
	// readAhead bounds what is read of a connection while it is being answered.
	readAhead = 64 << 10
)

// frontConn is a connection of the front. It belongs to the front's thread.
type frontConn struct {
	f     *front
	fd    int
	wants uint32 // what epoll waits for
	slot  int    // in front.due; −1 = not there

	in      []byte // bytes that were read and not served; usually none
	inAt    int64  // when the last of them arrived
	headed  bool   // the head of the request is whole, its body not
	pending []byte // bytes of the response that the socket has not taken yet

	w        wire
	x        *exchange // nil between requests
	st       *stream   // nil unless it is streamed
	cadence  cadence
	parked   bool  // a stream that waits for pending to go out
	resumeAt int64 // when its next event is due
}

// busy says that a response is not out yet.
func (c *frontConn) busy() bool { return c.x != nil || len(c.pending) > 0 }

// readable reads once. Level-triggered epoll brings it back for the rest.
func (c *frontConn) readable() {
	n, oobn, _, _, err := unix.Recvmsg(c.fd, c.f.buf, c.f.oob[:], unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return
	case err != nil || n == 0:
		c.gone()
		return
	}
	c.inAt = c.f.s.arrival(c.f.oob[:oobn])
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

// A client that begins with TLS waits for an answer of TLS; a whole HTTP request
// will never come. plainOnly is the kind of answer that servers of plain HTTP give.
const (
	tlsHandshake = 0x16 // type of the first record, RFC 8446, section 5.1
	plainOnly    = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nthis port speaks plain HTTP"
)

// take looks at what a connection between requests has received. data is c.in or
// the front's buffer.
func (c *frontConn) take(data []byte) {
	if len(data) > 0 && data[0] == tlsHandshake {
		_, _ = unix.Write(c.fd, []byte(plainOnly)) // as far as it goes: the connection ends in any case
		c.close()
		return
	}
	head, v := parseFrontHead(data, c.f.routes)
	if v == ours && len(data) < head.size+head.length {
		v = needMore
		c.headed = true
	}
	switch v {
	case needMore:
		if len(c.in) == 0 {
			c.in = append(c.in, data...)
			c.f.due.push(c, c.f.s.now()+int64(readHeaderTimeout))
		}
		if c.headed {
			c.f.due.remove(c) // only heads have a limit
		}
	case unusual:
		c.handOver(data)
	case ours:
		s := c.f.s
		if !s.authorized(head.authorization) || !s.ready() || s.asleep.Load() > 0 || !s.enter() {
			c.handOver(data)
			return
		}
		c.f.due.remove(c)
		c.headed = false
		end := head.size + head.length
		c.in = append([]byte(nil), data[end:]...) // what a client sends that does not wait
		c.begin(head, data[head.size:end])
	}
}

// begin serves a request as far as it goes now.
func (c *frontConn) begin(head frontHead, body []byte) {
	x := c.f.s.newExchange(head.api, &c.w, origin{
		path: head.path, requestID: head.requestID, correlationID: head.correlationID, acceptNs: c.inAt, whole: true,
	})
	c.x = x
	if refusal := x.parse(body); refusal != nil {
		x.refuse(refusal)
		c.finish(refusal)
		return
	}
	x.prepare()
	if !x.Request.Stream {
		c.tickAt(x.tokenDue(api.LongestChoice(x.Choices)))
		return
	}
	st, err := x.openStream()
	c.st = st
	if err == nil {
		err = st.e.Run(st.e.Script.Begin)
	}
	if err != nil {
		c.finish(err)
		return
	}
	c.cadence = newCadence(st)
	c.tickAt(c.cadence.next())
}

// tickAt calls tick at a time of the server's clock, at once if that has passed.
func (c *frontConn) tickAt(at int64) {
	if at <= c.f.s.now() {
		c.tick()
		return
	}
	c.f.due.push(c, at)
}

// tick does what is due: the next writes of a response, or the end of a
// connection that was idle for too long.
func (c *frontConn) tick() {
	if c.x == nil {
		c.close()
		return
	}
	if c.st == nil {
		d := c.x.newDocument()
		err := d.sendNow()
		d.release()
		c.finish(err)
		return
	}
	at := int64(0)
	for range tickSteps {
		err := c.cadence.emit()
		if err == nil && c.cadence.over() {
			c.finish(c.st.end())
			return
		}
		if err != nil {
			c.finish(err)
			return
		}
		at = c.cadence.next()
		if len(c.pending) > 0 || at > c.f.s.now() {
			break
		}
	}
	if len(c.pending) > 0 {
		// The client does not read: go on when it does. What was due meanwhile goes
		// out then, as a write that blocks would have it.
		c.f.due.remove(c)
		c.parked, c.resumeAt = true, at
		return
	}
	c.f.due.push(c, at)
}

// finish ends the exchange and the response.
func (c *frontConn) finish(err error) {
	x := c.x
	c.f.due.remove(c)
	if c.st != nil {
		c.st.release()
	}
	x.finish(err)
	x.w = nil
	c.x, c.st, c.cadence, c.parked = nil, nil, cadence{}, false
	c.f.s.active.Done()
	if errors.Is(err, api.ErrClientGone) || c.w.end() != nil {
		c.close()
		return
	}
	if len(c.pending) == 0 {
		c.idle()
	}
}

// idle makes a connection wait for its next request.
func (c *frontConn) idle() {
	switch {
	case c.f.draining.Load():
		c.close()
	case len(c.in) > 0:
		c.handOver(c.in) // a client that pipelines
	default:
		c.want(unix.EPOLLIN)
		if c.f.keepAlive > 0 {
			c.f.due.push(c, c.f.s.now()+int64(c.f.keepAlive))
		}
	}
}

// send writes b, or keeps what the socket does not take.
func (c *frontConn) send(b []byte) error {
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

// writable writes what is pending and goes on with the response.
func (c *frontConn) writable() {
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
		c.st.e.LastNs = c.f.s.now()
		c.x.Truth.LastWriteEndNs = c.st.e.LastNs
		c.tickAt(c.resumeAt)
	}
}

func (c *frontConn) want(events uint32) {
	if events == c.wants {
		return
	}
	c.wants = events
	_ = c.f.watch(unix.EPOLL_CTL_MOD, c.fd, events) // cannot fail for a descriptor in the set
}

// gone ends a connection that the client has left.
func (c *frontConn) gone() {
	c.pending = nil
	if c.x != nil {
		c.finish(api.ErrClientGone)
		return
	}
	c.close()
}

// handOver gives the connection to net/http, with what was read of it.
func (c *frontConn) handOver(data []byte) {
	head := append([]byte(nil), data...)
	fd := c.fd
	_ = unix.EpollCtl(c.f.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	c.forget()
	s := c.f.s
	conn, err := newHanded(fd, head, s.anchor.Add(time.Duration(c.inAt-s.anchorNs)))
	if err != nil {
		return // descriptors are short; the connection is closed
	}
	c.f.rest.put(conn)
}

// close closes the connection, which has no exchange.
func (c *frontConn) close() {
	fd := c.fd
	c.forget()
	_ = unix.Close(fd)
}

// forget takes the connection out of the front.
func (c *frontConn) forget() {
	c.f.due.remove(c)
	c.f.conns[c.fd] = nil
	c.f.open--
	c.fd = -1
	c.in, c.pending = nil, nil
}

// arrival returns when bytes arrived that were read just now, by the kernel's
// stamp (SO_TIMESTAMPNS, socket(7)) where there is one that can be believed. Only
// the age of the stamp counts: it is on another clock.
func (s *Server) arrival(control []byte) int64 {
	now, wall := s.now(), time.Now().UnixNano()
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
