package monitor

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// preciseTicker returns a ticker on a timer of the kernel that wakes a goroutine
// as arriving bytes do: through the poller of the runtime. It is late by what a
// network goroutine would be late, without the millisecond of Go's own timers.
func preciseTicker() Ticker {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return NewTimer()
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return NewTimer()
	}
	return &kernelTimer{file: file, conn: conn}
}

type kernelTimer struct {
	file *os.File
	conn syscall.RawConn
}

var _ Ticker = (*kernelTimer)(nil)

// Wait implements [Ticker].
func (k *kernelTimer) Wait(until time.Time) bool {
	left := max(time.Until(until), 1) // 0 would disarm it
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
	var armed error
	err := k.conn.Control(func(fd uintptr) { armed = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
	if err != nil || armed != nil {
		return false
	}
	var expirations [8]byte
	_, err = k.file.Read(expirations[:])
	return err == nil
}

// Close implements [Ticker].
func (k *kernelTimer) Close() { k.file.Close() }
