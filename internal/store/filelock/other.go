//go:build !(linux || darwin || freebsd || openbsd || netbsd || dragonfly)

package filelock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Lock always fails: without locks two processes could write the same files.
func Lock(path string) (*os.File, error) {
	return nil, fmt.Errorf("lock %s on %s: %w", path, runtime.GOOS, errors.ErrUnsupported)
}
