package sockstamp

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// credible bounds the age of a stamp: an older or a future one means that the
// wall clock was stepped, and the time after the read is used instead.
const credible = time.Second

// Enable requests the receive times of a socket from the kernel (SO_TIMESTAMPNS,
// socket(7): "the kernel's receive time of the last packet that was copied").
func Enable(fd int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1))
}

// Receiver reads from sockets and returns when the bytes arrived. It holds the
// memory of the system call, so that a read allocates nothing; one goroutine uses
// it at a time. The zero Receiver is ready.
type Receiver struct {
	message unix.Msghdr
	buffer  unix.Iovec
	control [64]byte
}

// Receive reads once into b, which must not be empty, without waiting:
// unix.EAGAIN means that there is nothing to read. 0 bytes without an error are
// the end of the stream. The stamp is that of the last packet of which bytes were
// copied; it is valid if n > 0.
func (r *Receiver) Receive(fd int, b []byte) (n int, s Stamp, err error) {
	r.buffer.Base = &b[0]
	r.buffer.SetLen(len(b))
	r.message.Iov = &r.buffer
	r.message.SetIovlen(1)
	r.message.Control = &r.control[0]
	for {
		r.message.SetControllen(len(r.control))
		// A raw call: it never waits, so the scheduler need not know of it.
		got, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.message)), unix.MSG_DONTWAIT)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			err = errno
		case got > 0:
			n, s = int(got), stamp(r.control[:r.message.Controllen], time.Now())
		}
		r.buffer.Base = nil
		return n, s, err
	}
}

// stamp takes the kernel's time out of the control data of a read that ended
// now. Only the age comes from the wall clock, over the short time since the
// packet arrived, so that the result is on the monotonic clock and a slewed wall
// clock does not matter.
func stamp(control []byte, now time.Time) Stamp {
	const header, length = unix.SizeofCmsghdr, 16 // struct cmsghdr; struct timespec of two 64-bit fields
	if len(control) < header+length {
		return Stamp{At: now}
	}
	native := binary.NativeEndian
	if native.Uint32(control[8:]) != unix.SOL_SOCKET || native.Uint32(control[12:]) != unix.SCM_TIMESTAMPNS {
		return Stamp{At: now}
	}
	sec := int64(native.Uint64(control[header:]))
	nsec := int64(native.Uint64(control[header+8:]))
	age := time.Duration(now.UnixNano() - (sec*int64(time.Second) + nsec))
	if age < 0 || age > credible {
		return Stamp{At: now}
	}
	return Stamp{At: now.Add(-age), Lag: age, Kernel: true}
}

// reader reads from a connection of package net.
type reader struct {
	raw    syscall.RawConn
	remote net.Addr
	local  net.Addr
	try    func(fd uintptr) bool // made once, so that a read allocates nothing

	receiver Receiver
	b        []byte // arguments and results of try
	n        int
	stamp    Stamp
	err      error
}

func newReader(c net.Conn) *reader {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	var refused error
	err = raw.Control(func(fd uintptr) { refused = Enable(int(fd)) })
	if err != nil || refused != nil {
		return nil
	}
	r := &reader{raw: raw, remote: c.RemoteAddr(), local: c.LocalAddr()}
	r.try = func(fd uintptr) bool {
		r.n, r.stamp, r.err = r.receiver.Receive(int(fd), r.b)
		return !errors.Is(r.err, unix.EAGAIN)
	}
	return r
}

// read fills b and returns when the last of its bytes arrived.
func (r *reader) read(b []byte) (int, Stamp, error) {
	if len(b) == 0 {
		return 0, Stamp{}, nil
	}
	r.b = b
	err := r.raw.Read(r.try)
	r.b = nil
	switch {
	case err != nil:
		return 0, Stamp{}, r.opError(err)
	case r.err != nil:
		return 0, Stamp{}, r.opError(os.NewSyscallError("read", r.err))
	case r.n == 0:
		return 0, Stamp{}, io.EOF
	}
	return r.n, r.stamp, nil
}

func (r *reader) opError(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		op.Op = "read" // the runtime says "raw-read"
		return op
	}
	return &net.OpError{Op: "read", Net: "tcp", Source: r.local, Addr: r.remote, Err: err}
}
