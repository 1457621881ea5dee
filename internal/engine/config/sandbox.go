package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The files, directories and sockets that a document names are opened if the document may open
// them. With roots, that are only those under one of them, even if links lead out of it.

// errNotRegular is for names that lead to directories, pipes and devices.
var errNotRegular = errors.New("not a regular file")

// OpenFile opens a file that a document names. It must be a regular file. With
// roots, it must also lie under one of them after all links are followed; a
// relative name is tried under each. The caller closes the file.
func OpenFile(name string, roots []string) (*os.File, error) {
	if len(roots) == 0 {
		return openRegular(name, os.Stat, os.Open)
	}
	var f *os.File
	err := underRoots(name, roots, func(root *os.Root, rel string) (err error) {
		f, err = openRegular(rel, root.Stat, root.Open) // it stays open when the root is closed
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// underRoots looks for a name under each root until use finds it there.
func underRoots(name string, roots []string, use func(root *os.Root, rel string) error) error {
	err := error(&fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission})
	for _, dir := range roots {
		rel, ok := under(dir, name)
		if !ok {
			continue
		}
		root, openErr := os.OpenRoot(dir)
		if openErr != nil {
			err = openErr
			continue
		}
		if err = errors.Join(use(root, rel), root.Close()); err == nil {
			return nil
		}
	}
	return err
}

// openRegular looks before it opens: opening a pipe would block.
func openRegular(
	name string, stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error),
) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
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

// maxFolder bounds the files of a folder that a document names.
const maxFolder = 100_000

// errNotFolder is for names that lead to something else than a directory.
var errNotFolder = errors.New("not a directory")

// dataFolder lists the files of a directory, sorted, as names for [OpenFile]. Directories
// in it are left out. With roots, it must lie under one of them.
func dataFolder(name string, roots []string) ([]string, error) {
	if len(roots) == 0 {
		return listFolder(name, name, os.Stat, os.Open)
	}
	var files []string
	err := underRoots(name, roots, func(root *os.Root, rel string) (err error) {
		files, err = listFolder(rel, name, root.Stat, root.Open)
		return err
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// listFolder reads a directory; its files get the name under which it is known.
func listFolder(
	name, known string, stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error),
) ([]string, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: known, Err: errNotFolder}
	}
	dir, err := open(name)
	if err != nil {
		return nil, err
	}
	entries, err := dir.ReadDir(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	if len(entries) > maxFolder {
		return nil, fmt.Errorf("%s has %d entries; at most %d are accepted", known, len(entries), maxFolder)
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() {
			files = append(files, filepath.Join(known, e.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}

// dataFS returns a file system that has the file at path alone, and its name there. The file is
// opened if it is under one of the roots; without roots, it is not.
func dataFS(path string, roots []string) (fs.FS, string) {
	name := filepath.Base(path)
	if !fs.ValidPath(name) {
		name = "data"
	}
	return oneFile{name, path, roots}, name
}

// oneFile is the file system of [dataFS].
type oneFile struct {
	name, path string
	roots      []string
}

// Open implements fs.FS.
func (o oneFile) Open(name string) (fs.File, error) {
	if name != o.name || len(o.roots) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := OpenFile(o.path, o.roots)
	if err != nil {
		return nil, err // not a nil file in an interface
	}
	return f, nil
}

// dataSocket returns the path of a socket under one of the roots, without links.
func dataSocket(name string, roots []string) (string, error) {
	err := error(&fs.PathError{Op: "connect", Path: name, Err: fs.ErrPermission})
	for _, dir := range roots {
		rel, ok := under(dir, name)
		if !ok {
			continue
		}
		home, homeErr := filepath.EvalSymlinks(dir)
		whole, wholeErr := filepath.EvalSymlinks(filepath.Join(dir, rel))
		if err = errors.Join(homeErr, wholeErr); err != nil {
			continue
		}
		if inside, ok := under(home, whole); !ok || !filepath.IsLocal(inside) {
			err = &fs.PathError{Op: "connect", Path: name, Err: fs.ErrPermission}
			continue
		}
		info, statErr := os.Lstat(whole)
		if statErr == nil && info.Mode().Type() == fs.ModeSocket {
			return whole, nil
		}
		err = errors.Join(statErr, &fs.PathError{Op: "connect", Path: name, Err: errNotSocket})
	}
	return "", err
}

// errNotSocket is the error for names of files that are not sockets.
var errNotSocket = errors.New("not a socket")
