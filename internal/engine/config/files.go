package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errNotRegular is for names that lead to directories, pipes and devices.
var errNotRegular = errors.New("not a regular file")

// Open opens a file that a document names. It must be a regular file. With
// roots, it must also lie under one of them, whatever links it contains; a
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

// Open opens a file that the document names, within the bounds under which the
// document was loaded. The caller closes the file.
func (d *Document) Open(name string) (*os.File, error) {
	if d.untrusted && len(d.roots) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return Open(name, d.roots)
}

// Trusted reports whether the document may name any file.
func (d *Document) Trusted() bool { return !d.untrusted }

// openRegular looks before it opens: opening a pipe would block.
func openRegular(name string, stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error)) (*os.File, error) {
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

// checkFile reports a path that does not lead to a readable file.
func (l *loader) checkFile(path, name string) {
	if name == "" || l.failed[path] || l.options.Stored {
		return
	}
	n := l.at(path)
	if n == nil {
		return
	}
	if l.options.Untrusted && len(l.options.DataRoots) == 0 {
		l.failValue(n, CodeFileNotAllowed, "reading files is not allowed here")
		return
	}
	var roots []string
	if l.options.Untrusted {
		roots = l.options.DataRoots
	}
	if complaint := fileComplaint(name, roots); complaint != "" {
		l.failed[path] = true
		l.failValue(n, CodeFileNotAllowed, complaint)
	}
}

// fileComplaint says why a file cannot be read, or "". With roots it does not
// tell a missing file from one that is out of bounds.
func fileComplaint(name string, roots []string) string {
	f, err := Open(name, roots)
	if err == nil {
		err = f.Close()
	}
	switch {
	case err == nil:
		return ""
	case len(roots) > 0:
		return "must be a file in one of the server's data directories (serve --data-root)"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, errNotRegular):
		return "must be a regular file"
	}
	return "the file cannot be read"
}

// checkTokenizer: in a daemon a tokenizer's path is a file like any other, and the
// daemon's owner says whether anything is downloaded.
func (l *loader) checkTokenizer() {
	name := l.doc.Benchmark.Tokenizer.Name
	local := filepath.IsAbs(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".json")
	if l.options.Untrusted && local {
		l.checkFile("benchmark.tokenizer.name", name)
	}
	if l.options.Untrusted && l.doc.Benchmark.Tokenizer.AllowDownload && !l.options.AllowDownload {
		l.failValue(l.at("benchmark.tokenizer.allowDownload"), CodeNotAllowed, "downloads are allowed by: serve --allow-download")
	}
}
