package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	engineexport "aiperfd/internal/engine/export"
	"aiperfd/internal/queue"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/export"
	"aiperfd/internal/study/search"
)

// repeats is the type of a study without a sweep.
const repeats = "repeats"

// performance is a study of this process.
type performance struct {
	item    *queue.Item
	service *Service
	opts    *Options // of the service
	doc     *config.Study
	planner cell.Planner
	prefix  string // of the names of the files of the cells
	// allRecords reports whether the record files of the cells have all requests.
	allRecords bool
	sampled    []string // metrics that are read from them
	cancelled  chan struct{}

	starting sync.Mutex // orders those who store the start
	endWatch func()     // ends the watch of the deadline; nil = it has not begun

	mu      sync.Mutex
	active  []string           // guarded by mu; ids of the active cells
	request *run.CancelRequest // guarded by mu; nil = not cancelled

	outcomes []cell.Outcome // by variation, in the order in which they were begun
	found    map[position]*run.Run
	skipped  map[int]string // why a variation is not measured, by its index
	failed   int
	// objectives are those of the runs that have ended.
	objectives []run.StudyObjective
	contest    *contest       // guarded by mu; the comparison of two servers; nil = there is none, or it has not begun
	paused     bool           // a cell was performed, so that the next one waits
	idle       idleness       // of the servers of a search for a capacity, used by its newest probe alone
	results    *export.Report // once they are written
}

// position is a cell's place in its study.
type position struct{ variation, trial int }

// errStop ends a study without an error: it was cancelled, or the process stops.
var errStop = errors.New("study is stopping")

// newPerformance returns the study that a document asks for.
func (s *Service) newPerformance(parent *run.Run, doc *config.Document) *performance {
	prefix := ""
	if given := doc.Benchmark.Artifacts.Prefix; given != nil {
		prefix = *given
	}
	p := &performance{
		service: s, opts: &s.opts, doc: doc.Study(), cancelled: make(chan struct{}),
		prefix: prefix, found: make(map[position]*run.Run), skipped: make(map[int]string),
		allRecords: doc.Benchmark.Artifacts.KeepRecords == string(engineexport.KeepAll),
	}
	p.doc.Seed = parent.Seed
	var more string
	if c := p.doc.MultiRun.Convergence; c != nil {
		more = c.Metric
	}
	p.sampled = sampledTags(more)
	kind := repeats
	p.planner = search.PlannerOf(p.doc)
	if p.doc.Sweep != nil {
		kind = p.doc.Sweep.Type
	}
	if parent.Study == nil {
		parent.Study = &run.Study{Type: kind, Experiment: p.experimentOf(), Total: p.planner.Budget() * p.doc.MultiRun.NumRuns}
	}
	p.item = queue.NewItem(s.queue.Backing(), parent, queue.Hooks{})
	return p
}

var _ queue.Task = (*performance)(nil)

// Item implements [queue.Task].
func (p *performance) Item() *queue.Item { return p.item }

// stopped reports whether the study was cancelled.
func (p *performance) stopped() bool {
	select {
	case <-p.cancelled:
		return true
	default:
		return false
	}
}

// Cancel implements [queue.Task]; first reports whether the study had not been cancelled
// before.
func (p *performance) Cancel(ctx context.Context, c run.CancelRequest) (first bool) {
	p.mu.Lock()
	first = p.request == nil
	if !first {
		c.Deadline = p.request.Deadline
	}
	p.request = &c
	active := slices.Clone(p.active)
	p.mu.Unlock()
	if first {
		close(p.cancelled)
		p.item.Stop(ctx, &c, true)
	}
	for _, child := range active {
		ofCell := c
		ofCell.Deadline = false // it is that of the study
		ofCell.Reason = cmp.Or(c.Reason, "the study that it belongs to was cancelled")
		if _, _, err := p.opts.Runner.Cancel(ctx, child, ofCell); err != nil && !errors.Is(err, run.ErrAlreadyFinished) {
			p.opts.Log.Error().Err(err).Str("run", child).Msg("cancel cell")
		}
	}
	return first
}

// Dismiss implements [queue.Task].
func (p *performance) Dismiss(r *run.Run, c run.CancelRequest) {
	r.Cancelled = &c
	dismiss(r)
}

// dismiss makes a study terminal that was cancelled before it began.
func dismiss(r *run.Run) {
	r.State, r.StateReason, r.EndedAt = bench.StateCancelled, "cancelled while queued", new(time.Now().UTC())
}

// Recover implements [queue.Task]: it ends a study that an earlier process had cancelled. It
// writes the results of the cells that have ended, and begins none.
func (p *performance) Recover(ctx context.Context) (ended bool) {
	if p.item.View().StartedAt != nil || len(p.found) > 0 {
		p.Execute(ctx)
		return true
	}
	p.item.Change(ctx, dismiss)
	p.item.Publish(run.EventComplete)
	return true
}

// Execute implements [queue.Task]: it performs all cells and writes the results. When ctx
// ends first, the next process goes on.
func (p *performance) Execute(ctx context.Context) {
	defer p.service.last.Store(p)
	p.item.Change(ctx, func(r *run.Run) {
		if r.State == bench.StateQueued {
			r.State = bench.StateRunning
		}
	})
	if begun := p.item.View(); begun.StartedAt != nil { // in an earlier process
		p.watchDeadline(ctx)
	}
	defer p.unwatchDeadline()
	if !p.stopped() {
		p.announceStart()
	}
	err := p.cells(ctx)
	p.unwatchDeadline()
	if !p.stopped() && ctx.Err() != nil {
		return // the next process goes on
	}
	p.item.Change(ctx, func(r *run.Run) {
		r.State, r.Study.Current, r.Study.Objectives = bench.StateExporting, "", p.objectives
		if err == nil { // a search performs fewer probes than it may
			r.Study.Total = r.Study.Done
		}
	})
	var fault *run.Error
	if cause, ok := errors.AsType[*faultError](err); ok {
		fault = &cause.cause
	} else if err != nil && !errors.Is(err, errStop) {
		fault = &run.Error{Code: run.Internal, Message: err.Error()}
	}
	p.results = p.report()
	if err := export.Write(p.opts.Store.Dir(p.item.ID()), p.results); err != nil && fault == nil {
		fault = &run.Error{Code: run.ExportFailed, Message: fmt.Sprintf("write results: %v", err)}
	}
	p.announceResult(p.results)
	for _, doubt := range p.results.Doubts {
		p.opts.Log.Warn().Str("run", p.item.ID()).Msg(doubt)
		p.item.Change(ctx, func(r *run.Run) {
			r.Warnings = append(slices.Clip(r.Warnings), bench.Warning{Code: "export", Detail: doubt})
		})
	}
	p.end(ctx, fault)
}

// start stores that the study has started, if a run of it has: its start is that of its first run, which may have
// waited for runs of others.
func (p *performance) start(ctx context.Context, child *run.Run) {
	if child.StartedAt == nil {
		return
	}
	p.starting.Lock()
	defer p.starting.Unlock()
	if p.item.View().StartedAt != nil {
		return
	}
	p.item.Change(ctx, func(r *run.Run) { r.StartedAt = child.StartedAt })
	p.watchDeadline(ctx)
}

// watchStart looks at a run until it has started, or ctx ends.
func (p *performance) watchStart(ctx context.Context, id string) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for p.item.View().StartedAt == nil {
		if child, err := p.opts.Runner.Get(ctx, id); err == nil {
			p.start(ctx, child)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watchDeadline cancels the study when it passes its deadline, which counts from its start.
func (p *performance) watchDeadline(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // that of the watch of a run ends with the run
	r := p.item.View()
	left := time.Until(r.StartedAt.Add(r.Deadline))
	p.endWatch = p.item.WatchDeadline(left, func(c run.CancelRequest) { p.Cancel(ctx, c) })
}

// unwatchDeadline ends the watch of the deadline if it has begun. It may be called more than once, once no run of the
// study is watched.
func (p *performance) unwatchDeadline() {
	if p.endWatch != nil {
		p.endWatch()
	}
}

// end makes the study terminal.
func (p *performance) end(ctx context.Context, fault *run.Error) {
	good, least := p.successes(), 1
	if p.doc.Sweep == nil {
		least = 2 // one run has no interval
	}
	p.mu.Lock()
	request := p.request
	p.mu.Unlock()
	switch {
	case request != nil && request.Deadline:
		text := fmt.Sprintf("the study had not ended %v after its start (metadata.deadline)", p.item.View().Deadline)
		fault := &run.Error{Code: run.DeadlinePassed, Message: text}
		p.finish(ctx, bench.StateFailed, fault.Message, fault)
	case request != nil:
		p.finish(ctx, bench.StateCancelled, cmp.Or(request.Reason, "cancelled"), nil)
	case fault != nil:
		p.finish(ctx, bench.StateFailed, fault.Message, fault)
	case good < least:
		text := fmt.Sprintf("%d of %d runs succeeded", good, p.item.View().Study.Done)
		fault := &run.Error{Code: run.NoSuccess, Message: text}
		p.finish(ctx, bench.StateFailed, fault.Message, fault)
	default:
		p.finish(ctx, bench.StateCompleted, "", nil)
	}
}

// finish makes the study terminal and announces it.
func (p *performance) finish(ctx context.Context, state bench.State, reason string, fault *run.Error) {
	p.item.Change(ctx, func(r *run.Run) {
		r.State, r.StateReason, r.Error, r.EndedAt = state, reason, fault, new(time.Now().UTC())
	})
	p.item.Publish(run.EventComplete)
}

// faultError is an error that ends a study as failed.
type faultError struct{ cause run.Error }

func (e *faultError) Error() string { return e.cause.Message }

// cells performs all cells in the order of the study.
func (p *performance) cells(ctx context.Context) error {
	if p.doc.Paired() {
		return p.compete(ctx)
	}
	list, fixed := p.planner.(cell.List)
	if fixed && p.doc.Sweep != nil && p.doc.Sweep.IterationOrder == sweep.Repeated {
		return p.repeated(ctx, list)
	}
	for {
		v, more := p.planner.Next(p.outcomes)
		if !more {
			return nil
		}
		p.outcomes = append(p.outcomes, cell.Outcome{Variation: v})
		at := len(p.outcomes) - 1
		if p.skips(ctx, at) {
			continue
		}
		for trial := range p.doc.MultiRun.NumRuns {
			if p.converged(at) {
				p.skip(ctx, p.doc.MultiRun.NumRuns-trial)
				break
			}
			pause := p.doc.MultiRun.CooldownSeconds
			if trial == 0 && p.doc.Sweep != nil {
				pause = p.idleBefore()
			}
			if err := p.cell(ctx, at, trial, pause); err != nil {
				return err
			}
		}
		if found, ok := p.planner.(*search.Search); ok {
			if err := export.WriteHistory(p.opts.Store.Dir(p.item.ID()), found, p.outcomes); err != nil {
				return err
			}
		}
	}
}

// repeated performs the first trial of all variations, then the second.
func (p *performance) repeated(ctx context.Context, list cell.List) error {
	for _, v := range list {
		p.outcomes = append(p.outcomes, cell.Outcome{Variation: v})
	}
	for trial := range p.doc.MultiRun.NumRuns {
		for at := range p.outcomes {
			if p.skips(ctx, at) {
				continue
			}
			if p.converged(at) {
				p.skip(ctx, 1)
				continue
			}
			pause := p.doc.Sweep.CooldownSeconds
			if at == 0 {
				pause = p.doc.MultiRun.CooldownSeconds
			}
			if err := p.cell(ctx, at, trial, pause); err != nil {
				return err
			}
		}
	}
	return nil
}

// converged reports whether a variation needs no further trial.
func (p *performance) converged(at int) bool {
	return cell.Converged(p.doc.MultiRun.Convergence, p.doc.MultiRun.ConfidenceLevel, p.outcomes[at].Trials)
}

// skips reports whether a variation is not measured because one with less load met a
// condition. One that was measured once is measured again, and what was skipped stays so.
func (p *performance) skips(ctx context.Context, at int) bool {
	o := &p.outcomes[at]
	if _, skipped := p.skipped[o.Index]; skipped || len(o.Trials) > 0 || p.doc.Sweep == nil {
		return skipped
	}
	why, skip := search.Stop(p.doc.Sweep.StopWhen).Skips(&o.Variation, p.outcomes)
	if skip {
		p.skipped[o.Index] = why
		p.skip(ctx, p.doc.MultiRun.NumRuns)
	}
	return skip
}

// skip takes cells out of the plan.
func (p *performance) skip(ctx context.Context, n int) {
	p.item.Change(ctx, func(r *run.Run) { r.Study.Total -= n })
}

// cell performs one trial of a variation, unless an earlier process has.
func (p *performance) cell(ctx context.Context, at, trial int, pause float64) error {
	v := &p.outcomes[at].Variation
	child := p.found[position{v.Index, trial}]
	measure := child == nil || !child.State.Terminal()
	if measure {
		p.announcePlan(at)
		if err := p.pause(ctx, pause); err != nil {
			return err
		}
		var err error
		if child, err = p.submit(ctx, v, trial, child); err != nil {
			return err
		}
		if child.ID != "" {
			if err := p.writeConfig(child); err != nil {
				return err
			}
		}
	}
	result, err := p.conclude(ctx, at, child)
	if err != nil {
		return err
	}
	if measure {
		p.announceEnd(at, &result)
	}
	if p.doc.Adaptive() && child.Error != nil && child.Error.Code == run.NoSuccess && p.successes() == 0 {
		return &faultError{run.Error{Code: run.NoSuccess, Message: "the search ends at its first probe: " + result.Failure}}
	}
	return p.tolerated(v, &result)
}

// conclude adds a trial that has ended to the results of its variation, and announces it.
func (p *performance) conclude(ctx context.Context, at int, child *run.Run) (cell.Trial, error) {
	p.start(ctx, child)
	result := cell.Trial{RunID: child.ID, Label: child.Cell.Label, Failure: child.StateReason}
	if child.ID != "" {
		var err error
		if result, err = p.trial(ctx, child); err != nil {
			return result, fmt.Errorf("read results of cell %s: %w", child.ID, err)
		}
	}
	p.outcomes[at].Trials = append(p.outcomes[at].Trials, result)
	p.judge(child, &result)
	if err := export.WriteSummary(p.opts.Store.Dir(p.item.ID()), p.report()); err != nil {
		return result, err
	}
	if result.Failure != "" && !p.stoppedWith(child) {
		p.failed++
	}
	done := p.measured()
	p.item.Change(ctx, func(r *run.Run) {
		r.Study.Done, r.Study.Failed, r.Study.Current = done, p.failed, ""
		r.Study.LoadLost, r.Study.LoadActive = 0, 0 // they are in the result
	})
	if p.opts.Observer != nil {
		p.opts.Observer.Ended(p.item.View(), child, &result)
	}
	return result, nil
}

// successes returns how many trials so far are results.
func (p *performance) successes() int {
	n := 0
	for i := range p.outcomes {
		n += len(p.outcomes[i].Successful())
	}
	return n
}

// stoppedWith reports whether the cancel of the study ended a cell, which has not failed
// then: the study performs it again if it goes on.
func (p *performance) stoppedWith(child *run.Run) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.request != nil && child.State == bench.StateCancelled
}

// tolerated returns the error that ends the study if too many cells have failed.
func (p *performance) tolerated(v *vary.Variation, t *cell.Trial) error {
	s := p.doc.Sweep
	if t.Failure == "" || s == nil {
		return nil
	}
	if s.OnFailure == sweep.Abort {
		return &faultError{run.Error{Code: run.TooManyFailures, Message: fmt.Sprintf("%s failed: %s", v.Label, t.Failure)}}
	}
	if s.MaxFailures != nil && p.failed >= *s.MaxFailures {
		return &faultError{run.Error{Code: run.TooManyFailures, Message: fmt.Sprintf("%d cells failed; the last one is %s: %s", p.failed, v.Label, t.Failure)}}
	}
	return nil
}

// pause waits between cells; not before the first one of a process.
func (p *performance) pause(ctx context.Context, seconds float64) error {
	wait := p.paused && seconds > 0
	p.paused = true
	timer := time.NewTimer(0)
	if wait {
		timer.Reset(time.Duration(seconds * float64(time.Second)))
	}
	defer timer.Stop()
	select {
	case <-p.cancelled:
		return errStop
	case <-ctx.Done():
		return errStop
	case <-timer.C:
	}
	select {
	case <-p.cancelled: // even if the timer was as fast
		return errStop
	default:
		return nil
	}
}
