package app

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// monotonic returns the time that a unit of Type=notify-reload expects with RELOADING=1.
func monotonic() string {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return ""
	}
	return fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000)
}
