// Package regular opens regular files and refuses FIFOs, devices, sockets and symbolic links,
// so that neither opening nor reading can block for ever, and the content is that of the
// name.
package regular

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Error reports that a name is not that of a regular file.
type Error struct {
	Name string
	Mode fs.FileMode
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("open %s: it is not a regular file (mode %s)", e.Name, e.Mode)
}

// Open opens a regular file for reading. The folders of the path may be symbolic links.
func Open(name string) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return OpenIn(root, filepath.Base(name))
}

// OpenIn opens a regular file below a root for reading. The name has slashes; every
// element before the last must be a folder, not a link to one.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		if info, err := root.Lstat(name[:i]); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, &Error{name[:i], info.Mode()}
		}
	}
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, &Error{name, before.Mode()}
	}
	// Without O_NONBLOCK the open would wait if a FIFO replaced the file just now.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !os.SameFile(before, info) {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} // it was replaced just now
	}
	return file, nil
}

// Read returns the content of a regular file.
func Read(name string) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	return readAll(file)
}

// ReadIn returns the content of a regular file below a root.
func ReadIn(root *os.Root, name string) ([]byte, error) {
	file, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	return readAll(file)
}

func readAll(file *os.File) ([]byte, error) {
	defer file.Close()
	return io.ReadAll(file)
}
