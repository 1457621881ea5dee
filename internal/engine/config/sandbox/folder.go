package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxFolder bounds the files of a folder that a document names.
const maxFolder = 100_000

// ErrNotFolder is for names that lead to something else than a directory.
var ErrNotFolder = errors.New("not a directory")

// Folder lists the files of a directory, sorted, as names for [Open]. Directories
// in it are left out. With roots, it must lie under one of them.
func Folder(name string, roots []string) ([]string, error) {
	if len(roots) == 0 {
		return listFolder(name, name, os.Stat, os.Open)
	}
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
		files, listErr := listFolder(rel, name, root.Stat, root.Open)
		if listErr = errors.Join(listErr, root.Close()); listErr == nil {
			return files, nil
		}
		err = listErr
	}
	return nil, err
}

// listFolder reads a directory; its files get the name under which it is known.
func listFolder(name, known string, stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error)) ([]string, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: known, Err: ErrNotFolder}
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
