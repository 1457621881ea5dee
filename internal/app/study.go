package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/study"
	"aiperfd/internal/study/cell"
	studyexport "aiperfd/internal/study/export"
)

// MakeStudyFolder returns the folder of a study in the foreground. A folder with the same
// study, if its process died or it was cancelled, is taken over: the study goes on there. Other studies are
// not overwritten: the folder gets a number.
func MakeStudyFolder(d *config.Document, given bool) (*Folder, error) {
	f := newFolder(d, given)
	base := f.Path
	for n := 2; ; n++ {
		parent, err := studyIn(f.Path)
		if err != nil {
			return nil, err
		}
		switch {
		case parent == nil && (f.named || !occupied(f.Path)):
			return f, f.claim()
		case parent != nil && resumable(parent.State) && sameStudy(f.Path, d.Study()):
			f.resumed = parent.ID
			return f, f.claim()
		}
		f.Path = fmt.Sprintf("%s-%d", base, n)
	}
}

// resumable reports whether a study in a state has cells left that were to be performed.
func resumable(s bench.State) bool { return !s.Terminal() || s == bench.StateCancelled }

// reopen makes a study that was cancelled one that goes on.
func reopen(ctx context.Context, tree *store.Tree, id string) error {
	r, err := tree.Get(ctx, id)
	if err != nil || r.State != bench.StateCancelled && r.Cancelled == nil {
		return err
	}
	r.State, r.StateReason, r.EndedAt, r.Summary, r.Cancelled = bench.StateQueued, "", nil, nil, nil
	r.Revision++
	return tree.Put(ctx, r)
}

// studyIn returns the study whose results are in a folder, or nil.
func studyIn(dir string) (*run.Run, error) {
	tree, err := store.OpenTree(dir)
	if err != nil {
		return nil, fmt.Errorf("look for a study: %w", err)
	}
	page, err := tree.List(context.Background(), run.Query{Kind: run.KindSweep, Limit: 1})
	if err != nil || len(page.Runs) == 0 {
		return nil, err
	}
	return &page.Runs[0], nil
}

// sameStudy reports whether a folder has the study of a document: one that sends the same
// requests to the same servers.
func sameStudy(dir string, s *config.Study) bool {
	before, err := study.Stored(dir)
	return err == nil && reflect.DeepEqual(comparable(before), comparable(s.Text()))
}

// comparable returns a document without what does not change its measurements.
func comparable(text json.RawMessage) map[string]any {
	var doc map[string]any
	if json.Unmarshal(text, &doc) != nil {
		return nil
	}
	for _, name := range []string{"metadata", "noSweepTable", "no_sweep_table", "ignoreUnsupported", "ignore_unsupported"} {
		delete(doc, name)
	}
	if b, ok := doc["benchmark"].(map[string]any); ok {
		delete(b, "runtime")
		delete(b, "logging")
		if a, ok := b["artifacts"].(map[string]any); ok {
			delete(a, "dir")
		}
	}
	return doc
}

// follower shows the cells of a study. It implements [study.Observer].
type follower struct {
	progress *terminal.Progress
	from     terminal.Snapshots
	study    *config.Study // nil = a run alone
	quiet    bool          // no lines of cells
	hidden   bool          // nothing but lines of cells

	mu   sync.Mutex
	stop func() // guarded by mu; ends the display of the active cell; nil = none is shown
}

var _ study.Observer = (*follower)(nil)

// Started implements [study.Observer].
func (f *follower) Started(_, child *run.Run) {
	if f.hidden {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop = f.progress.Follow(context.Background(), f.from, child.ID)
}

// Ended implements [study.Observer].
func (f *follower) Ended(parent, child *run.Run, t *cell.Trial) {
	f.close()
	if !f.quiet {
		f.progress.Print(terminal.CellLine(f.study, parent, child, t))
	}
}

// close ends the display of the active cell.
func (f *follower) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

// reportStudy prints the results and returns the outcome of a study.
func (p *Profile) reportStudy(r *run.Run, results *studyexport.Report) error {
	if results != nil && !p.Document.NoSweepTable {
		err := terminal.StudyTable(p.Out, results, terminal.TableOptions{
			Width: terminal.Columns(os.Stdout), Style: terminal.Style{ASCII: terminal.ASCIIOnly(os.Getenv), Color: terminal.Colored(os.Stdout)},
			Folder: p.Folder.Path + string(filepath.Separator),
		})
		if err != nil {
			return err
		}
	}
	p.printRepeat(r, nil)
	switch {
	case r.State == bench.StateCancelled:
		text := "cancelled; the results are partial"
		if p.Folder.named || len(p.Document.Benchmark.Models.Items) > 0 { // else the folder has got another name
			text += "; the same command resumes after the runs that completed"
		}
		return &OutcomeError{Cancelled, text}
	case r.State != bench.StateCompleted:
		return &OutcomeError{Failed, strings.TrimSpace("study failed: " + r.StateReason)}
	case results != nil && results.AllExcluded():
		return &OutcomeError{InvalidClient, "no run counts: the load generator distorted the numbers that decide in all of them"}
	case r.Study.MissedObjective():
		return &OutcomeError{MissedSLO, "a run missed an objective: " + strings.Join(r.Study.MissedLines(), "; ")}
	case p.Document.Benchmark.Client.Strict && results != nil && distorted(results):
		return &OutcomeError{InvalidClient, "the client could not keep up in at least one run"}
	case p.StrictAnswer && results != nil:
		if a := results.Answer(); a != nil && a.Open() {
			return &OutcomeError{Undecided, "--strict-answer: " + a.Sentences[0]}
		}
	}
	return nil
}

// distorted reports whether the client could not keep up in a run of a study.
func distorted(r *studyexport.Report) bool {
	for _, o := range r.Outcomes {
		for _, t := range o.Trials {
			if t.Client == string(verdict.Invalid) {
				return true
			}
		}
	}
	return false
}
