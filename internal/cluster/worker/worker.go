// Package worker performs parts of runs for a controller, with an engine of its own.
package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/clock"
	"aiperfd/internal/cluster/lane"
	"aiperfd/internal/cluster/message"
	"aiperfd/internal/cluster/sealed"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/run"
)

// Options are the parameters of a worker.
type Options struct {
	Bus     bus.Bus
	Key     *sealed.Key // its instance is the id of the worker
	Token   string      // never sent
	Name    string
	Version string
	Labels  map[string]string
	Cores   int   // processors that the process may use
	Memory  int64 // that the process may use, in bytes; 0 = it is not known
	Engine  *engine.Engine
	Dir     func(run string) string // of the files of a run
	Load    config.LoadOptions      // of documents
	Once    bool                    // the worker ends with its first run
	Caps    Caps
	// LeaveAfter is how long the worker looks for a controller that has gone until it ends; 0 = for ever.
	LeaveAfter time.Duration
	Log        zerolog.Logger
}

// Caps are the most that a worker does in one phase, because a controller is not always who answers for its load; 0 = no
// cap.
type Caps struct {
	Rate        float64 // arrivals per second
	Concurrency int     // sessions or users at a time, of phases that bound them
}

// The periods of a worker.
const (
	beatEvery  = time.Second
	beatWait   = 2 * time.Second // for the answer of a beat
	askEvery   = 100 * time.Millisecond
	askWait    = 5 * time.Second
	meetWait   = 500 * time.Millisecond // less than the time between a start being set and the start
	joinEvery  = time.Second
	firstLooks = 10 // at the clock of the controller, before a run is taken
	lookEvery  = 20 * time.Millisecond
	fenceLead  = time.Second // before the controller takes the worker for lost, it has stopped
)

// Worker performs parts of runs.
type Worker struct {
	options Options
	id      string    // see bus.ValidID
	base    time.Time // of its clock

	mu       sync.Mutex
	clock    clock.History   // guarded by mu
	rtt      time.Duration   // guarded by mu; of the last look at the clock
	sequence int64           // guarded by mu
	part     *part           // guarded by mu; nil = idle
	draining bool            // guarded by mu
	acked    time.Time       // guarded by mu; when the last beat that was answered was sent
	fence    *time.Timer     // guarded by mu; stops the part when the controller must take the worker for lost; nil = idle
	had      map[string]bool // guarded by mu; runs that it has begun a part of
	ended    chan struct{}   // closed when the worker has ended its only run
}

// New returns a worker that has not joined.
func New(o Options) *Worker {
	return &Worker{
		options: o, id: sealed.Instance(o.Key.Public()), base: time.Now(), had: map[string]bool{}, ended: make(chan struct{}),
	}
}

// Run joins the controller and performs what it asks for, until ctx ends, or until the first run has ended if the worker
// has only one. A run that is performed when ctx ends is cancelled.
func (w *Worker) Run(ctx context.Context) error {
	o := &w.options
	for kind, handle := range map[string]bus.Handler{
		message.KindPrepare: w.prepare, message.KindFile: w.sendFile, message.KindRelease: w.release,
	} {
		cancel, err := o.Bus.Subscribe(ctx, bus.ToWorker(w.id, kind), handle)
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", kind, err)
		}
		defer cancel()
	}
	if err := w.join(ctx); err != nil {
		return err
	}
	for range firstLooks {
		w.lookAtClock(ctx)
		time.Sleep(lookEvery)
	}
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		if err := w.beat(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
			w.lookAtClock(ctx)
		case <-w.ended:
			w.leave(ctx)
			return nil
		case <-ctx.Done():
			w.leave(context.WithoutCancel(ctx))
			return nil
		}
	}
}

// join asks the controller to take the worker until it does. The error says why it never will.
func (w *Worker) join(ctx context.Context) error {
	o := &w.options
	hello := message.Join{
		ID: w.id, Name: o.Name, Version: o.Version, Labels: o.Labels, Cores: o.Cores, Memory: o.Memory,
		Key: o.Key.Public(),
	}
	waiting := false
	for {
		hello.Proof = sealed.Prove(o.Token, hello.Key, o.Name, time.Now())
		if _, err := message.Encode(&hello); err != nil {
			return err
		}
		var answer message.Answer
		err := w.request(ctx, askWait, bus.Join, &hello, &answer)
		switch {
		case err == nil && answer.Error == "":
			w.mu.Lock()
			w.acked = time.Now()
			w.mu.Unlock()
			o.Log.Info().Str("name", o.Name).Msg("joined the controller")
			return nil
		case err == nil && !answer.Again:
			return fmt.Errorf("the controller refuses the worker: %s", answer.Error)
		case errors.As(err, new(*message.Refusal)):
			return fmt.Errorf("join: %w", err)
		case errors.Is(err, bus.ErrDenied) || errors.Is(err, bus.ErrClosed):
			return fmt.Errorf("join: %w", err)
		case !waiting:
			waiting = true
			o.Log.Warn().Err(err).Str("answer", answer.Error).Msg("waiting for the controller")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(joinEvery):
		}
	}
}

// request sends a message and reads its answer.
func (w *Worker) request(ctx context.Context, wait time.Duration, subject string, question, answer message.Message) error {
	data, err := message.Encode(question)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if data, err = w.options.Bus.Request(ctx, subject, data); err != nil {
		return err
	}
	return message.Decode(data, answer)
}

// now returns the time of the worker's clock.
func (w *Worker) now() time.Duration { return time.Since(w.base) }

// lookAtClock asks the controller for its time.
func (w *Worker) lookAtClock(ctx context.Context) {
	var answer message.Clock
	p := clock.Probe{Sent: w.now()}
	if err := w.request(ctx, beatWait, bus.Clock, &message.Probe{}, &answer); err != nil {
		return
	}
	p.Returned, p.Arrived, p.Answered = w.now(), answer.Arrived, answer.Answered
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock.Add(p)
	w.rtt = p.RTT()
	const kept = 2 * time.Minute
	w.clock.Forget(p.Returned - kept)
}

// local returns the instant of a time of the controller, with a monotonic reading, and the error that it may have.
func (w *Worker) local(at time.Duration) (time.Time, time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, known := w.clock.At(w.now())
	if !known {
		return time.Time{}, 0, errors.New("the clock of the worker is not known well enough")
	}
	return w.base.Add(at - o.Middle), o.Bound, nil
}

// beat tells the controller the state of the worker.
func (w *Worker) beat(ctx context.Context) error {
	b, part := w.state(ctx)
	var ack message.Ack
	sent := time.Now()
	err := w.request(ctx, beatWait, bus.FromWorker(w.id, message.KindBeat), b, &ack)
	if err == nil {
		w.heard(sent)
		part.acknowledged(b)
	}
	w.mu.Lock()
	silent := time.Since(w.acked)
	w.mu.Unlock()
	switch {
	case w.options.LeaveAfter > 0 && silent > w.options.LeaveAfter && part.over():
		return fmt.Errorf("the controller has not been heard of for %v", silent.Round(time.Second))
	case err == nil && ack.Unknown:
		part.cancel(ctx, "the controller does not know the run any more", true)
		return w.join(ctx)
	case part == nil:
	case err == nil && ack.Lost:
		part.cancel(ctx, "the controller has taken this load generator for lost", true)
	case err == nil && ack.Cancel != nil:
		part.stop(ctx, ack.Cancel)
	}
	return nil
}

// heard keeps when a beat was sent that the controller has answered.
func (w *Worker) heard(sent time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked = sent
	if w.fence != nil && w.fence.Stop() {
		w.fence.Reset(time.Until(sent.Add(w.part.task.LostAfter - fenceLead)))
	}
}

// state returns the state of the worker.
func (w *Worker) state(ctx context.Context) (*message.Beat, *part) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sequence++
	b := &message.Beat{Sequence: w.sequence, ClockBound: -1, RTT: w.rtt, Draining: w.draining}
	if o, known := w.clock.At(w.now()); known {
		b.Offset, b.ClockBound = o.Middle, o.Bound
	}
	if w.part != nil {
		w.part.describe(ctx, b)
	}
	return b, w.part
}

// leave cancels the run that is performed and tells the controller once more.
func (w *Worker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatWait)
	defer cancel()
	w.mu.Lock()
	w.draining = true
	part := w.part
	w.mu.Unlock()
	part.cancel(ctx, "the load generator is stopping", false)
	_ = w.beat(ctx)
}

// prepare takes a part of a run.
func (w *Worker) prepare(m bus.Message) {
	var s message.Sealed
	if err := message.Decode(m.Payload, &s); err != nil {
		message.Refuse(m, err)
		return
	}
	var a message.Answer
	task, err := w.open(&s)
	if err == nil {
		err = w.take(task)
	}
	if err != nil {
		a.Error = err.Error()
	}
	message.Reply(m, &a)
}

// open returns the part of a run that the controller has sealed to the worker.
func (w *Worker) open(s *message.Sealed) (*message.Prepare, error) {
	data, err := w.options.Key.Open(w.options.Token, s.Run, s.Box)
	if err != nil {
		return nil, err
	}
	task := new(message.Prepare)
	if err := message.Decode(data, task); err != nil {
		return nil, err
	}
	if task.Run != s.Run {
		return nil, sealed.ErrSeal
	}
	return task, nil
}

// take begins a part of a run. It does nothing if it has been begun already.
func (w *Worker) take(task *message.Prepare) error {
	w.mu.Lock()
	current, draining, had := w.part, w.draining, w.had[task.Run]
	w.mu.Unlock()
	switch {
	case current != nil && current.task.Run == task.Run:
		return nil
	case current != nil:
		return fmt.Errorf("run %s is performed here", current.task.Run)
	case draining:
		return errors.New("the load generator takes no further run")
	case had: // somebody else may send again what was sent before
		return fmt.Errorf("run %s was performed here before", task.Run)
	}
	p, err := w.newPart(task)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.part, w.had[task.Run] = p, true
	// Load that nobody can stop must stop, before the controller goes on without it.
	w.fence = time.AfterFunc(time.Until(w.acked.Add(task.LostAfter-fenceLead)), func() {
		p.cancel(context.Background(), fmt.Sprintf("the controller has not been heard of for %v", task.LostAfter-fenceLead), false)
	})
	w.mu.Unlock()
	if err := p.begin(); err != nil {
		w.drop(p)
		return err
	}
	return nil
}

// drop makes the worker idle if it performs a part.
func (w *Worker) drop(p *part) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.part == p && p != nil {
		w.fence.Stop()
		w.part, w.fence = nil, nil
	}
}

// newPart reads the document of a part.
func (w *Worker) newPart(task *message.Prepare) (*part, error) {
	load := w.options.Load
	draft, err := config.Read(task.Document, load)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	doc, _, err := draft.Load()
	if err != nil {
		return nil, fmt.Errorf("load the document: %w", err)
	}
	doc.RandomSeed = &task.Seed
	b := &doc.Benchmark
	b.Cluster = nil
	b.Artifacts.UserFiles, b.Artifacts.Level = nil, "records"
	// The controller observes the servers, once for all.
	b.ServerMetrics.Enabled, b.GPUTelemetry = false, config.GPUTelemetry{}
	b.OTel, b.MLflow = config.OTel{}, config.MLflow{}
	compiled, err := plan.Compile(doc)
	if err != nil {
		return nil, fmt.Errorf("compile the document: %w", err)
	}
	at, bound, err := w.local(task.Epoch)
	if err != nil {
		return nil, err
	}
	p := &part{
		worker: w, task: task, document: doc, plan: compiled, clock: bench.ClockFrom(at, task.EpochWall), bound: bound,
		phases: map[int]message.Phase{},
	}
	p.lanes, p.own = lane.New(compiled.Seed), lane.Divide(task.Weights)[task.Index]
	return p, p.within(w.options.Caps)
}

// sendFile answers with a part of a file of the run.
func (w *Worker) sendFile(m bus.Message) {
	var r message.Range
	err := message.Decode(m.Payload, &r)
	var c message.Chunk
	if err == nil {
		if c.Data, err = w.readFile(&r); err != nil {
			w.options.Log.Warn().Err(err).Str("file", r.Name).Msg("read a file of the run")
		}
	}
	if err != nil {
		message.Refuse(m, err)
		return
	}
	message.Reply(m, &c)
}

// readFile reads a part of a file of the run that is performed here.
func (w *Worker) readFile(r *message.Range) ([]byte, error) {
	w.mu.Lock()
	p := w.part
	w.mu.Unlock()
	if p == nil || p.task.Run != r.Run {
		return nil, errors.New("it is not here")
	}
	root, err := os.OpenRoot(w.options.Dir(p.id()))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := regular.OpenIn(root, r.Name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := make([]byte, r.Size)
	n, err := file.ReadAt(data, r.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// release removes a run that has ended.
func (w *Worker) release(m bus.Message) {
	var r message.Release
	if err := message.Decode(m.Payload, &r); err != nil {
		message.Refuse(m, err)
		return
	}
	w.mu.Lock()
	p := w.part
	w.mu.Unlock()
	if p != nil && p.task.Run == r.Run {
		w.drop(p)
		if err := w.options.Engine.Delete(context.Background(), p.id(), true); err != nil {
			w.options.Log.Warn().Err(err).Msg("remove a run whose results the controller has")
		}
		w.options.Log.Info().Str("run", r.Run).Msg("the controller has the results")
	}
	message.Reply(m, &message.Answer{})
	if w.options.Once && p != nil && p.task.Run == r.Run {
		close(w.ended)
	}
}

// part is a part of a run that is performed here. It implements [engine.Part].
type part struct {
	worker   *Worker
	task     *message.Prepare
	document *config.Document
	plan     *plan.Plan
	clock    bench.Clock
	bound    time.Duration
	lanes    lane.Lanes
	own      *lane.Set // lanes of this load generator

	mu     sync.Mutex
	run    string                // guarded by mu; id here
	phases map[int]message.Phase // guarded by mu
	ending message.Done          // guarded by mu
	done   bool                  // guarded by mu
	// seconds are those that the controller has not acknowledged, the oldest first.
	seconds message.Seconds // guarded by mu
	number  int64           // guarded by mu; of the last second
}

var _ engine.Part = (*part)(nil)

// begin queues the run and waits for its end in the background.
func (p *part) begin() error {
	ctx, o := context.Background(), &p.worker.options
	r, err := o.Engine.SubmitPart(ctx, p.document, run.Submission{Via: "cluster", Compiled: p.plan}, p)
	if err != nil {
		return fmt.Errorf("begin the run: %w", err)
	}
	p.mu.Lock()
	p.run = r.ID
	p.mu.Unlock()
	o.Log.Info().Str("run", p.task.Run).Msg("a part of a run begins")
	go func() { // ends with the run
		r, err := o.Engine.Wait(ctx, r.ID)
		p.finish(r, err)
	}()
	return nil
}

// finish keeps how the run has ended.
func (p *part) finish(r *run.Run, err error) {
	var files []message.File
	if err == nil {
		files, err = listFiles(p.worker.options.Dir(r.ID)) // beats go on meanwhile
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	d := &p.ending
	d.Files = files
	switch {
	case err != nil:
		d.State, d.Reason = bench.StateFailed, "the part of the run: "+err.Error()
	case r.Error != nil:
		d.State, d.Code, d.Reason = r.State, r.Error.Code, r.Error.Message
	default:
		d.State, d.Reason = r.State, r.StateReason
	}
	p.worker.options.Log.Info().Str("run", p.task.Run).Str("state", string(d.State)).Msg("the part of the run has ended")
}

// snapshotFile is the one file that begins with a dot and is given to the controller.
const snapshotFile = ".snapshot.json"

// listFiles returns the files of a folder with their digests.
func listFiles(dir string) (files []message.File, err error) {
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		name, relErr := filepath.Rel(dir, path)
		if err != nil || relErr != nil {
			return errors.Join(err, relErr)
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && name != "." && entry.Name() != snapshotFile
		switch {
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case hidden || !entry.Type().IsRegular():
			return nil
		}
		file, err := regular.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		sum := sha256.New()
		size, err := io.Copy(sum, file)
		files = append(files, message.File{Name: filepath.ToSlash(name), Size: size, SHA256: sum.Sum(nil)})
		return err
	})
	return files, err
}

// id returns the id of the run in the engine of the worker.
func (p *part) id() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// describe adds the state of the part to that of the worker.
func (p *part) describe(ctx context.Context, b *message.Beat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.Run = p.task.Run
	for i := range p.plan.Phases {
		if s, ok := p.phases[i]; ok {
			b.Phases = append(b.Phases, s)
		}
	}
	b.Phases.Bound()
	b.Seconds = p.seconds.Fitting()
	if p.done && len(b.Seconds) == len(p.seconds) {
		b.Done = &p.ending
	}
	if r, err := p.worker.options.Engine.Get(ctx, p.run); err == nil {
		b.Status = r.StateReason
	}
}

// acknowledged removes the seconds of a beat that the controller has answered.
func (p *part) acknowledged(b *message.Beat) {
	if p == nil || len(b.Seconds) == 0 {
		return
	}
	last := b.Seconds[len(b.Seconds)-1].Number
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seconds = slices.DeleteFunc(slices.Clone(p.seconds), func(s message.Second) bool { return s.Number <= last })
}

// over reports whether there is no part, or it has ended.
func (p *part) over() bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// cancel stops the part, if there is one.
func (p *part) cancel(ctx context.Context, reason string, force bool) {
	if p != nil {
		p.stop(ctx, &run.CancelRequest{Reason: reason, Force: force})
	}
}

// stop stops the part as the controller asks for.
func (p *part) stop(ctx context.Context, c *run.CancelRequest) {
	if id := p.id(); id != "" {
		_, _, _ = p.worker.options.Engine.Cancel(ctx, id, *c) // one that has ended needs no cancel
	}
}
