// Package backup saves and moves runs: it writes a data folder, or some of its runs, to an
// archive while a daemon may be using the folder, checks archives, restores a data folder
// and adds the runs of an archive to another one.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/store/archive"
	"aiperfd/internal/store/filelock"
)

// Result is what an archive holds.
type Result struct {
	Path    string
	Kind    archive.Kind
	Created time.Time
	Runs    int
	Files   int
	Bytes   int64 // of the files, uncompressed
	// Skipped are files and folders that are not in the archive, and why.
	Skipped []string
}

// Create writes a backup of a data folder to a file, or into a folder under a name with
// the time. A daemon may use the folder. The backup has the state of the index at its
// beginning: runs that have ended are complete in it; one that is active is restored as
// after a crash of the daemon.
func Create(ctx context.Context, dir, output, version string) (*Result, error) {
	now := time.Now().UTC()
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		output = filepath.Join(output, "aiperfd-backup-"+now.Format("20060102T150405Z")+".tar.gz")
	}
	live, err := store.OpenIndex(dir)
	if err != nil {
		return nil, err
	}
	defer live.Close()
	return write(ctx, output, archive.Header{Kind: archive.Backup, Created: now, Version: version}, func(w *archive.Writer, p *partial) (*Result, error) {
		path := p.file(archive.Database)
		if err := live.Copy(ctx, path); err != nil {
			return nil, err
		}
		index, err := store.OpenIndexFile(path)
		if err != nil {
			return nil, err
		}
		defer index.Close()
		out, err := addAll(ctx, w, index, dir)
		if err != nil {
			return nil, err
		}
		// Closing moves everything into the file itself.
		return out, errors.Join(index.Close(), addIndex(w, path))
	})
}

// addAll adds the folders of all runs of an index. It removes those from the index that
// were deleted meanwhile.
func addAll(ctx context.Context, w *archive.Writer, index *store.Index, dir string) (*Result, error) {
	if err := index.Check(ctx); err != nil {
		return nil, err
	}
	ids, err := index.IDs(ctx)
	if err != nil {
		return nil, err
	}
	out := new(Result)
	for _, id := range ids {
		row, err := index.Row(ctx, id)
		if err != nil {
			return nil, err
		}
		skipped, err := addRun(w, row, dir)
		if errors.Is(err, errGone) {
			out.Skipped = append(out.Skipped, err.Error())
			if err := index.Remove(ctx, id); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Runs++
		out.Skipped = append(out.Skipped, skipped...)
	}
	return out, nil
}

// Export writes runs to a file: each run, and each study with its cells. They must have
// ended. A daemon may use the folder.
func Export(ctx context.Context, dir, output string, ids []string, version string) (*Result, error) {
	index, err := store.OpenIndex(dir)
	if err != nil {
		return nil, err
	}
	defer index.Close()
	rows, err := choose(ctx, index, ids)
	if err != nil {
		return nil, err
	}
	h := archive.Header{Kind: archive.Selected, Created: time.Now().UTC(), Version: version}
	for _, row := range rows {
		h.Runs = append(h.Runs, row.ID)
	}
	return write(ctx, output, h, func(w *archive.Writer, _ *partial) (*Result, error) {
		out := new(Result)
		for _, row := range rows {
			skipped, err := addRun(w, row, dir)
			if err != nil {
				return nil, err
			}
			out.Runs++
			out.Skipped = append(out.Skipped, skipped...)
		}
		return out, nil
	})
}

// choose returns the rows of runs and of the cells of studies. The error names every id
// that cannot be exported.
func choose(ctx context.Context, index *store.Index, ids []string) ([]*store.Row, error) {
	var rows []*store.Row
	var errs []error
	seen := map[string]bool{}
	add := func(id, parent string) {
		row, err := index.Row(ctx, id)
		var r *run.Run
		if err == nil {
			r, err = row.Run()
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case !row.State.Terminal():
			errs = append(errs, fmt.Errorf("%s: the run is %s; only runs that have ended can be exported", id, row.State))
		case r.ParentID() != parent:
			errs = append(errs, fmt.Errorf("%s: the run belongs to the study %s; export the study", id, r.ParentID()))
		case !seen[id]:
			seen[id] = true
			rows = append(rows, row)
		}
	}
	for _, id := range ids {
		add(id, "")
		cells, err := index.Cells(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, cell := range cells {
			add(cell, id)
		}
	}
	return rows, errors.Join(errs...)
}

// write writes an archive under a temporary name and gives it its own when it is complete
// and durable.
func write(ctx context.Context, output string, h archive.Header, fill func(*archive.Writer, *partial) (*Result, error)) (out *Result, err error) {
	p, err := begin(filepath.Join(filepath.Dir(output), ".aiperfd-archive.partial"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	err = durable.Write(p.file("archive"), durable.Private, func(to io.Writer) error {
		w, err := archive.NewWriter(ctx, to, h)
		if err != nil {
			return err
		}
		if out, err = fill(w, p); err != nil {
			return err
		}
		out.Path, out.Kind, out.Created, out.Files, out.Bytes = output, h.Kind, h.Created, w.Files, w.Bytes
		return w.Close()
	})
	if err == nil {
		err = os.Rename(p.file("archive"), output)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(output))
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", output, err)
	}
	return out, nil
}

// partial is a folder for what is not complete yet. It is locked, so that what a killed
// process has left can be told from what another one is writing.
type partial struct {
	dir  string
	lock io.Closer
}

// begin makes a folder, and empties it if a killed process has left it.
func begin(dir string) (*partial, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	lock, err := filelock.Lock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	p := &partial{dir, lock}
	left, err := os.ReadDir(dir)
	for _, e := range left {
		if e.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(p.file(e.Name())))
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return p, nil
}

const lockName = "lock"

func (p *partial) file(name string) string { return filepath.Join(p.dir, name) }

// end removes the folder.
func (p *partial) end() error { return errors.Join(os.RemoveAll(p.dir), p.lock.Close()) }
