//go:build linux || darwin || freebsd

package durable

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Free returns the bytes that an ordinary user can still write to the disk of a path.
func Free(path string) (int64, error) {
	var s unix.Statfs_t
	for {
		switch err := unix.Statfs(path, &s); err {
		case nil:
			return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // the types differ between systems
		case unix.EINTR:
		default:
			return 0, fmt.Errorf("read free space of %s: %w", path, err)
		}
	}
}
