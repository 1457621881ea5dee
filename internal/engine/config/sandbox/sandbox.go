// Package sandbox opens the files, directories and sockets that a document names, if the
// document may open them.
// With roots, it opens only files under one of them, even if links in the name
// contains.
package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotRegular is for names that lead to directories, pipes and devices.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a file that a document names. It must be a regular file. With
// roots, it must also lie under one of them after all links are followed; a
// relative name is tried under each. The caller closes the file.
func Open(name string, roots []string) (*os.File, error) {
	if len(roots) == 0 {
		return openRegular(name, os.Stat, os.Open)
	}
	err := error(&fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission})
	for _, dir := range roots {
		rel, ok := under(dir, name)
		if !ok {
			continue
		}
		var root *os.Root
		if root, err = os.OpenRoot(dir); err != nil {
			continue
		}
		var f *os.File
		f, err = openRegular(rel, root.Stat, root.Open)
		closeErr := root.Close() // the file stays open
		if err == nil && closeErr == nil {
			return f, nil
		}
		err = errors.Join(err, closeErr)
	}
	return nil, err
}

// openRegular looks before it opens: opening a pipe would block.
func openRegular(name string, stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error)) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	return open(name)
}

// under returns name relative to dir.
func under(dir, name string) (string, bool) {
	if !filepath.IsAbs(name) {
		return name, filepath.IsLocal(name)
	}
	rel, err := filepath.Rel(dir, name)
	return rel, err == nil && filepath.IsLocal(rel)
}
