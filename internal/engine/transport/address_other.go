//go:build !linux

package transport

import "syscall"

// sharePorts does nothing on this platform.
func sharePorts(string, string, syscall.RawConn) error { return nil }

// localPorts returns nothing on this platform.
func localPorts() (n int, ok bool) { return 0, false }
