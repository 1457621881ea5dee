package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/store/archive"
)

// Imported is the result of an import.
type Imported struct {
	Added     []string // ids
	Unchanged []string // ids of runs that were there already, with the same files
	Warnings  []string // of the data folder
}

// Import adds the runs of an archive to a data folder: all of them or none. A daemon may
// use the folder, and shows the runs at once. Runs that are there already must be the same.
func Import(ctx context.Context, dir, file string, limits archive.Limits) (out *Imported, err error) {
	// A daemon may use the folder, or start meanwhile: the lock is taken only to make the
	// database or to migrate it.
	s, err := store.Attach(ctx, dir)
	if err != nil {
		var failure error
		if s, failure = store.Open(ctx, dir); failure != nil {
			return nil, errors.Join(err, failure)
		}
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := begin(store.ImportDir(dir))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	c, _, err := unpack(ctx, file, p.dir, limits)
	if err != nil {
		return nil, err
	}
	if c.header.Kind != archive.Selected {
		return nil, fmt.Errorf("%s is a backup of a whole data folder; use aiperfd restore", file)
	}
	out = &Imported{Warnings: s.Warnings()}
	from := p.file(archive.Runs)
	runs, err := readAll(from, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var errs []error
	for _, r := range runs {
		switch known, err := same(ctx, s, r, filepath.Join(from, r.ID)); {
		case err != nil:
			errs = append(errs, err)
		case known:
			out.Unchanged = append(out.Unchanged, r.ID)
		default:
			out.Added = append(out.Added, r.ID)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := store.Adopt(ctx, s, from, out.Added); err != nil {
		return nil, err
	}
	return out, nil
}

// readAll reads the runs of an archive. Those of a study must come with it.
func readAll(from string, c *contents) ([]*run.Run, error) {
	byID := map[string]*run.Run{}
	var errs []error
	for id := range c.runs {
		r, err := store.ReadFolder(filepath.Join(from, id))
		if err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", id, err))
			continue
		}
		byID[id] = r
	}
	for id, r := range byID {
		if parent := r.ParentID(); parent != "" && (byID[parent] == nil || byID[parent].Kind() != run.KindSweep) {
			errs = append(errs, fmt.Errorf("run %s belongs to the study %s, which is not in the archive", id, parent))
		}
	}
	var out []*run.Run
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, byID[id])
	}
	return out, errors.Join(errs...)
}

// same reports whether a run is in the store already. One that is there with other
// content is an error.
func same(ctx context.Context, s *store.Store, r *run.Run, dir string) (bool, error) {
	old, err := s.Get(ctx, r.ID)
	if errors.Is(err, run.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	equal, err := sameRun(old, r)
	if err == nil && equal {
		equal, err = sameFiles(s.Dir(r.ID), dir)
	}
	if err == nil && !equal {
		err = fmt.Errorf("run %s is there already, and differs from the one in the archive; delete it first to replace it", r.ID)
	}
	return equal, err
}

// sameRun compares what two runs say of themselves.
func sameRun(a, b *run.Run) (bool, error) {
	var texts [2][]byte
	for i, r := range []*run.Run{a, b} {
		text, err := plainjson.Marshal(struct {
			Run    *run.Run
			Config any
		}{r, r.Config})
		if err != nil {
			return false, fmt.Errorf("encode run %s: %w", r.ID, err)
		}
		texts[i] = text
	}
	return bytes.Equal(texts[0], texts[1]), nil
}

// sameFiles compares the files of two folders of a run.
func sameFiles(a, b string) (bool, error) {
	x, err := openFolder(a)
	if err != nil {
		return false, err
	}
	defer x.close()
	y, err := openFolder(b)
	if err != nil {
		return false, err
	}
	defer y.close()
	return slices.EqualFunc(x.files, y.files, func(p, q file) bool { return p.name == q.name && sameContent(p.File, q.File) }), nil
}

// sameContent compares the rest of two files. What cannot be read differs.
func sameContent(a, b *os.File) bool {
	var x, y [64 << 10]byte
	for {
		n, err := io.ReadFull(a, x[:])
		m, other := io.ReadFull(b, y[:])
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if err != nil || other != nil {
			ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
			return ended(err) && ended(other)
		}
	}
}
