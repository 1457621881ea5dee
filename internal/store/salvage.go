package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// row is what the database has of a run. The columns repeat what is in the document.
type row struct {
	id, document          string
	state, name           string
	kind, parent          string
	created, start, ended int64
	pinned                bool
}

// rowColumns are the columns of a row, in the order of fields.
const rowColumns = "id, run, state, name, kind, parent_id, created_at, started_at, ended_at, pinned"

// fields returns where the columns of a row are scanned to.
func (w *row) fields() []any {
	return []any{&w.id, &w.document, &w.state, &w.name, &w.kind, &w.parent, &w.created, &w.start, &w.ended, &w.pinned}
}

// warnBroken is the warning on a run whose entry in the database cannot be read.
const warnBroken = "broken-entry"

// decode returns the run of a row, whose folder is dir. If its document cannot be read, it is the copy in the
// folder of the run, or else what the columns say, with a warning: one damaged entry must
// not hide the others.
func decode(w *row, dir string) *run.Run {
	r := new(run.Run)
	err := json.Unmarshal([]byte(w.document), r)
	if err == nil && r.ID != w.id {
		err = errors.New("it is the entry of another run")
	}
	if err == nil {
		return r
	}
	detail := fmt.Sprintf("the entry of this run in the database cannot be read (%v); ", err)
	left := w.remains()
	if r, err = ReadFolder(dir); err == nil {
		// The database decides about the state and the order of runs.
		r.State, r.CreatedAt, r.StartedAt, r.EndedAt = left.State, left.CreatedAt, left.StartedAt, left.EndedAt
		detail += "this is the copy in its folder"
	} else {
		r = left
		detail += "this is what is left of it"
	}
	r.Warnings = append(r.Warnings, bench.Warning{Code: warnBroken, Detail: detail})
	return r
}

// remains returns the run that the columns describe.
func (w *row) remains() *run.Run {
	r := &run.Run{
		ID: w.id, Name: w.name, State: bench.State(w.state), CreatedAt: time.Unix(0, w.created).UTC(),
		StartedAt: wallTime(w.start), EndedAt: wallTime(w.ended), Terms: run.Terms{Pinned: w.pinned},
	}
	if run.Kind(w.kind) == run.KindSweep {
		r.Study = new(run.Study)
	}
	if w.parent != "" {
		r.Cell = &run.Cell{ParentID: w.parent}
	}
	return r
}

// wallTime returns the time of a sort key; nil if the run does not have it.
func wallTime(key int64) *time.Time {
	if key == absent {
		return nil
	}
	return new(time.Unix(0, key).UTC())
}
