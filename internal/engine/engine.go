package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/queue"
	"aiperfd/internal/run"
)

// Engine queues runs and executes them. Its methods are safe for concurrent use.
type Engine struct {
	opts  Options
	queue *queue.Queue[*job]
	ids   sequence
	// memory bounds the memory of the responses of all runs together.
	memory   *transport.Memory
	history  *collect.History // of what runs have sent
	health   *health
	watchdog *watchdog
}

// New returns an engine. It does nothing until [Engine.Run].
func New(o Options) (*Engine, error) {
	if o.Store == nil {
		return nil, errors.New("make engine: no store")
	}
	o.MaxRuns, o.MaxQueued = cmp.Or(o.MaxRuns, DefaultMaxRuns), cmp.Or(o.MaxQueued, DefaultMaxQueued)
	o.StopGrace, o.StopTimeout = cmp.Or(o.StopGrace, DefaultStopGrace), cmp.Or(o.StopTimeout, DefaultStopTimeout)
	o.DiskReserve = cmp.Or(o.DiskReserve, collect.DefaultReserve)
	if o.Pacer == nil {
		o.Pacer = pace.Timers
	}
	if o.Publisher == nil {
		o.Publisher = run.Publishers{}
	}
	e := &Engine{
		opts: o, memory: transport.NewMemory(responseMemory(os.DirFS("/"), debug.SetMemoryLimit(-1))),
		health: newHealth(), history: collect.NewHistory(), watchdog: newWatchdog(),
	}
	e.queue = queue.New(queue.Options[*job]{
		Backing: queue.Backing{Store: o.Store, Publisher: o.Publisher, Fault: e.storeFault},
		Kind:    run.KindRun, Max: o.MaxRuns, MaxQueued: o.MaxQueued,
		Reopen: e.reopen, Paused: e.recall, Rivals: rivals, Beside: beside, Blocked: e.health.storeFails,
		Idle: o.Idle, Stop: stop{e}.run,
	})
	return e, nil
}

// storeFault logs an error of the store that does not stop a run. While the store fails, only
// the first one is an error of the log: what could not be stored is tried again and again.
func (e *Engine) storeFault(id string, err error) {
	level := zerolog.DebugLevel
	if e.health.store(err) {
		level = zerolog.ErrorLevel
	}
	e.opts.Log.WithLevel(level).Err(err).Str("run", id).Msg("store run")
}

// beside reports whether a run is performed together with an active one, and takes no place of its own.
func beside(waiting, active *job) bool {
	return waiting.twin != nil && active.twin != nil && waiting.twin.Pair() == active.twin.Pair()
}

// rivals reports whether a run that waits must not disturb an active one.
func rivals(waiting, active *job) bool {
	if beside(waiting, active) {
		return false
	}
	if active.plan == nil || !active.plan.Shares(waiting.plan) {
		return false
	}
	return !waiting.item.View().SharesTarget || !active.item.View().SharesTarget
}

// recall reports whether the queue was paused when the earlier process ended.
func (e *Engine) recall(ctx context.Context) (paused bool, err error) {
	if e.opts.Switch == nil {
		return false, nil
	}
	return e.opts.Switch.Paused(ctx)
}

// follow makes the ids of runs greater than those of earlier processes.
func (e *Engine) follow(ctx context.Context) error {
	newest, err := e.opts.Store.List(ctx, run.Query{Limit: 1})
	if err != nil {
		return fmt.Errorf("find the newest run: %w", err)
	}
	for i := range newest.Runs {
		e.ids.follow(newest.Runs[i].ID)
	}
	return nil
}

// Run executes the queue until ctx ends. Then it refuses new runs, stops the active ones
// gracefully, exports their results, and returns. Queued runs stay queued in the store. The
// error is that of a store that cannot be read at the start, or of active runs that have not
// ended within [Options.StopTimeout]; their goroutines go on, and the process must end.
func (e *Engine) Run(ctx context.Context) error {
	err := e.follow(ctx)
	if err == nil {
		err = e.queue.Recover(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil // the next process begins again
	case err != nil:
		e.health.set(run.HealthFailed, checkStore, err.Error())
		return err
	}
	e.health.set(run.HealthRunning, checkStore, "ok")
	if e.opts.Recovered != nil {
		e.opts.Recovered()
	}
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() { storeWatch{e}.run(ctx) })
	alive := e.watchdog.watch("the scheduler", schedulerPatience)
	defer e.watchdog.forget(alive)
	return e.queue.Run(ctx, alive.beat)
}

// job returns the job of a run that waits, is active, or ended last; else nil.
func (e *Engine) job(id string) *job {
	j, _ := e.queue.Find(id)
	return j
}

// Cancel stops a run; a queued one is cancelled at once. changed is false if the run
// was already stopping or cancelled. The error is ErrAlreadyFinished if the run
// completed or failed before.
func (e *Engine) Cancel(ctx context.Context, id string, c run.CancelRequest) (r *run.Run, changed bool, err error) {
	if r, changed, err = e.queue.Cancel(ctx, id, c); r != nil {
		return r, changed, err
	}
	r, err = e.Get(ctx, id)
	if err == nil && r.State != bench.StateCancelled {
		err = run.ErrAlreadyFinished
	}
	return r, false, err
}

// Get returns a run with its configuration.
func (e *Engine) Get(ctx context.Context, id string) (*run.Run, error) { return e.queue.Get(ctx, id) }

// List returns runs without their configurations. The state of active runs is the
// one stored last; every change of state is stored. Of a run whose end the store has
// refused, the list has the state in memory.
func (e *Engine) List(ctx context.Context, q run.Query) (run.Page, error) {
	page, err := e.opts.Store.List(ctx, q)
	for _, j := range e.queue.Unstored() {
		at := slices.IndexFunc(page.Runs, func(r run.Run) bool { return r.ID == j.item.ID() })
		if at < 0 {
			continue
		}
		page.Runs[at] = *j.item.View()
		page.Runs[at].Config = nil
		if len(q.States) > 0 && !slices.Contains(q.States, page.Runs[at].State) {
			page.Runs = slices.Delete(page.Runs, at, at+1)
			page.Total--
		}
	}
	return page, err
}

// Delete removes a terminal run and its files. With force, an active run is
// cancelled first.
func (e *Engine) Delete(ctx context.Context, id string, force bool) error {
	return e.queue.Delete(ctx, id, force)
}

// Update changes what users may change of a run: name, labels, notes and terms. change is
// called once, with a copy; its error ends the update. The change is durable when Update
// returns. It waits until [Engine.Run] knows the runs of an earlier process.
func (e *Engine) Update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error) {
	return e.queue.Update(ctx, id, change)
}

// Wait returns when a run is terminal and durable, or when ctx ends.
func (e *Engine) Wait(ctx context.Context, id string) (*run.Run, error) { return e.queue.Wait(ctx, id) }

// Queue returns the state of the queue.
func (e *Engine) Queue() run.Queue {
	q := e.queue.Describe()
	q.Max, q.MaxRuns, q.StoreFails = e.opts.MaxQueued, e.opts.MaxRuns, e.health.storeFails()
	return q
}

// Pause makes the queue start no more runs, or start them again. It is durable when Pause
// returns. Active runs are not affected.
func (e *Engine) Pause(ctx context.Context, paused bool) error {
	return e.queue.Pause(paused, func() error {
		if e.opts.Switch == nil {
			return nil
		}
		if err := e.opts.Switch.SetPaused(ctx, paused); err != nil {
			return fmt.Errorf("%w: %w", run.ErrStore, err)
		}
		return nil
	})
}

// Selected returns the run for routes without an id: the active run that started
// last, or the run that finished last if none is active.
func (e *Engine) Selected(ctx context.Context) (id string, ok bool) {
	if active := e.queue.Active(); len(active) > 0 {
		return active[len(active)-1].item.ID(), true
	}
	if last := e.queue.Last(); last != "" {
		return last, true
	}
	page, err := e.opts.Store.List(ctx, run.Query{
		Kind: run.KindRun, States: []bench.State{bench.StateCompleted, bench.StateCancelled, bench.StateFailed}, Limit: 1,
	})
	if err != nil || len(page.Runs) == 0 {
		return "", false
	}
	return page.Runs[0].ID, true
}

// Snapshot returns the newest snapshot of a run; a run that was never started
// has an empty one.
func (e *Engine) Snapshot(ctx context.Context, id string) (*run.Snapshot, error) {
	if j := e.job(id); j != nil {
		if snap := j.live.snapshot.Load(); snap != nil {
			return snap, nil
		}
		return &run.Snapshot{Wall: time.Now().UTC(), State: j.item.View().State}, nil
	}
	r, err := e.opts.Store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return loadSnapshot(e.opts.Store.Dir(id), r.State)
}

// Report returns the results of the run that finished last, without secrets. It is
// nil for every other run, and for a run without measurements.
func (e *Engine) Report(id string) *export.Report {
	j := e.job(id)
	if j == nil {
		return nil
	}
	rep := j.report.Load()
	if rep == nil {
		return nil
	}
	return export.Redacted(rep, j.secrets)
}

// Artifacts opens the folder of a run; the caller closes it. The error is
// fs.ErrNotExist if there is none.
func (e *Engine) Artifacts(id string) (*os.Root, error) {
	return os.OpenRoot(e.opts.Store.Dir(id))
}

// CancelAll cancels every active run by force, and returns how many there were. What was
// recorded is still exported.
func (e *Engine) CancelAll() int {
	active := e.queue.Active()
	for _, j := range active {
		j.Cancel(context.Background(), run.CancelRequest{Force: true})
	}
	return len(active)
}
