// Package upkeep keeps the disk of a daemon usable: it deletes old runs by the rules of
// retention, refuses runs while the disk is nearly full, and describes both as metrics.
package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// Defaults of [Rules].
const (
	DefaultMaxRuns = 1000
	DefaultMinFree = 1 << 30
)

// Rules say how much is kept, besides the time that runs have of their own ([run.Run.ExpiresAt]).
// Runs that have not ended and pinned ones are kept in any case, and do not count. A study
// counts as one run, with its cells.
type Rules struct {
	MaxRuns  int           // 0 = without limit
	MaxBytes int64         // of the files of runs; 0 = without limit
	MaxAge   time.Duration // since the end of a run; 0 = without limit
	MinFree  int64         // bytes of the disk that must be free for a new run; 0 = any
}

// Reserve returns the bytes of the disk that the record files of a run leave free, so that
// the runs in the queue can still be performed and stored; 0 = a default.
func (r Rules) Reserve() int64 { return r.MinFree / 10 }

// Runs are the runs and studies of the daemon. Safe for concurrent use.
type Runs interface {
	// List returns runs without their configurations.
	List(ctx context.Context, q run.Query) (run.Page, error)
	// Delete removes a run or a study with its cells, and their files.
	Delete(ctx context.Context, id string, force bool) error
}

// Disk is the data directory. Safe for concurrent use.
type Disk interface {
	// Dir returns the folder of a run.
	Dir(id string) string
	// Free returns the free space in bytes.
	Free() (int64, error)
}

// every is the time between two applications of the rules.
const every = time.Minute

// agedAtOnce is how many runs are deleted at a time because of their age or their own time.
// A system clock that jumps makes all runs old at once.
const agedAtOnce = 20

// pageSize is how many runs are considered at a time.
const pageSize = 100

// Options are the parameters of an [Upkeep]. Runs and Disk are required.
type Options struct {
	Rules Rules
	Runs  Runs
	Disk  Disk
	Log   zerolog.Logger
}

// Upkeep applies rules to a data directory. Its methods are safe for concurrent use,
// except Run, which is called once.
type Upkeep struct {
	Options
	since   time.Time // the counters are 0 then
	deleted atomic.Int64
	failed  atomic.Int64     // deletions and lists
	sizes   map[string]int64 // of terminal runs, by id; bytes. It belongs to Run
	aged    int              // runs that may still be deleted for their age this time. It belongs to Run
	more    bool             // there are more of them. It belongs to Run
	behind  bool             // there were more of them last time. It belongs to Run
}

// New returns an upkeep. It deletes nothing until [Upkeep.Run].
func New(o Options) (*Upkeep, error) {
	if o.Runs == nil || o.Disk == nil {
		return nil, errors.New("make upkeep: Runs or Disk is missing")
	}
	return &Upkeep{Options: o, since: time.Now(), sizes: map[string]int64{}}, nil
}

// Run applies the rules until ctx ends. A deletion in progress is completed.
func (u *Upkeep) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := u.apply(ctx); err != nil && ctx.Err() == nil {
			u.failed.Add(1)
			u.Log.Error().Err(err).Msg("old runs cannot be deleted")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Admit returns an error that is [run.ErrDiskFull] if too little space is free for a new
// run.
func (u *Upkeep) Admit() error {
	if u.Rules.MinFree <= 0 {
		return nil
	}
	// What cannot be measured is no reason to refuse: the store reports a bad disk itself.
	if free, err := u.Disk.Free(); err == nil && free < u.Rules.MinFree {
		return fmt.Errorf("%w: %d bytes are free, --min-free-disk is %d", run.ErrDiskFull, free, u.Rules.MinFree)
	}
	return nil
}

// candidates selects what the rules may delete, oldest first.
func candidates() run.Query {
	return run.Query{
		States:   []bench.State{bench.StateCompleted, bench.StateCancelled, bench.StateFailed},
		TopLevel: true, Unpinned: true, Sort: run.SortEnded, Limit: pageSize,
	}
}

// apply deletes what the rules do not keep.
func (u *Upkeep) apply(ctx context.Context) error {
	u.aged, u.more = agedAtOnce, false
	err := cmp.Or(u.expire(ctx), u.exceed(ctx))
	if u.more && !u.behind {
		u.Log.Warn().Int("deleted", agedAtOnce).Msg("more runs than usual are too old; they are deleted slowly, in case the system clock is wrong")
	}
	u.behind = u.more
	return err
}

// exceed deletes the runs that the rules do not keep.
func (u *Upkeep) exceed(ctx context.Context) error {
	bytes, err := u.measure(ctx)
	if err != nil {
		return err
	}
	q := candidates()
	for q.Limit = 1; ; q.Limit = pageSize { // mostly nothing is to be deleted, and the oldest run shows it
		page, err := u.Runs.List(ctx, q)
		if err != nil {
			return err
		}
		left, before := page.Total, u.deleted.Load()
		for i := range page.Runs {
			r := &page.Runs[i]
			switch {
			case u.exceeded(left, bytes):
			case !u.tooOld(r) || !u.takeAged():
				return nil
			}
			if err := u.delete(ctx, r); err != nil {
				return err
			}
			left, bytes = left-1, bytes-u.sizes[r.ID]
			delete(u.sizes, r.ID)
		}
		if u.deleted.Load() == before {
			return nil // nothing is left, or it cannot be deleted now
		}
	}
}

// expire deletes the runs whose own time has passed.
func (u *Upkeep) expire(ctx context.Context) error {
	q := candidates()
	q.ExpiredBy = time.Now()
	for {
		page, err := u.Runs.List(ctx, q)
		if err != nil {
			return err
		}
		before := u.deleted.Load()
		for i := range page.Runs {
			if !u.takeAged() {
				return nil
			}
			if err := u.delete(ctx, &page.Runs[i]); err != nil {
				return err
			}
			delete(u.sizes, page.Runs[i].ID)
		}
		if u.deleted.Load() == before {
			return nil // nothing is left, or it cannot be deleted now
		}
	}
}

// takeAged reports whether one more run may be deleted for its age this time.
func (u *Upkeep) takeAged() bool {
	if u.aged == 0 {
		u.more = true
		return false
	}
	u.aged--
	return true
}

// exceeded reports whether there are too many runs, or too many bytes of them.
func (u *Upkeep) exceeded(runs int, bytes int64) bool {
	return u.Rules.MaxRuns > 0 && runs > u.Rules.MaxRuns || u.Rules.MaxBytes > 0 && bytes > u.Rules.MaxBytes
}

// tooOld reports whether a run ended too long ago.
func (u *Upkeep) tooOld(r *run.Run) bool {
	return u.Rules.MaxAge > 0 && r.EndedAt != nil && time.Since(*r.EndedAt) > u.Rules.MaxAge
}

func (u *Upkeep) delete(ctx context.Context, r *run.Run) error {
	switch err := u.Runs.Delete(ctx, r.ID, false); {
	case err == nil:
		u.deleted.Add(1)
		u.Log.Info().Str("run", r.ID).Str("name", r.Name).Msg("deleted by the rules of retention")
	case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrPinned), errors.Is(err, run.ErrActive): // changed meanwhile
	default:
		return err
	}
	return nil
}

// measure returns the bytes of the files of all candidates. The files of a run that has
// ended do not change, so that each is measured once. Without a limit nothing is.
func (u *Upkeep) measure(ctx context.Context) (total int64, err error) {
	if u.Rules.MaxBytes <= 0 {
		return 0, nil
	}
	present := make(map[string]int64, len(u.sizes))
	for q := candidates(); ; {
		page, err := u.Runs.List(ctx, q)
		if err != nil {
			return 0, err
		}
		for i := range page.Runs {
			id := page.Runs[i].ID
			size, known := u.sizes[id]
			if !known {
				if size, err = u.size(ctx, &page.Runs[i]); err != nil {
					return 0, err
				}
			}
			present[id] = size
			total += size
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			u.sizes = present
			return total, nil
		}
	}
}

// size returns the bytes of the files of a run, or of a study with its cells.
func (u *Upkeep) size(ctx context.Context, r *run.Run) (int64, error) {
	total := folderSize(u.Disk.Dir(r.ID))
	if r.Study == nil {
		return total, nil
	}
	for q := (run.Query{Parent: r.ID, Limit: pageSize}); ; {
		page, err := u.Runs.List(ctx, q)
		if err != nil {
			return 0, err
		}
		for i := range page.Runs {
			total += folderSize(u.Disk.Dir(page.Runs[i].ID))
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return total, nil
		}
	}
}

// folderSize returns the bytes of the files in a folder, as far as they can be read.
func folderSize(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
