package sockstamp

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// credible bounds the age of a stamp: an older or a future one means that the
// wall clock was stepped, and the time after the read is used instead.
const credible = time.Second

// reader reads from a socket with recvmsg(2), which returns the receive time
// that SO_TIMESTAMPNS asks for (socket(7), "the kernel's receive time of the
// last packet that was copied").
type reader struct {
	raw    syscall.RawConn
	remote net.Addr
	local  net.Addr
	try    func(fd uintptr) bool // made once, so that a read allocates nothing

	b   []byte // arguments and results of try
	n   int
	oob [64]byte
	oo  int
	err error
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
	err = raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	if err != nil || refused != nil {
		return nil
	}
	r := &reader{raw: raw, remote: c.RemoteAddr(), local: c.LocalAddr()}
	r.try = func(fd uintptr) bool {
		for {
			r.n, r.oo, _, _, r.err = unix.Recvmsg(int(fd), r.b, r.oob[:], unix.MSG_DONTWAIT)
			if !errors.Is(r.err, unix.EINTR) {
				break
			}
		}
		return !errors.Is(r.err, unix.EAGAIN)
	}
	return r
}

// read fills b and returns when the last of its bytes arrived.
func (r *reader) read(b []byte) (int, time.Time, error) {
	if len(b) == 0 {
		return 0, time.Time{}, nil
	}
	r.b = b
	err := r.raw.Read(r.try)
	r.b = nil
	now := time.Now()
	switch {
	case err != nil:
		return 0, now, r.opError(err)
	case r.err != nil:
		return 0, now, r.opError(os.NewSyscallError("read", r.err))
	case r.n == 0:
		return 0, now, io.EOF
	}
	return r.n, arrival(r.oob[:r.oo], now), nil
}

func (r *reader) opError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		op.Op = "read" // the runtime says "raw-read"
		return op
	}
	return &net.OpError{Op: "read", Net: "tcp", Source: r.local, Addr: r.remote, Err: err}
}

// arrival returns now minus the age of the stamp. Only the age comes from the
// wall clock, over the short time since the packet arrived, so that the result
// is on the monotonic clock and a slewed wall clock does not matter.
func arrival(control []byte, now time.Time) time.Time {
	const header, stamp = unix.SizeofCmsghdr, 16 // struct cmsghdr; struct timespec of two 64-bit fields
	if len(control) < header+stamp {
		return now
	}
	native := binary.NativeEndian
	if native.Uint32(control[8:]) != unix.SOL_SOCKET || native.Uint32(control[12:]) != unix.SCM_TIMESTAMPNS {
		return now
	}
	sec := int64(native.Uint64(control[header:]))
	nsec := int64(native.Uint64(control[header+8:]))
	age := time.Duration(now.UnixNano() - (sec*int64(time.Second) + nsec))
	if age < 0 || age > credible {
		return now
	}
	return now.Add(-age)
}
