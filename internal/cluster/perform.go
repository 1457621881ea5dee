package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/lane"
	"aiperfd/internal/cluster/message"
	"aiperfd/internal/cluster/sealed"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/run"
)

// task is a run on workers. Its fields below members are guarded by the mutex of the controller.
type task struct {
	run       *engine.FleetRun
	members   []*member
	weights   []float64
	shares    []float64 // of the load
	clock     bench.Clock
	lostAfter time.Duration
	goOn      bool // without workers that are lost

	starts map[int]*message.Start // by phase
	begun  bool                   // a phase has begun, and not all have ended it
	cancel *run.CancelRequest     // nil = the run goes on
	fault  *run.Error             // why it is stopped; nil = nothing failed
}

// The periods of a run.
const (
	lookEvery   = time.Second
	prepareWait = time.Minute
	startLead   = time.Second
	pullWait    = 10 * time.Second
)

// Perform implements [engine.Fleet].
func (c *Controller) Perform(ctx context.Context, f *engine.FleetRun) ([]report.Member, *run.Error) {
	t, fault := c.gather(ctx, f)
	if fault != nil {
		return nil, fault
	}
	defer c.leave(t)
	if fault := c.prepare(ctx, t); fault != nil {
		return nil, fault
	}
	c.watch(ctx, t)
	return c.collect(ctx, t)
}

// divisible returns why the plan cannot be performed by a number of workers; nil = it can.
func divisible(phases []spec.Phase, workers int) error {
	if len(phases) > message.MaxPhases {
		return fmt.Errorf("the document has %d phases: with load generators at most %d are accepted", len(phases), message.MaxPhases)
	}
	for i := range phases {
		p := &phases[i]
		switch {
		case p.Lanes != nil:
			return fmt.Errorf("phase %s replays recorded sessions on lanes: these are not divided among load generators", p.Name)
		case p.Concurrency > 0 && p.Concurrency < workers:
			return fmt.Errorf("phase %s: the concurrency, %d, is below the number of load generators, %d: reduce that, or raise the concurrency",
				p.Name, p.Concurrency, workers)
		case p.Prefill > 0 && p.Prefill < workers:
			return fmt.Errorf("phase %s: the limit of prefills, %d, is below the number of load generators, %d: reduce that, or raise the limit",
				p.Name, p.Prefill, workers)
		}
	}
	return nil
}

// gather waits until there are enough workers.
func (c *Controller) gather(ctx context.Context, f *engine.FleetRun) (*task, *run.Error) {
	doc := f.Document.Benchmark.Cluster
	if err := divisible(f.Plan.Phases, doc.Workers); err != nil {
		return nil, &run.Error{Code: run.WorkersMissing, Message: err.Error()}
	}
	timeout := time.NewTimer(doc.JoinTimeout.Duration())
	defer timeout.Stop()
	defer f.Status("")
	for {
		c.mu.Lock()
		idle, changed := c.idle(), c.changed
		if len(idle) >= doc.Workers {
			t := &task{
				run: f, members: idle[:doc.Workers], starts: map[int]*message.Start{}, clock: bench.NewClock(),
				lostAfter: doc.LostAfter.Duration(), goOn: doc.OnWorkerLost == "continue",
			}
			for range t.members {
				t.weights = append(t.weights, 1)
			}
			for i, own := range lane.Divide(t.weights) {
				m := t.members[i]
				m.task, m.ready, m.done, m.lost, m.worst = t, nil, nil, "", max(0, m.beat.ClockBound)
				m.lanes, m.seconds, m.second, m.latest = own.Len(), nil, 0, 0
				t.shares = append(t.shares, float64(m.lanes)/lane.Count)
			}
			c.mu.Unlock()
			f.Gathered(t.clock)
			return t, nil
		}
		c.mu.Unlock()
		f.Status(fmt.Sprintf("waiting for load generators: %d of %d are ready", len(idle), doc.Workers))
		select {
		case <-changed:
		case <-time.After(lookEvery):
		case <-timeout.C:
			return nil, &run.Error{Code: run.WorkersMissing, Message: fmt.Sprintf(
				"%d of %d load generators were ready within %v: start others with aiperfd worker, or raise cluster.joinTimeout",
				len(idle), doc.Workers, doc.JoinTimeout.Duration())}
		case <-f.Cancelled:
			return nil, &run.Error{Code: run.WorkersMissing, Message: "cancelled while waiting for load generators"}
		case <-ctx.Done():
			return nil, &run.Error{Code: run.WorkersMissing, Message: ctx.Err().Error()}
		}
	}
}

// leave makes the workers of a run free for others.
func (c *Controller) leave(t *task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range t.members {
		m.task, m.ready, m.done, m.lanes = nil, nil, nil, 0
		m.beat.Run = "" // until the next beat
	}
	c.notify()
}

// prepare gives each worker its part.
func (c *Controller) prepare(ctx context.Context, t *task) *run.Error {
	f := t.run
	all := make([]error, len(t.members))
	var asking sync.WaitGroup
	for i, m := range t.members {
		asking.Go(func() { // ends within prepareWait
			part, err := c.seal(m, &message.Prepare{
				Run: f.ID, Document: f.Document.Source(), Seed: int64(f.Plan.Seed), Weights: t.weights, Index: i,
				Epoch: t.clock.At(0).Sub(c.base), EpochWall: t.clock.Wall(0), LostAfter: t.lostAfter,
			})
			if err == nil {
				err = c.ask(ctx, m.ID, message.KindPrepare, part)
			}
			if err != nil {
				all[i] = fmt.Errorf("worker %s: %w", m.Name, err)
			}
		})
	}
	asking.Wait()
	failed := errors.Join(all...)
	if failed == nil {
		return nil
	}
	for _, m := range t.members {
		_ = c.ask(ctx, m.ID, message.KindRelease, &message.Release{Run: f.ID})
	}
	return &run.Error{Code: run.WorkerLost, Message: failed.Error()}
}

// seal returns a part of a run that only a worker can read.
func (c *Controller) seal(m *member, part *message.Prepare) (*message.Sealed, error) {
	data, err := message.Encode(part)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	sum, key := m.sum, m.Key
	c.mu.Unlock()
	box, err := sealed.Seal(sum, key, part.Run, data)
	return &message.Sealed{Run: part.Run, Box: box}, err
}

// ask sends a worker a request until it is answered, and returns the error of the answer.
func (c *Controller) ask(ctx context.Context, id, kind string, question message.Message) error {
	data, err := message.Encode(question)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, prepareWait)
	defer cancel()
	for {
		once, stop := context.WithTimeout(ctx, pullWait)
		reply, err := c.options.Bus.Request(once, bus.ToWorker(id, kind), data)
		stop()
		if err == nil {
			var a message.Answer
			if err = message.Decode(reply, &a); err == nil && a.Error != "" {
				err = errors.New(a.Error)
			}
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lookEvery):
		}
	}
}

// watch follows the run until all workers have ended or are lost.
func (c *Controller) watch(ctx context.Context, t *task) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	cancelled := t.run.Cancelled
	defer t.run.Over()
	running := false
	for {
		c.mu.Lock()
		changed := c.changed
		phase, _ := c.ready(t)
		over := c.over(t)
		c.mu.Unlock()
		switch {
		case over:
			c.look(t)
			t.end(ctx)
			return
		case phase >= 0:
			c.look(t)
			t.end(ctx)
			t.run.Ready(ctx)
			c.heed(ctx, t)
			if c.arm(t, phase) && !running {
				running = true
				t.run.Running()
			}
		}
		select {
		case <-changed:
		case <-tick.C:
			c.look(t)
		case <-cancelled:
			cancelled = nil
		}
		c.heed(ctx, t)
	}
}

// heed stops the run if it was cancelled.
func (c *Controller) heed(ctx context.Context, t *task) {
	select {
	case <-t.run.Cancelled:
	case <-ctx.Done():
	default:
		return
	}
	request := t.run.Cancel()
	request.Force = request.Force || ctx.Err() != nil
	c.mu.Lock()
	t.cancel = &request
	c.mu.Unlock()
}

// ready returns the phase that all workers are ready for, and the number of its first session, with mu held; -1 = there
// is none, or the run is being stopped.
func (c *Controller) ready(t *task) (phase int, first int64) {
	phase = -1
	for _, m := range t.members {
		switch {
		case m.lost != "" || m.done != nil:
			continue
		case m.ready == nil || t.starts[m.ready.Phase] != nil:
			return -1, 0
		case phase >= 0 && m.ready.Phase != phase:
			return -1, 0
		}
		phase, first = m.ready.Phase, max(first, m.ready.After)
	}
	if t.cancel != nil {
		return -1, 0
	}
	return phase, first
}

// arm decides when a phase begins; false = it does not, because not all workers are ready for it any more.
func (c *Controller) arm(t *task, phase int) bool {
	c.mu.Lock()
	c.over(t) // some may have been lost meanwhile
	now, first := c.ready(t)
	if now != phase {
		c.mu.Unlock()
		return false
	}
	lead := startLead
	for _, m := range t.members {
		lead = max(lead, 10*m.beat.RTT)
	}
	start := &message.Start{At: c.now() + lead, First: first}
	t.starts[phase] = start
	c.mu.Unlock()
	t.begun = true
	t.run.Begin(phase, t.clock.Offset(c.base.Add(start.At)))
	return true
}

// end says that all workers have ended the phase that began last, if there is one.
func (t *task) end(ctx context.Context) {
	if t.begun {
		t.begun = false
		t.run.End(ctx)
	}
}

// over reports whether all workers have ended, with mu held. It decides which are lost, and what follows.
func (c *Controller) over(t *task) bool {
	over := true
	for _, m := range t.members {
		if silent := time.Since(m.heard); m.lost == "" && m.done == nil && silent > t.lostAfter {
			m.lost = fmt.Sprintf("no message for %v", silent.Round(time.Second))
		}
		if m.lost != "" {
			c.loses(t, m)
			continue
		}
		over = over && m.done != nil
		if d := m.done; d != nil && d.State == bench.StateFailed && t.fault == nil && !failedByRequests(d.Code) {
			message := fmt.Sprintf("worker %s: %s", m.Name, d.Reason)
			t.fault = &run.Error{Code: cmp.Or(d.Code, run.WorkerLost), Message: message}
			c.stop(t, "worker "+m.Name+" has failed")
		}
	}
	return over
}

// failedByRequests reports whether the run of a worker has failed because of its requests, which the whole decides.
func failedByRequests(code run.ErrorCode) bool {
	return code == run.NoSuccess || code == run.ErrorThreshold
}

// loses decides what becomes of a run of which a worker is lost, with mu held.
func (c *Controller) loses(t *task, m *member) {
	if t.goOn || t.fault != nil {
		return
	}
	t.fault = &run.Error{Code: run.WorkerLost, Message: fmt.Sprintf("worker %s is lost: %s", m.Name, m.lost)}
	c.stop(t, "worker "+m.Name+" is lost")
}

// stop stops the run, with mu held.
func (c *Controller) stop(t *task, reason string) {
	if t.cancel == nil {
		t.cancel = &run.CancelRequest{Reason: reason}
	}
}

// look shows the state of the run.
func (c *Controller) look(t *task) {
	type state struct {
		stats bench.PhaseStats
		live  [][]byte
	}
	phases := map[int]*state{}
	look := &engine.FleetLook{Clock: t.clock, Latest: math.MaxInt64}
	c.mu.Lock()
	for _, m := range t.members {
		if m.lost == "" && m.done == nil {
			look.Latest = min(look.Latest, m.latest)
		}
		look.Seconds, m.seconds = append(look.Seconds, m.seconds...), nil
		for i := range m.beat.Phases {
			p := &m.beat.Phases[i]
			at := p.Stats.Index
			if at < 0 || at >= len(t.run.Plan.Phases) {
				continue
			}
			if s := phases[at]; s != nil {
				s.stats.Join(&p.Stats)
			} else {
				phases[at] = &state{stats: p.Stats}
				planned, s := &t.run.Plan.Phases[at], &phases[at].stats
				s.Name, s.Kind, s.ProfilingIndex = planned.Name, planned.Kind, planned.ProfilingIndex
			}
			phases[at].live = append(phases[at].live, p.Live)
		}
	}
	c.mu.Unlock()
	if look.Latest == math.MaxInt64 { // nobody goes on
		look.Latest = 0
	}
	for at := range t.run.Plan.Phases {
		s := phases[at]
		if s == nil {
			continue
		}
		p := &t.run.Plan.Phases[at]
		s.stats.ExpectedRequests, s.stats.ExpectedSessions = p.Requests, p.Sessions
		s.stats.ExpectedDuration = p.Duration
		set, err := mergedSet(t.run.Plan.Metrics, s.live)
		if err != nil {
			c.options.Log.Warn().Err(err).Msg("merge the metrics of workers")
			continue
		}
		look.Phases = append(look.Phases, engine.FleetPhase{Stats: s.stats, Set: set})
	}
	if len(look.Phases) > 0 {
		look.Workers = c.states(t)
		t.run.Look(look)
	}
}

// mergedSet returns the metrics of all workers.
func mergedSet(o measure.Options, live [][]byte) (*measure.Set, error) {
	o.Budget = -1
	set, err := measure.NewSet(o)
	for _, data := range live {
		if err == nil && len(data) > 0 {
			err = set.MergeLive(data)
		}
	}
	return set, err
}

// collect gets the files of all workers.
func (c *Controller) collect(ctx context.Context, t *task) ([]report.Member, *run.Error) {
	t.run.Status("getting the records of the load generators")
	defer t.run.Status("")
	var out []report.Member
	for i, m := range t.members {
		c.mu.Lock()
		member := report.Member{
			Name: m.Name, Dir: filepath.Join(t.run.Dir, m.Name), Share: t.shares[i],
			ClockBound: m.worst, Snapshot: &run.Snapshot{},
		}
		for j := range m.beat.Phases {
			member.Snapshot.Phases = append(member.Snapshot.Phases, run.Phase{Stats: m.beat.Phases[j].Stats})
		}
		done, lost := m.done, m.lost
		heard := t.clock.Offset(m.heard)
		c.mu.Unlock()
		if done != nil && lost == "" {
			if err := c.pull(ctx, t, m.ID, member.Dir, done.Files); err != nil {
				lost = err.Error()
				if t.fault == nil {
					message := fmt.Sprintf("the records of worker %s are not complete: %v", m.Name, err)
					t.fault = &run.Error{Code: run.WorkerLost, Message: message}
				}
			}
		}
		if done != nil && lost == "" {
			member.Run, member.Ending = &run.Run{State: done.State, StateReason: done.Reason}, done.Ending
			if snap, err := readSnapshot(filepath.Join(member.Dir, ".snapshot.json")); err == nil {
				member.Snapshot = snap
			}
			if err := c.ask(ctx, m.ID, message.KindRelease, &message.Release{Run: t.run.ID}); err != nil {
				c.options.Log.Warn().Err(err).Str("worker", m.Name).Msg("release a worker")
			}
		}
		if member.Run == nil {
			member.Lost, member.LostAt = cmp.Or(lost, "it has not reported its end"), heard
			member.Unknown, member.NotSent = c.notSent(t, i, &member)
		}
		out = append(out, member)
	}
	return out, t.fault
}

// maxSnapshot is the size of the last state of a part of a run at most, in bytes.
const maxSnapshot = 64 << 20

// readSnapshot reads the last state of a part of a run, which a worker has sent.
func readSnapshot(path string) (*run.Snapshot, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out := new(run.Snapshot)
	return out, json.NewDecoder(io.LimitReader(file, maxSnapshot)).Decode(out)
}

// notSent counts the arrivals of the lanes of a worker that were due after its last state: those that it may have sent,
// because it stops only when it has not been answered for a while, and those after that.
func (c *Controller) notSent(t *task, index int, m *report.Member) (unknown, n int64) {
	lanes, own := lane.New(t.run.Plan.Seed), lane.Divide(t.weights)[index]
	ended := c.phaseEnds(t)
	for at := range t.run.Plan.Phases {
		p, start := &t.run.Plan.Phases[at], t.starts[at]
		if start == nil || p.Arrivals == nil {
			continue
		}
		begun := t.clock.Offset(c.base.Add(start.At))
		number, last := start.First, m.LostAt
		for j := range m.Snapshot.Phases {
			if s := &m.Snapshot.Phases[j].Stats; s.Index == at {
				last = min(last, s.LastUpdate)
			}
		}
		for due := range p.Arrivals {
			due += begun
			if bound := p.SessionBound(); due > ended[at] || bound >= 0 && number-start.First >= bound {
				break
			}
			switch {
			case due <= last || !own.Has(lanes.Of(number)):
			case due <= m.LostAt+t.lostAfter:
				unknown++
			default:
				n++
			}
			number++
		}
	}
	return unknown, n
}

// phaseEnds returns until when each phase sent requests at the workers that went on. None is in the future.
func (c *Controller) phaseEnds(t *task) map[int]time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, now := map[int]time.Duration{}, t.clock.Now()
	for _, m := range t.members {
		for i := range m.beat.Phases {
			s := &m.beat.Phases[i].Stats
			end := max(s.SentEnd, s.Arrivals.Last)
			if s.DurationReached {
				end = max(end, s.Start+s.ExpectedDuration)
			}
			out[s.Index] = max(out[s.Index], min(end, now))
		}
	}
	return out
}

// pull gets the files of a worker.
func (c *Controller) pull(ctx context.Context, t *task, id, dir string, files []message.File) error {
	for _, f := range files {
		if err := c.pullFile(ctx, t, id, filepath.Join(dir, filepath.FromSlash(f.Name)), &f); err != nil {
			return fmt.Errorf("get %s: %w", f.Name, err)
		}
	}
	return nil
}

// pullFile gets a file in ranges.
func (c *Controller) pullFile(ctx context.Context, t *task, id, path string, f *message.File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, durable.Shared)
	if err != nil {
		return err
	}
	defer to.Close()
	sum := sha256.New()
	for at := int64(0); at < f.Size; {
		size := int(min(message.MaxChunk, f.Size-at))
		data, err := c.pullRange(ctx, id, &message.Range{Run: t.run.ID, Name: f.Name, Offset: at, Size: size})
		switch {
		case err != nil:
			return err
		case len(data) == 0:
			return fmt.Errorf("it ends at %d of %d bytes", at, f.Size)
		case len(data) > size:
			return fmt.Errorf("%d bytes were asked for, and %d came", size, len(data))
		}
		_, _ = sum.Write(data)
		if _, err := to.Write(data); err != nil {
			return err
		}
		at += int64(len(data))
	}
	if !bytes.Equal(sum.Sum(nil), f.SHA256) {
		return errors.New("its digest is not that of the worker")
	}
	return to.Close()
}

// tries is how often a range of a file is asked for.
const tries = 6

// pullRange gets a range of a file, which is asked for again if the answer is lost.
func (c *Controller) pullRange(ctx context.Context, id string, question *message.Range) ([]byte, error) {
	data, err := message.Encode(question)
	if err != nil {
		return nil, err
	}
	for range tries {
		once, stop := context.WithTimeout(ctx, pullWait)
		var reply []byte
		reply, err = c.options.Bus.Request(once, bus.ToWorker(id, message.KindFile), data)
		stop()
		if err == nil {
			var chunk message.Chunk
			err = message.Decode(reply, &chunk)
			return chunk.Data, err
		}
		if ctx.Err() != nil {
			return nil, err
		}
		time.Sleep(lookEvery)
	}
	return nil, err
}
