package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"aiperfd/scripts/lab"
)

// resource is what the test needs to know of a run.
type resource struct {
	ID, Kind, State string
	Error           *struct{ Code, Message string }
}

// check compares the daemon, just after its start, with what was answered before.
func (t *test) check(ctx context.Context) error {
	if err := t.integrity(ctx); err != nil {
		return err
	}
	var all struct{ Items []resource }
	if err := t.daemon.Get(ctx, "/api/runs?limit=500", &all); err != nil {
		return err
	}
	for _, r := range all.Items {
		if !t.runs.known(r.ID) {
			t.runs.set(r.ID, there) // accepted, but the answer was cut
		}
	}
	if err := errors.Join(t.fates(ctx), t.stopped(ctx)); err != nil {
		return err
	}
	if err := t.tidy(ctx); err != nil {
		return err
	}
	var errs []error
	for _, id := range t.runs.ids(there) {
		errs = append(errs, t.files(ctx, id))
	}
	return errors.Join(errs...)
}

// integrity checks the whole database.
func (t *test) integrity(ctx context.Context) (err error) {
	db, err := sql.Open("sqlite", "file:"+t.path("data", "aiperfd.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil {
		return fmt.Errorf("integrity_check: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("integrity_check: %s", verdict)
	}
	return nil
}

// fates finds lost runs, and deleted ones that are back.
func (t *test) fates(ctx context.Context) error {
	var errs []error
	for _, f := range []fate{there, unknown, gone} {
		for _, id := range t.runs.ids(f) {
			status, answer, err := t.daemon.Call(ctx, http.MethodGet, "/api/runs/"+id, "")
			switch {
			case err != nil:
				return err
			case f == unknown && status == http.StatusOK:
				t.runs.set(id, there)
			case f == unknown && status == http.StatusNotFound:
				t.runs.set(id, gone)
			case f == there && status != http.StatusOK:
				errs = append(errs, fmt.Errorf("run %s is lost: %d %s", id, status, answer))
			case f == gone && status != http.StatusNotFound:
				errs = append(errs, fmt.Errorf("run %s was deleted: %d %s", id, status, answer))
			}
		}
	}
	return errors.Join(errs...)
}

// stopped finds runs and studies that go on although their cancel was answered.
func (t *test) stopped(ctx context.Context) error {
	var errs []error
	for _, id := range t.runs.ids(there) {
		if _, answered := t.runs.cancelled(id); !answered {
			continue
		}
		var r resource
		var cells struct{ Items []resource }
		err := t.daemon.Get(ctx, "/api/runs/"+id, &r)
		if err == nil {
			err = t.daemon.Get(ctx, "/api/runs?limit=500&parent_id="+id, &cells)
		}
		if err != nil {
			return err
		}
		for _, r := range append(cells.Items, r) {
			switch {
			case r.Kind == "sweep" && r.State == "queued": // it ends without a cell
			case r.State == "queued" || r.State == "starting" || r.State == "running":
				errs = append(errs, fmt.Errorf("%s %s is %s, and the cancel of %s was answered", r.Kind, r.ID, r.State, id))
			}
		}
	}
	return errors.Join(errs...)
}

// ending reports an end that a run must not have.
func (t *test) ending(r *resource) error {
	asked, answered := t.runs.cancelled(r.ID)
	restarted := r.Error != nil && r.Error.Code == "daemon-restarted"
	switch {
	case r.State == "cancelled" && asked:
	case answered:
		return fmt.Errorf("%s %s is %s, and its cancel was answered: %v", r.Kind, r.ID, r.State, r.Error)
	case r.State == "completed":
	case restarted && r.Kind != "sweep":
	default:
		return fmt.Errorf("%s %s is %s: %v", r.Kind, r.ID, r.State, r.Error)
	}
	return nil
}

// temporary returns the files of a data folder that are being replaced.
func temporary(data string) []string {
	var out []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		found, _ := filepath.Glob(filepath.Join(data, "runs", pattern, ".*.tmp")) // the pattern is valid
		out = append(out, found...)
	}
	return out
}

// leftovers returns what no process should leave. Active runs may have temporary files
// for a moment.
func (t *test) leftovers(ctx context.Context) ([]string, error) {
	out := temporary(t.path("data"))
	for _, pattern := range []string{"import", "trash/*"} {
		found, _ := filepath.Glob(t.path("data", pattern)) // the pattern is valid
		out = append(out, found...)
	}
	folders, err := os.ReadDir(t.path("data", "runs"))
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		status, _, err := t.daemon.Call(ctx, http.MethodGet, "/api/runs/"+f.Name(), "")
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			out = append(out, fmt.Sprintf("%s (%d)", f.Name(), status))
		}
	}
	return out, nil
}

// tidy waits until nothing temporary is left.
func (t *test) tidy(ctx context.Context) error {
	var left []string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); lab.Pause(ctx, 50*time.Millisecond) {
		var err error
		if left, err = t.leftovers(ctx); err != nil || len(left) == 0 {
			return err
		}
	}
	return fmt.Errorf("left after a restart: %s", strings.Join(left, ", "))
}

// files checks the files of a run that has ended, once.
func (t *test) files(ctx context.Context, id string) error {
	var r resource
	if err := t.daemon.Get(ctx, "/api/runs/"+id, &r); err != nil {
		return err
	}
	if !lab.Terminal(r.State) || t.runs.checked(id) {
		return nil
	}
	if err := t.ending(&r); err != nil {
		return err
	}
	var list struct {
		Ready bool
		Files []struct {
			Name, Href string
			Size       int
		}
	}
	if err := t.daemon.Get(ctx, "/api/runs/"+id+"/results/list", &list); err != nil {
		return err
	}
	if r.State == "completed" && !list.Ready {
		return fmt.Errorf("run %s is completed, but its files are not ready", id)
	}
	for _, f := range list.Files {
		status, content, err := t.daemon.Call(ctx, http.MethodGet, f.Href, "")
		if err != nil {
			return err
		}
		if status != http.StatusOK || len(content) != f.Size {
			return fmt.Errorf("%s: status %d, %d bytes of %d", f.Href, status, len(content), f.Size)
		}
		if err := whole(f.Name, content); err != nil {
			return fmt.Errorf("%s: %w", f.Href, err)
		}
	}
	t.count.checked++
	return nil
}

// whole reports a file that is not complete.
func whole(name string, content []byte) error {
	switch filepath.Ext(name) {
	case ".json":
		if !json.Valid(content) {
			return errors.New("it is not JSON")
		}
	case ".jsonl":
		for line := range bytes.Lines(content) {
			if !json.Valid(line) || line[len(line)-1] != '\n' {
				return fmt.Errorf("torn line %.80q", line)
			}
		}
	case ".csv", ".txt":
		if len(content) == 0 {
			return errors.New("it is empty")
		}
	}
	return nil
}

// drained waits until every run has ended: the queue goes on after all those kills.
func (t *test) drained(ctx context.Context) error {
	var open string
	end := time.Now().Add(2 * time.Minute)
	for ; time.Now().Before(end) && ctx.Err() == nil; lab.Pause(ctx, 200*time.Millisecond) {
		open = ""
		for _, id := range t.runs.ids(there) {
			var r resource
			if err := t.daemon.Get(ctx, "/api/runs/"+id, &r); err != nil {
				return err
			}
			if !lab.Terminal(r.State) {
				open = r.ID + " is " + r.State
			}
		}
		if open == "" {
			return nil
		}
	}
	return fmt.Errorf("the queue stands still: %s", open)
}

// archives checks every archive that has its name, and starts a daemon on the last backup.
func (t *test) archives(ctx context.Context) error {
	last := t.path("out", "last.tar.gz")
	if err := t.dataTool(ctx, "backup", "--output", last); err != nil {
		return err
	}
	if ids := t.runs.ids(there); len(ids) > 0 { // also removes what a killed export has left
		if err := t.dataTool(ctx, "runs", "export", ids[0], "--output", t.path("moved", "last.tar.gz")); err != nil {
			return err
		}
	}
	for _, folder := range []string{"out", "moved"} {
		entries, err := os.ReadDir(t.path(folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := t.tool(ctx, "backup", "--verify", t.path(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	t.daemon.Kill()
	if err := errors.Join(os.RemoveAll(t.path("data")), t.dataTool(ctx, "restore", last)); err != nil {
		return err
	}
	if err := t.restart(ctx); err != nil {
		return err
	}
	return t.check(ctx)
}
