package sockstamp

import (
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadInfo returns what the kernel counts of a TCP socket (TCP_INFO, tcp(7)); ok = false if it is none. Fields that
// an old kernel does not have are 0. It allocates nothing and never waits.
func ReadInfo(fd int) (info Info, ok bool) {
	var t unix.TCPInfo
	length := uint32(unsafe.Sizeof(t))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&t)), uintptr(unsafe.Pointer(&length)), 0)
	if errno != 0 {
		return Info{}, false
	}
	info = Info{
		RTT: micros(uint64(t.Rtt)), Segments: t.Segs_out, Retransmitted: t.Total_retrans, BytesRetransmitted: t.Bytes_retrans,
		Timeouts: uint32(t.Total_rto), Received: t.Data_segs_in, OutOfOrder: t.Rcv_ooopack, Duplicates: t.Dsack_dups,
		Busy: micros(t.Busy_time), RwndLimited: micros(t.Rwnd_limited), SndbufLimited: micros(t.Sndbuf_limited),
	}
	if t.Min_rtt != math.MaxUint32 { // the kernel's word for a connection without a sample
		info.MinRTT = micros(uint64(t.Min_rtt))
	}
	return info, true
}

func micros(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
