package sockstamp

import (
	"syscall"
	"time"
)

// Info is what the kernel counts of a TCP connection since it was opened.
type Info struct {
	MinRTT time.Duration // the shortest round trip; 0 = unknown
	RTT    time.Duration // smoothed; it contains the peer's delayed acknowledgements

	Segments           uint32 // sent, retransmissions included
	Retransmitted      uint32 // segments
	BytesRetransmitted uint64
	Timeouts           uint32 // of retransmission
	Received           uint32 // segments with data
	OutOfOrder         uint32 // segments that came after a gap
	Duplicates         uint32 // acknowledgements of what the peer had already

	Busy          time.Duration // data was waiting to be sent or acknowledged
	RwndLimited   time.Duration // of it the peer's window was full
	SndbufLimited time.Duration // of it this host's send buffer was
}

// Info returns what the kernel counts of the connection; ok = false if it is no TCP connection, or the platform
// does not say.
func (c *Conn) Info() (info Info, ok bool) {
	s, is := c.Conn.(syscall.Conn)
	if !is {
		return Info{}, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return Info{}, false
	}
	err = raw.Control(func(fd uintptr) { info, ok = ReadInfo(int(fd)) })
	return info, ok && err == nil
}
