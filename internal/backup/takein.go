package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// TakeIn copies runs from folders of any names, such as those of the command line, into the data folder dir of a
// store, where they stand alone and are pinned: all of them or none. A run that is there already is pinned.
func TakeIn(ctx context.Context, s *store.Store, dir string, folders []string) (err error) {
	p, err := begin(store.ImportDir(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	var added []string
	for _, folder := range folders {
		r, err := store.ReadCopy(folder)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		if _, err := s.Get(ctx, r.ID); !errors.Is(err, run.ErrNotFound) {
			if err == nil {
				err = Pin(ctx, s, r.ID)
			}
			if err != nil {
				return err
			}
			continue
		}
		r.Cell, r.Pinned = nil, true
		if err := copyRun(p.file(r.ID), folder, r); err != nil {
			return fmt.Errorf("copy %s: %w", folder, err)
		}
		added = append(added, r.ID)
	}
	return store.Adopt(ctx, s, p.dir, added)
}

// Pin makes the rules of retention keep a run, and the study that it belongs to.
func Pin(ctx context.Context, s *store.Store, id string) error {
	for id != "" {
		r, err := s.Get(ctx, id)
		if err != nil {
			return fmt.Errorf("pin run %s: %w", id, err)
		}
		if !r.State.Terminal() {
			return fmt.Errorf("run %s has not ended", id)
		}
		if !r.Pinned {
			r.Pinned = true
			r.Revision++
			if err := s.Put(ctx, r); err != nil {
				return err
			}
		}
		id = r.ParentID()
	}
	return nil
}

// copyRun durably makes a folder with the files of another one and a copy of the run.
func copyRun(to, from string, r *run.Run) error {
	f, err := openFolder(from)
	if err != nil {
		return err
	}
	defer f.close()
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, file := range f.files {
		if err := durable.MkdirAll(to, file.name); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(to, filepath.FromSlash(file.name)), file); err != nil {
			return err
		}
	}
	return store.WriteCopy(to, r)
}

func copyFile(path string, from io.Reader) error {
	out, err := durable.Create(path, durable.Private)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Sync(), out.Close())
}
