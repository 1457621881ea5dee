//go:build !linux

package sockstamp

import (
	"errors"
	"net"
)

// reader does not exist on this platform.
type reader struct{}

func newReader(net.Conn) *reader { return nil }

func (*reader) read([]byte) (int, Stamp, error) {
	return 0, Stamp{}, errors.ErrUnsupported
}
