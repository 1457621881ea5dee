package sandbox

import (
	"io/fs"
	"path/filepath"
)

// FS returns a file system that has the file at path alone, and its name there. The file is
// opened if it is under one of the roots; without roots, it is not.
func FS(path string, roots []string) (fs.FS, string) {
	name := filepath.Base(path)
	if !fs.ValidPath(name) {
		name = "data"
	}
	return oneFile{name, path, roots}, name
}

// oneFile is the file system of [FS].
type oneFile struct {
	name, path string
	roots      []string
}

// Open implements fs.FS.
func (o oneFile) Open(name string) (fs.File, error) {
	if name != o.name || len(o.roots) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := Open(o.path, o.roots)
	if err != nil {
		return nil, err // not a nil file in an interface
	}
	return f, nil
}
