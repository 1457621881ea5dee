//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// LockFolder locks a folder for this process, until it is closed or the process ends. The
// error is an *[InUseError] if another process has locked it. The lock is on the folder itself, so that removing a file does not
// release it. The lock file contains the id of the process, and is locked too, for
// versions that lock nothing else.
func LockFolder(dir string) (_ *Lock, err error) {
	l := new(Lock)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.folder, err = os.Open(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, LockFile)
	if err := flock(l.folder); err != nil {
		return nil, inUse(err, path)
	}
	if l.file, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := flock(l.file); err != nil {
		return nil, inUse(err, path)
	}
	if err := l.file.Truncate(0); err != nil {
		return nil, err
	}
	// Only other processes that are refused read it: a full disk is no reason not to start.
	if _, err := fmt.Fprintln(l.file, os.Getpid()); err != nil && !errors.Is(err, syscall.ENOSPC) {
		return nil, err
	}
	return l, nil
}

// flock locks an open file or folder without waiting.
func flock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// inUse returns an *[InUseError] if err says that another process holds the lock.
func inUse(err error, path string) error {
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	e := new(InUseError)
	if file, err := os.Open(path); err == nil {
		owner, _ := io.ReadAll(io.LimitReader(file, 32)) // only to be helpful
		e.PID = strings.TrimSpace(string(owner))
		file.Close()
	}
	return e
}
