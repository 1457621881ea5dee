//go:build !linux

package sockstamp

import (
	"errors"
	"net"
	"time"
)

// reader does not exist on this platform.
type reader struct{}

func newReader(net.Conn) *reader { return nil }

func (*reader) read([]byte) (int, time.Time, error) {
	return 0, time.Time{}, errors.ErrUnsupported
}
