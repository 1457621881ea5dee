package engine

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/certify"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/quota"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/run"
)

// Defaults of [Options].
const (
	DefaultMaxRuns   = 1
	DefaultMaxQueued = 100

	DefaultStopGrace   = 30 * time.Second
	DefaultStopTimeout = 65 * time.Second

	storeTimeout = 10 * time.Second
)

// Options configure an [Engine].
type Options struct {
	Store     run.Store
	Publisher run.Publisher // nil = events are discarded
	Log       zerolog.Logger
	Version   string
	MaxRuns   int        // runs at a time; 0 = 1, because load generators disturb each other
	MaxQueued int        // 0 = 100
	Caps      quota.Caps // of submissions; the zero value allows everything
	// Load configures the loading of documents that an earlier process queued.
	Load config.LoadOptions
	// Allow decides which servers runs may connect to; nil = all.
	Allow *allow.List
	// Dial opens connections to targets; nil = the system's. Tests use an
	// in-memory network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Reference opens the network between the client and its reference server when
	// it certifies itself; nil = the loopback interface. Tests use one in memory.
	Reference func() (net.Listener, certify.Dial, error)
	// Pacer returns the pacer with which open loops wait for due times; nil =
	// [pace.Timers]. [pace.Precise] is for real time only.
	Pacer func() pace.Waiter
	// Hub locates the tokenizers of models; with the zero value, none is found.
	Hub hub.Options
	// Monitor configures how the engine monitors its process during a run; the zero
	// value monitors this process in real time. Tests in virtual time replace the
	// timer and the host.
	Monitor monitor.Options
	// DiskReserve is how many bytes of the disk the record files of a run leave free;
	// 0 = [collect.DefaultReserve].
	DiskReserve int64
	// Recovered is called when the runs of an earlier process are known; nil = nobody.
	// The results of interrupted ones may still be computed.
	Recovered func()
	// StopGrace bounds the grace period of requests in flight when the process stops;
	// 0 = DefaultStopGrace.
	StopGrace time.Duration
	// StopTimeout is how long active runs have to end and to write their results when the
	// process stops; 0 = DefaultStopTimeout. The next process ends those that have not.
	StopTimeout time.Duration
	// Switch stores whether the queue is paused; nil = this process only remembers it.
	Switch run.Switch
	// Wall reads the system clock for the times of runs; nil = [time.Now].
	Wall func() time.Time
}

// Engine queues runs and executes them. Its methods are safe for concurrent use.
type Engine struct {
	opts Options
	wake chan struct{} // buffered 1: the queue changed
	open chan struct{} // closed when the runs of an earlier process are known
	ids  sequence
	// memory bounds the memory of the responses of all runs together.
	memory   *transport.Memory
	health   *health
	watchdog *watchdog

	edits sync.Mutex // orders the updates of runs and their removal; held during both on purpose

	schedule
}

// New returns an engine. It does nothing until [Engine.Run].
func New(o Options) (*Engine, error) {
	if o.Store == nil {
		return nil, errors.New("make engine: no store")
	}
	o.MaxRuns, o.MaxQueued = cmp.Or(o.MaxRuns, DefaultMaxRuns), cmp.Or(o.MaxQueued, DefaultMaxQueued)
	o.StopGrace, o.StopTimeout = cmp.Or(o.StopGrace, DefaultStopGrace), cmp.Or(o.StopTimeout, DefaultStopTimeout)
	if o.Pacer == nil {
		o.Pacer = pace.Timers
	}
	if o.Publisher == nil {
		o.Publisher = nobody{}
	}
	return &Engine{
		opts: o, schedule: schedule{max: o.MaxRuns, jobs: map[string]*job{}}, wake: make(chan struct{}, 1), open: make(chan struct{}),
		memory: transport.NewMemory(responseMemory(os.DirFS("/"), debug.SetMemoryLimit(-1))),
		health: newHealth(), watchdog: newWatchdog(),
	}, nil
}

type nobody struct{}

func (nobody) Publish(run.Event) {}

// wakeLoop makes the loop look at the queue.
func (e *Engine) wakeLoop() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run executes the queue until ctx ends. Then it refuses new runs, stops the active ones
// gracefully, exports their results, and returns. Queued runs stay queued in the store. The
// error is that of a store that cannot be read at the start, or of active runs that have not
// ended within [Options.StopTimeout]; their goroutines go on, and the process must end.
func (e *Engine) Run(ctx context.Context) error {
	past := &recovery{engine: e}
	if err := cmp.Or(e.recallPause(ctx), past.begin(ctx)); ctx.Err() != nil {
		return nil // the next process begins again
	} else if err != nil {
		e.health.set(run.HealthFailed, checkStore, err.Error())
		return err
	}
	e.health.set(run.HealthRunning, checkStore, "ok")
	close(e.open)
	if e.opts.Recovered != nil {
		e.opts.Recovered()
	}
	var supervisors sync.WaitGroup
	supervisors.Go(func() { storeWatch{e}.run(ctx) })
	supervisors.Go(func() { past.run(ctx) })
	alive := e.watchdog.watch("the scheduler", schedulerPatience)
	defer e.watchdog.forget(alive)
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		alive.beat()
		j, wait := e.next(time.Now(), e.health.storeFails())
		if j != nil {
			supervisors.Go(func() {
				j.supervise(ctx)
				e.retire(j)
				e.freeIdleMemory()
				e.wakeLoop()
			})
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-e.wake:
		case <-due:
		case <-tick.C:
			ended{e}.store(ctx, ended{e}.unstored())
		case <-ctx.Done():
			return stop{e}.run(ctx, &supervisors)
		}
	}
}

// freeIdleMemory returns memory to the system when no run is active: a daemon is idle
// most of the time, and the runtime would keep the memory of a run for minutes. No
// run is disturbed: one that starts meanwhile is still being prepared.
func (e *Engine) freeIdleMemory() {
	e.mu.Lock()
	idle := len(e.active) == 0 && len(e.queue) == 0 && !e.stopping
	e.mu.Unlock()
	if idle {
		debug.FreeOSMemory()
	}
}

// retire removes a terminal job from the active ones. Only the newest terminal jobs
// stay in memory.
func (e *Engine) retire(j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, a := range e.active {
		if a == j {
			e.active = append(e.active[:i:i], e.active[i+1:]...)
			break
		}
	}
	if previous := e.last; j.exec.latest() != nil {
		e.last = j.id
		ended{e}.forget(previous)
	} else {
		ended{e}.forget(j.id)
	}
	close(j.done)
}

// Cancel stops a run; a queued one is cancelled at once. changed is false if the run
// was already stopping or cancelled. The error is ErrAlreadyFinished if the run
// completed or failed before.
func (e *Engine) Cancel(ctx context.Context, id string, c run.CancelRequest) (r *run.Run, changed bool, err error) {
	e.mu.Lock()
	j := e.jobs[id]
	at := -1
	if j != nil {
		at = slices.Index(e.queue, j)
	}
	if at >= 0 {
		e.queue = slices.Delete(e.queue, at, at+1)
	}
	e.mu.Unlock()
	if at >= 0 {
		err := j.change(ctx, func(r *run.Run) { j.finish(r, bench.StateCancelled, cmp.Or(c.Reason, "cancelled while queued")) })
		e.retire(j)
		j.emit(run.EventComplete, nil)
		return j.view(), true, err
	}
	if j != nil && !j.view().State.Terminal() {
		first := j.cancel(ctx, c)
		return j.view(), first || c.Force, nil
	}
	r, err = e.Get(ctx, id)
	if err == nil && r.State != bench.StateCancelled {
		err = run.ErrAlreadyFinished
	}
	return r, false, err
}

// Get returns a run with its configuration.
func (e *Engine) Get(ctx context.Context, id string) (*run.Run, error) {
	if j := e.job(id); j != nil {
		return j.view(), nil
	}
	return e.opts.Store.Get(ctx, id)
}

// List returns runs without their configurations. The state of active runs is the
// one stored last; every change of state is stored. Of a run whose end the store has
// refused, the list has the state in memory.
func (e *Engine) List(ctx context.Context, q run.Query) (run.Page, error) {
	page, err := e.opts.Store.List(ctx, q)
	for _, j := range (ended{e}).unstored() {
		at := slices.IndexFunc(page.Runs, func(r run.Run) bool { return r.ID == j.id })
		if at < 0 {
			continue
		}
		page.Runs[at] = *j.view()
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
	if j := e.job(id); j != nil && !j.view().State.Terminal() {
		if !force {
			return run.ErrActive
		}
		if _, _, err := e.Cancel(ctx, id, run.CancelRequest{Force: true, Reason: "deleted"}); err != nil && !errors.Is(err, run.ErrAlreadyFinished) {
			return err
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.edits.Lock()
	defer e.edits.Unlock()
	if err := e.opts.Store.Delete(ctx, id); err != nil {
		return err
	}
	e.forgetDeleted(id)
	e.opts.Publisher.Publish(run.Event{Type: run.EventDeleted, RunID: id, At: time.Now().UTC()})
	return nil
}

// Selected returns the run for routes without an id: the active run that started
// last, or the run that finished last if none is active.
func (e *Engine) Selected(ctx context.Context) (id string, ok bool) {
	e.mu.Lock()
	if n := len(e.active); n > 0 {
		defer e.mu.Unlock()
		return e.active[n-1].id, true
	}
	last := e.last
	e.mu.Unlock()
	if last != "" {
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
		if snap := j.exec.latest(); snap != nil {
			return snap, nil
		}
		return &run.Snapshot{Wall: time.Now().UTC(), State: j.view().State}, nil
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
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.report == nil {
		return nil
	}
	return export.Redacted(j.report, j.secrets)
}

// Artifacts opens the folder of a run; the caller closes it. The error is
// fs.ErrNotExist if there is none.
func (e *Engine) Artifacts(id string) (*os.Root, error) {
	return os.OpenRoot(e.opts.Store.Dir(id))
}

// Wait returns when a run is terminal and durable, or when ctx ends.
func (e *Engine) Wait(ctx context.Context, id string) (*run.Run, error) {
	if j := e.job(id); j != nil {
		select {
		case <-j.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return e.Get(ctx, id)
}

// CancelAll cancels every active run by force, and returns how many there were. What was
// recorded is still exported.
func (e *Engine) CancelAll() int {
	active := stop{e}.left()
	for _, j := range active {
		j.cancel(context.Background(), run.CancelRequest{Force: true})
	}
	return len(active)
}
