package app

import (
	"fmt"

	"aiperfd/internal/api/baselines"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// keptBaselines are the baselines of the data directory of a daemon.
type keptBaselines struct {
	*store.Baselines
	db *store.Store
}

// baselinesOf returns the baselines of a data directory; nil = there is none.
func baselinesOf(db *store.Store) baselines.Kept {
	if db == nil {
		return nil
	}
	return keptBaselines{store.NewBaselines(db), db}
}

// Key returns what a run was measured with.
func (k keptBaselines) Key(r *run.Run) (run.BaselineKey, error) { return keyOf(r, k.db.Dir(r.ID)) }

// keyOf returns what a run was measured with; dir is its folder, empty = it has not been measured.
func keyOf(r *run.Run, dir string) (run.BaselineKey, error) {
	workload, err := compare.Workload(r.Config)
	if err != nil {
		return run.BaselineKey{}, fmt.Errorf("run %s: %w", r.ID, err)
	}
	key := run.BaselineKey{Workload: workload, Target: r.Labels[run.TargetLabel]}
	if dir == "" {
		key.Host = hostClass(export.CurrentEnvironment())
		return key, nil
	}
	prefix, _ := results.Prefix(r.Config) // without one the names are the usual ones
	if _, machine, err := results.Open(dir, prefix).Report(); err == nil {
		key.Host = hostClass(machine)
	}
	return key, nil
}

// hostClass returns what machines have in common whose measurements compare.
func hostClass(m export.Environment) string {
	return fmt.Sprintf("%s/%s, %d processors", m.OS, m.Arch, m.CPUs)
}
