// Package file reads the files of datasets as records. It opens and unpacks a file,
// detects its container (JSONL, a JSON document, CSV, Parquet, Arrow) and splits it into
// records, each one JSON object with its place. It holds one record at a time, of
// Parquet and Arrow files a page of each column or a record batch.
//
// Column names become members in the order of the schema. Text becomes a string, binary
// data a string of base64, a list an array, a struct an object, a map with text keys an
// object and any other map an array of objects with key and value. A timestamp becomes
// an RFC 3339 string in UTC; a date has the form 2006-01-02; a time of day or a duration
// is the number in the unit of the file. Numbers that JSON does not have (NaN and
// infinities) become null.
package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// UntrustedMaxBytes is the value of [File.MaxBytes] for files that others may name.
const UntrustedMaxBytes int64 = 4 << 30

// File is the source of records: a path, or the records themselves.
type File struct {
	Path string
	// FS holds Path, which then must be a slash-separated relative path without
	// ".." that names a regular file; nil = Path is opened as the system does,
	// pipes included. A root that links cannot leave is os.Root's FS.
	FS      fs.FS
	Files   []string          // several files instead of Path, which are read one after the other
	Records []json.RawMessage // inline records instead of Path
	// MaxBytes bounds the unpacked content of a file; 0 = no bound. The records of
	// Parquet and Arrow files count as JSON.
	MaxBytes int64
	// MaxRecord bounds a record of a JSON file in bytes; 0 = MaxRecordBytes.
	MaxRecord int
	// Sieve takes the bytes of the records of a JSON file; nil = records are read as a whole.
	Sieve Sieve
	// Folder allows Path to be a folder: its regular files are read one after the
	// other in the order of their paths, folders below it included. Files and folders
	// whose name begins with a dot are left out.
	Folder bool
	// Key allows a JSON document that is an object with an array of records in this
	// member, like {"data": […]}; empty = it does not.
	Key string
	// Numbers names the columns of a CSV file whose values become JSON numbers if they
	// look like them; all others become strings.
	Numbers []string
}

// Sieve makes records of their bytes while these are read, so that a long one need not be in memory as a whole.
type Sieve interface {
	// Write takes the next bytes of a record, which it does not keep.
	Write(part []byte)
	// Record returns what stands for the record that was written since the last call, valid until the next Write.
	Record() []byte
	// Drop forgets a record that is too long, and frees the memory that it has taken.
	Drop()
}

// Check checks the options without opening a file.
func (f File) Check() error {
	switch {
	case f.Path == "" && len(f.Files) == 0 && len(f.Records) == 0:
		return errors.New("neither a path nor records are given")
	case f.Path != "" && len(f.Records) > 0:
		return errors.New("both a path and records are given; use one of them")
	case len(f.Files) > 0 && (f.Path != "" || len(f.Records) > 0):
		return errors.New("several files are given beside a path or records; use one of them")
	case f.MaxBytes < 0:
		return fmt.Errorf("size limit %d: must not be negative", f.MaxBytes)
	}
	for _, path := range f.paths() {
		if f.FS != nil && !fs.ValidPath(path) {
			return fmt.Errorf("path %q: must be relative, with slashes, and must not leave its root", path)
		}
	}
	return nil
}

// paths returns the paths that are given.
func (f File) paths() []string {
	if f.Path != "" {
		return []string{f.Path}
	}
	return f.Files
}

// Name returns the path for messages: of several files, the first.
func (f File) Name() string {
	switch {
	case f.Path != "":
		return f.Path
	case len(f.Files) == 1:
		return f.Files[0]
	case len(f.Files) > 1:
		return fmt.Sprintf("%s and %d more", f.Files[0], len(f.Files)-1)
	}
	return "inline records"
}

// IsFolder reports whether the path is that of a folder.
func (f File) IsFolder() bool {
	if f.Path == "" {
		return false
	}
	info, err := f.stat(f.Path)
	return err == nil && info.IsDir()
}

// Rewindable reports whether opening the file again gives the same records: it is not a
// pipe or a device. A file that is missing is not rewindable.
func (f File) Rewindable() bool {
	for _, path := range f.paths() {
		info, err := f.stat(path)
		if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			return false
		}
	}
	return true
}

// IsPipe reports whether a path leads to a pipe or a device, which can be read only once.
func (f File) IsPipe() bool {
	for _, path := range f.paths() {
		if info, err := f.stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return true
		}
	}
	return false
}

// Size returns the size of regular files in bytes, packed as they are; inline records
// have none.
func (f File) Size() (size int64, ok bool) {
	for _, path := range f.paths() {
		info, err := f.stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return 0, false
		}
		size += info.Size()
	}
	return size, len(f.Records) == 0
}

// settled is how long ago a file was changed at least if a later change is sure to give it another time.
const settled = 2 * time.Second

// State names the files that are read, with their sizes and times, so that it is different when one of them was
// changed; false = this cannot be said.
func (f File) State() (state string, size int64, ok bool) {
	if len(f.Records) > 0 {
		return "", 0, false
	}
	paths, _, err := f.list()
	if err != nil {
		return "", 0, false
	}
	var b strings.Builder
	for _, path := range paths {
		name, info, err := f.place(path)
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < settled {
			return "", 0, false
		}
		size += info.Size()
		fmt.Fprintf(&b, "%q %q %d %d\n", name, path, info.Size(), info.ModTime().UnixNano())
	}
	return b.String(), size, true
}

// place returns the absolute path of a file, as far as it has one, and what is known of it.
func (f File) place(path string) (name string, info fs.FileInfo, err error) {
	if f.FS == nil {
		if name, err = filepath.Abs(path); err == nil {
			info, err = os.Stat(name)
		}
		return name, info, err
	}
	if info, err = fs.Stat(f.FS, path); err != nil || !info.Mode().IsRegular() {
		return "", info, err
	}
	opened, err := f.FS.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = opened.Close() }() // was only read
	named, ok := opened.(interface{ Name() string })
	if !ok {
		return "", nil, errors.New("the file has no name")
	}
	return named.Name(), info, nil
}

func (f File) stat(path string) (fs.FileInfo, error) {
	if f.FS != nil {
		return fs.Stat(f.FS, path)
	}
	return os.Stat(path)
}

// list returns the files to read, and the name of each for messages.
func (f File) list() (paths, names []string, err error) {
	base := func(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
	if len(f.Files) > 0 {
		for _, path := range f.Files {
			names = append(names, base(path))
		}
		return f.Files, names, nil
	}
	info, err := f.stat(f.Path)
	if err != nil || !info.IsDir() {
		return []string{f.Path}, []string{base(f.Path)}, nil //nolint:nilerr // opening it reports the error
	}
	if !f.Folder {
		return nil, nil, &fs.PathError{Op: "read", Path: f.Path, Err: errors.New("is a directory; this format is read from one file")}
	}
	visit := func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != f.Path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case isRegular(f, path, entry):
			paths = append(paths, path)
			names = append(names, filepath.ToSlash(strings.TrimLeft(strings.TrimPrefix(path, f.Path), `/\`)))
		}
		return nil
	}
	if f.FS != nil {
		err = fs.WalkDir(f.FS, f.Path, visit)
	} else {
		err = filepath.WalkDir(f.Path, visit)
	}
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("folder %s has no files", f.Path)
	}
	return paths, names, err
}

// isRegular reports whether an entry of a folder is a regular file or a link to one.
func isRegular(f File, path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := f.stat(path)
	return err == nil && info.Mode().IsRegular()
}
