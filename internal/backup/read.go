package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/store"
	"aiperfd/internal/store/archive"
)

// maxCopy bounds the description of one run in an archive, in bytes.
const maxCopy = 64 << 20

// contents are the files of an archive, as far as its kind allows them.
type contents struct {
	header *archive.Header
	files  int
	bytes  int64
	runs   map[string]bool // by id; true = the run itself is there
	index  bool            // a database is there
}

// see notes a file, or refuses it.
func (c *contents) see(h *archive.Header, f archive.File) error {
	c.header = h
	c.files++
	c.bytes += f.Size
	id, name, ok := archive.InRun(f.Name)
	switch {
	case f.Name == archive.Database && h.Kind == archive.Backup:
		c.index = true
	case !ok || !store.UsableID(id):
		return fmt.Errorf("file %q does not belong into an archive of kind %q", f.Name, h.Kind)
	case name == store.CopyFile && f.Size > maxCopy:
		return &archive.LimitError{What: fmt.Sprintf("%d bytes in %s", maxCopy, f.Name)}
	default:
		c.runs[id] = c.runs[id] || name == store.CopyFile
	}
	return nil
}

// ids returns the ids of the runs, in order; an error if the archive lacks something.
func (c *contents) ids() ([]string, error) {
	var errs []error
	ids := slices.Sorted(maps.Keys(c.runs))
	for _, id := range ids {
		if !c.runs[id] {
			errs = append(errs, fmt.Errorf("the archive lacks %s of run %s", store.CopyFile, id))
		}
	}
	switch c.header.Kind {
	case archive.Backup:
		if !c.index {
			errs = append(errs, fmt.Errorf("the archive lacks %s", archive.Database))
		}
	case archive.Selected:
		if listed := slices.Sorted(slices.Values(c.header.Runs)); !slices.Equal(listed, ids) {
			errs = append(errs, errors.New("the archive does not have the runs that it lists"))
		}
	}
	return ids, errors.Join(errs...)
}

// scan reads an archive from a file, checks its contents and passes its files on.
func scan(ctx context.Context, file string, limits archive.Limits, save func(archive.File, io.Reader) error) (*contents, *Result, error) {
	in, err := regular.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	c := &contents{runs: map[string]bool{}}
	h, err := archive.Read(ctx, in, limits, func(h *archive.Header, f archive.File, content io.Reader) error {
		if err := c.see(h, f); err != nil {
			return err
		}
		return save(f, content)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	c.header = h
	ids, err := c.ids()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, &Result{Path: file, Kind: h.Kind, Created: h.Created, Runs: len(ids), Files: c.files, Bytes: c.bytes}, nil
}

// Verify reads an archive completely: every file is compared with its checksum, and the
// database of a backup is checked and compared with the folders.
func Verify(ctx context.Context, file string) (*Result, error) {
	tmp, err := os.MkdirTemp("", "aiperfd-verify-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	path := filepath.Join(tmp, archive.Database)
	c, out, err := scan(ctx, file, Unlimited(), func(f archive.File, content io.Reader) error {
		if f.Name != archive.Database {
			return nil
		}
		return durable.Write(path, durable.Private, func(w io.Writer) error {
			_, err := io.Copy(w, content)
			return err
		})
	})
	if err == nil && c.index {
		err = compare(ctx, path, c)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// compare checks the database of a backup: it is sound, and has a row for each folder and
// a folder for each row.
func compare(ctx context.Context, path string, c *contents) error {
	index, err := store.OpenIndexFile(path)
	if err != nil {
		return err
	}
	err = index.Check(ctx)
	if err == nil {
		err = index.CheckSchema(ctx)
	}
	var rows []string
	if err == nil {
		rows, err = index.IDs(ctx)
	}
	if err = errors.Join(err, index.Close()); err != nil {
		return err
	}
	if folders := slices.Sorted(maps.Keys(c.runs)); !slices.Equal(rows, folders) {
		return fmt.Errorf("the index of the backup has %d runs, and does not agree with its %d folders", len(rows), len(folders))
	}
	return nil
}

// Unlimited are limits for archives of one's own.
func Unlimited() archive.Limits { return archive.Limits{Files: 1 << 26, Bytes: 1 << 60} }

// unpack writes the files of an archive into an empty folder, durably.
func unpack(ctx context.Context, file, dir string, limits archive.Limits) (*contents, *Result, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	c, out, err := scan(ctx, file, limits, func(f archive.File, content io.Reader) error { return save(root, f, content) })
	if err == nil {
		err = syncFolders(dir)
	}
	if err != nil {
		return nil, nil, err
	}
	return c, out, nil
}

// save writes one file. It must not exist.
func save(root *os.Root, f archive.File, content io.Reader) error {
	name := filepath.FromSlash(f.Name)
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(f.Name)), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.Mode&0o644|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return root.Chtimes(name, f.Modified, f.Modified)
}

// syncFolders makes the names of all files below a folder durable.
func syncFolders(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return durable.SyncDir(name)
	})
}
