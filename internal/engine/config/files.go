package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

// Open opens a file that the document names, within the bounds under which the
// document was loaded. The caller closes the file.
func (d *Document) Open(name string) (*os.File, error) {
	if d.closed() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return OpenFile(name, d.roots)
}

// Folder lists the files of a directory that the document names, sorted, as names
// for [Document.Open]. Directories in it are left out.
func (d *Document) Folder(name string) ([]string, error) {
	if d.closed() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return dataFolder(name, d.roots)
}

// Socket returns the path of a unix socket that the document names, within the
// bounds under which the document was loaded. For a document with bounds the path
// has no links left.
func (d *Document) Socket(name string) (string, error) {
	if d.Trusted() {
		return name, nil
	}
	return dataSocket(name, d.roots)
}

// DataFile returns the file system and the path in it by which a file that the document
// names is opened within the bounds of the document. A nil file system means that of the
// operating system.
func (d *Document) DataFile(name string) (fs.FS, string) {
	if d.Trusted() {
		return nil, name
	}
	return dataFS(name, d.roots)
}

// closed reports whether the document may open no file at all.
func (d *Document) closed() bool { return d.untrusted && len(d.roots) == 0 }

// Trusted reports whether the document may name any file.
func (d *Document) Trusted() bool { return !d.untrusted }

// WriteUserFiles renders the files that the document has for a run, and writes them
// below its folder, without secrets.
func (d *Document) WriteUserFiles(run UserFileRun) error {
	for _, f := range d.Benchmark.Artifacts.UserFiles {
		var report problem.Report
		text := f.Render(d.variables(), run, &report)
		if err := report.Err(); err != nil {
			return fmt.Errorf("render the file %s: %w", f.Path, err)
		}
		clean := redact.NewSet(d.Secrets()...).Exact(string(text))
		for _, s := range d.confidential { // also a short one
			clean = strings.ReplaceAll(clean, s, redact.Placeholder)
		}
		if err := writeUserFile(run.ArtifactDir, f.Path, clean); err != nil {
			return fmt.Errorf("write the file %s: %w", f.Path, err)
		}
	}
	return nil
}

// variables returns the variables as a tree.
func (d *Document) variables() *tree.Node {
	text, errA := json.Marshal(d.Variables)
	n, _, errB := tree.ParseJSON(text)
	if err := errors.Join(errA, errB); err != nil {
		panic("read variables back: " + err.Error()) // they were read from a document
	}
	return n
}

// readWhole returns the contents of the small file that a path of the document names;
// false = there is a problem, or the file must not be read.
func readWhole(in *input, path, name string, most int) ([]byte, bool) {
	n := in.At(path)
	if checkFile(in, path, name); n == nil || in.Failed[path] || in.options.Stored || in.doc.closed() {
		return nil, false
	}
	f, err := in.doc.Open(name)
	var data []byte
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, int64(most)+1))
	}
	switch {
	case err != nil:
		in.FailValue(n, problem.CodeFileNotAllowed, "the file cannot be read")
	case len(data) > most:
		in.FailValue(n, problem.CodeOutOfRange, fmt.Sprintf("the file must have at most %d MiB", most>>20))
	default:
		return data, true
	}
	return nil, false
}

// checkFile reports a path that does not lead to a readable file.
func checkFile(in *input, path, name string) {
	if name == "" || in.Failed[path] || in.options.Stored {
		return
	}
	n := in.At(path)
	if n == nil {
		return
	}
	if in.doc.closed() {
		in.FailValue(n, problem.CodeFileNotAllowed, "reading files is not allowed here")
		return
	}
	if complaint := fileComplaint(in.doc, name); complaint != "" {
		in.Failed[path] = true
		in.FailValue(n, problem.CodeFileNotAllowed, complaint)
	}
}

// checkData reports the path of a dataset that cannot be read. A trusted document may
// also name a folder, or a pipe, which is not opened: its data can be read only once.
func checkData(in *input, path, name string) {
	if !in.options.Untrusted {
		const readable = fs.ModeDir | fs.ModeNamedPipe
		if info, err := os.Stat(name); err == nil && info.Mode()&readable != 0 {
			return
		}
	}
	checkFile(in, path, name)
}

// fileComplaint returns why a file cannot be read, or "". With roots, it gives the
// same reason for files that are missing and files outside of the roots.
func fileComplaint(d *Document, name string) string {
	f, err := d.Open(name)
	if err == nil {
		err = f.Close()
	}
	switch {
	case err == nil:
		return ""
	case len(d.roots) > 0:
		return "must be a file in one of the server's data directories (serve --data-root)"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, errNotRegular):
		return "must be a regular file"
	}
	return "the file cannot be read"
}

// checkFolder reports a source of images that is no readable directory.
func checkFolder(in *input, path, name string) {
	if in.Failed[path] || in.options.Stored {
		return
	}
	complaint := "must be noise, noise-smooth, assets or a directory"
	switch _, err := in.doc.Folder(name); {
	case err == nil:
		return
	case in.doc.closed():
		complaint = "must be noise, noise-smooth or assets; reading directories is not allowed here"
	case len(in.doc.roots) > 0:
		complaint += " in one of the server's data directories (serve --data-root)"
	case errors.Is(err, fs.ErrNotExist):
		complaint += "; no such directory"
	}
	in.Failed[path] = true
	in.FailValue(in.At(path), problem.CodeFileNotAllowed, complaint)
}

// checkSocket reports a unix socket that may not be used.
func checkSocket(in *input, n *tree.Node, name string) {
	const longest = 107 // bytes in sockaddr_un
	switch {
	case n == nil || in.options.Stored:
	case !filepath.IsAbs(name) && strings.HasPrefix(name, "@"):
		in.FailValue(n, problem.CodeOutOfRange, "must be the path of a socket; abstract sockets are not supported")
	case len(name) > longest:
		in.FailValue(n, problem.CodeOutOfRange, "must have at most 107 bytes, the limit of the operating system")
	case !in.options.Untrusted:
	case in.doc.closed():
		in.FailValue(n, problem.CodeFileNotAllowed, "reading files is not allowed here")
	default:
		if _, err := in.doc.Socket(name); err != nil {
			in.FailValue(n, problem.CodeFileNotAllowed,
				"must be a socket in one of the server's data directories (serve --data-root)")
		}
	}
}
