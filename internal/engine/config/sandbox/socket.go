package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Socket returns the path of a socket under one of the roots, without links.
func Socket(name string, roots []string) (string, error) {
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
