//go:build !(linux || darwin || freebsd || openbsd || netbsd || dragonfly)

package store

import (
	"errors"
	"fmt"
	"runtime"
)

// LockFolder always fails: without a lock two processes could use the same folder.
func LockFolder(string) (*Lock, error) {
	return nil, fmt.Errorf("lock data folder on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
