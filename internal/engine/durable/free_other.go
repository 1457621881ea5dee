//go:build !(linux || darwin || freebsd)

package durable

import (
	"errors"
	"fmt"
)

// Free returns the bytes that an ordinary user can still write to the disk of a path.
func Free(path string) (int64, error) {
	return 0, fmt.Errorf("read free space of %s: %w", path, errors.ErrUnsupported)
}
