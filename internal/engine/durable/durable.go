// Package durable replaces files so that a path holds the old content or the new one,
// whatever happens, and the new one survives a loss of power.
package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Shared is the mode of the files of a run before the umask: other users may have to read
// or copy them, and they contain no secrets. The folders of a daemon keep others out.
// Private is the mode of files that are nobody else's business.
const (
	Shared  fs.FileMode = 0o666
	Private fs.FileMode = 0o600
)

// WriteFile replaces a file.
func WriteFile(path string, mode fs.FileMode, data []byte) error {
	err := Write(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// Write is [WriteFile] for content that is written piece by piece.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := Replace(path, mode, write); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Replace is [Write] for one of several files in a folder: the name is durable after
// [SyncDir] only.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	dir, name := filepath.Split(path)
	file, err := createTemporary(dir, name, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(file.Close()), os.Remove(file.Name()))
		}
	}()
	buffer := bufio.NewWriterSize(file, 64<<10)
	if err := write(buffer); err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Create makes a file that is written piece by piece, anew: a link in its place is removed
// and not followed. The content is not durable.
func Create(path string, mode fs.FileMode) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
}

// MkdirAll makes the folder of a file below dir, which exists, and those that it needs. A
// link in the path cannot lead out of dir.
func MkdirAll(dir, file string) (err error) {
	folder := filepath.Dir(filepath.FromSlash(file))
	if folder == "." {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return root.MkdirAll(folder, 0o777)
}

// createTemporary makes a file to be renamed to name. os.CreateTemp would make it
// private for ever.
func createTemporary(dir, name string, mode fs.FileMode) (*os.File, error) {
	const attempts = 100
	for n := 0; ; n++ {
		unique := strings.Replace(temporary(name), "*", strconv.FormatUint(rand.Uint64(), 36), 1)
		file, err := os.OpenFile(filepath.Join(dir, unique), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if !errors.Is(err, fs.ErrExist) || n == attempts {
			return file, err
		}
	}
}

// temporary is the pattern of the names under which a file is written.
func temporary(name string) string { return "." + name + ".*.tmp" }

// IsTemporary reports whether a name is one under which a file is written before it gets
// its own.
func IsTemporary(name string) bool {
	rest, tmp := strings.CutSuffix(name, ".tmp")
	dot := strings.LastIndex(rest, ".")
	if !tmp || !strings.HasPrefix(name, ".") || dot < 2 {
		return false
	}
	_, err := strconv.ParseUint(rest[dot+1:], 36, 64)
	return err == nil
}

// RemoveLeftovers removes what an earlier process that was killed left of a
// file. It is not done for files that others may be writing at the same time.
func RemoveLeftovers(path string) {
	dir, name := filepath.Split(path)
	left, err := filepath.Glob(filepath.Join(dir, temporary(name)))
	if err != nil {
		return // a name with brackets; leftovers do no harm
	}
	for _, l := range left {
		_ = os.Remove(l) // the same
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// SyncDir makes the names of the files in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
