package transport

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// The text of an error names the operation once.
func TestPlain(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "read: connection reset by peer"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "dial: connect: connection refused"},
		{&net.OpError{Op: "write", Err: errors.New("use of closed network connection")}, "write: use of closed network connection"},
		{errors.New("EOF"), "EOF"},
	} {
		if got := plain(tt.err); got != tt.want {
			t.Errorf("plain(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}
