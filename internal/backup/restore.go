package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/store/archive"
)

// restoreFolder is where a restore unpacks, in the folder that it restores.
const restoreFolder = ".restore.partial"

// Restore makes a data folder of a backup. The folder must be empty or must not exist.
func Restore(ctx context.Context, file, dir string, limits archive.Limits) (out *Result, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range left {
		if e.Name() != restoreFolder && e.Name() != "lost+found" {
			return nil, fmt.Errorf("%s is not empty: it has %s; a backup is restored into an empty folder", dir, e.Name())
		}
	}
	p, err := begin(filepath.Join(dir, restoreFolder))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	c, out, err := unpack(ctx, file, p.dir, limits)
	if err != nil {
		return nil, err
	}
	if c.header.Kind != archive.Backup {
		return nil, fmt.Errorf("%s is no backup, but has some runs; add them to a data folder by aiperfd runs import", file)
	}
	if err := compare(ctx, p.file(archive.Database), c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(c.runs) > 0 {
		if err := os.Rename(p.file(archive.Runs), filepath.Join(dir, archive.Runs)); err != nil {
			return nil, err
		}
	}
	// The database comes last: without it a daemon would make one of the folders.
	if err := os.Rename(p.file(archive.Database), filepath.Join(dir, archive.Database)); err != nil {
		return nil, err
	}
	if err := durable.SyncDir(dir); err != nil {
		return nil, err
	}
	return out, nil
}
