package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/queue"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	studyexport "aiperfd/internal/study/export"
	"aiperfd/internal/study/search"
)

// planFile holds the document of a study, in its folder.
const planFile = store.StudyFile

// planDocument is the content of planFile.
type planDocument struct {
	Schema   string          `json:"schema"`   // always planSchema
	Document json.RawMessage `json:"document"` // as it was read, without secrets
}

const planSchema = "aiperfd-study/1"

// storePlan writes the document of a study, and makes its folder if there is none.
func storePlan(dir string, s *config.Study) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data, err := plainjson.Marshal(planDocument{planSchema, s.Text()})
	if err != nil {
		return fmt.Errorf("encode study: %w", err)
	}
	if err := durable.WriteFile(filepath.Join(dir, planFile), durable.Shared, data); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(dir))
}

// dropPlan removes the document of a study that is not stored, and its folder if nothing
// else is in it.
func dropPlan(dir string) {
	_ = os.Remove(filepath.Join(dir, planFile)) // the next process removes what is left
	_ = os.Remove(dir)
}

// Stored returns the document of a study from its folder, see [config.Study.Text].
func Stored(dir string) (json.RawMessage, error) {
	data, err := regular.Read(filepath.Join(dir, planFile))
	if err != nil {
		return nil, fmt.Errorf("read study: %w", err)
	}
	var in planDocument
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("read study: %w", err)
	}
	if in.Schema != planSchema {
		return nil, fmt.Errorf("read study: schema is %q, not %q", in.Schema, planSchema)
	}
	return in.Document, nil
}

// reopen goes on with a study of an earlier process, or makes it failed if its document cannot
// be had.
func (s *Service) reopen(ctx context.Context, parent *run.Run) (*performance, queue.Fate, error) {
	p, err := s.reread(parent)
	if err != nil {
		fault := &run.Error{Code: run.Internal, Message: err.Error()}
		if errors.Is(err, errNoPlan) {
			fault = &run.Error{Code: run.Interrupted, Message: "interrupted: the process ended while the study was submitted; submit it again"}
		}
		var invalid *problem.Invalid
		if errors.As(err, &invalid) && slices.ContainsFunc(invalid.Problems, func(p problem.Problem) bool { return p.Code == problem.CodeRedacted }) {
			fault = &run.Error{Code: run.SecretLost, Message: "the study needs secrets, which are never stored; submit it again"}
		}
		parent.Error, parent.State, parent.StateReason = fault, bench.StateFailed, fault.Message
		parent.EndedAt = new(time.Now().UTC())
		parent.Revision++
		return nil, queue.Gone, s.opts.Store.Put(ctx, parent)
	}
	if err := p.recall(ctx); err != nil {
		return nil, queue.Gone, fmt.Errorf("resume study %s: %w", parent.ID, err)
	}
	line := s.opts.Log.Info().Str("run", parent.ID).Int("runs_complete", len(p.found)).Int("runs_total", parent.Study.Total)
	fate := queue.Queued
	if p.stopped() {
		line, fate = line.Bool("cancelled", true), queue.Settled
	}
	line.Msg("resuming sweep")
	return p, fate, nil
}

// errNoPlan reports that the document was removed, or never written: earlier versions wrote
// it after the study.
var errNoPlan = errors.New("the document of the study was not stored")

// reread makes a study of its stored document.
func (s *Service) reread(parent *run.Run) (*performance, error) {
	text, err := Stored(s.opts.Store.Dir(parent.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoPlan
	}
	if err != nil {
		return nil, err
	}
	doc, err := s.opts.Load(text)
	if err != nil {
		return nil, err
	}
	if doc.Study() == nil {
		return nil, errors.New("the stored document is no study")
	}
	if parent.Cancelled == nil {
		parent.State, parent.StateReason = bench.StateQueued, ""
	}
	before := parent.Study
	kind := before.Type
	parent.Study = nil
	p := s.newPerformance(parent, doc)
	if parent.Study.Type != kind {
		return nil, fmt.Errorf("the stored document is a study of type %s, not %s", parent.Study.Type, kind)
	}
	now := parent.Study
	now.Interruptions, now.LoadLost, now.LoadActive = before.Interruptions, before.LoadLost, before.LoadActive
	if p.request = parent.Cancelled; p.request != nil {
		close(p.cancelled)
	}
	return p, nil
}

// recall finds the cells that an earlier process has performed or queued. Cells that it
// has begun and not ended are removed, without waiting for their results; they are
// performed again. Those of a cancelled study stay; they are no part of its results. A search
// keeps a cell that was cancelled on its own: what it chose after that rests on it.
func (p *performance) recall(ctx context.Context) error {
	cells, err := cellsOf(ctx, p.opts.Runner, p.item.ID())
	if err != nil {
		return err
	}
	var removed []*run.Run
	for i := range cells {
		c := &cells[i]
		cancelled := c.State == bench.StateCancelled && endedEarly(c) == ""
		if p.doc.Adaptive() && i < len(cells)-1 || endedDecided(c) {
			cancelled = false
		}
		broken := c.State.Active() || cancelled || failedWith(c, run.Interrupted)
		lost := c.Error != nil && c.Error.Code == run.SecretLost // while it was queued
		switch {
		case p.stopped() && (broken || !c.State.Terminal()):
		case broken, lost, p.doc.Paired() && !c.State.Terminal():
			removed = append(removed, c)
		default:
			p.found[position{c.Cell.Variation.Index, c.Cell.Trial}] = c
		}
	}
	if p.doc.Paired() && len(p.found) == 1 { // the pairs of both sides are needed
		for at, c := range p.found {
			removed = append(removed, c)
			delete(p.found, at)
		}
	}
	p.interrupted(ctx, removed)
	for _, c := range removed {
		if err := p.opts.Runner.Delete(ctx, c.ID, true); err != nil && !errors.Is(err, run.ErrNotFound) {
			return fmt.Errorf("remove interrupted cell %s: %w", c.ID, err)
		}
	}
	return nil
}

// interrupted stores that cells are measured again, and for how long servers were loaded for them in vain. It is called
// before they are removed.
func (p *performance) interrupted(ctx context.Context, cells []*run.Run) {
	begun, before := false, 0.0
	for _, c := range cells {
		begun = begun || c.StartedAt != nil
		before = max(before, c.Cell.LoadLost)
	}
	if !begun {
		return
	}
	p.item.Change(ctx, func(r *run.Run) {
		r.Study.Interruptions++
		r.Study.LoadLost = max(r.Study.LoadLost, before+r.Study.LoadActive)
		r.Study.LoadActive = 0
	})
}

// report returns the results of the study so far.
func (p *performance) report() *studyexport.Report {
	r := p.item.View()
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &studyexport.Report{Run: r, Study: p.doc, Cancelled: p.request != nil}
	out.Search, _ = p.planner.(*search.Search)
	if p.contest != nil {
		out.Paired = p.contest.answer(r)
	}
	for _, o := range p.outcomes {
		if why, skipped := p.skipped[o.Index]; skipped {
			out.Skipped = append(out.Skipped, studyexport.Skipped{Variation: o.Variation, Why: why})
		} else {
			out.Outcomes = append(out.Outcomes, o)
		}
	}
	return out
}
