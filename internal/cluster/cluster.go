// Package cluster performs runs on several load generators, which have joined over a bus: it is the controller.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/message"
	"aiperfd/internal/engine"
	"aiperfd/internal/run"
)

// Options are the parameters of a [Controller].
type Options struct {
	Bus     bus.Bus
	Version string
	Log     zerolog.Logger
	// Changed is told of each worker that joins, leaves or is lost, one after the other; nil = nobody is. It must not
	// block.
	Changed func(run.WorkerChange)
}

// How long a worker that performs nothing may be silent.
const (
	lateAfter   = 3 * time.Second
	goneAfter   = 10 * time.Second
	forgetAfter = 10 * time.Minute
)

// Controller knows the workers and performs runs on them. It is safe for concurrent use.
type Controller struct {
	options Options
	base    time.Time // of its clock
	traffic traffic

	mu      sync.Mutex
	members map[string]*member // guarded by mu; by id
	changed chan struct{}      // guarded by mu; closed at the next change
}

var _ engine.Fleet = (*Controller)(nil)

// member is a worker. Its fields are guarded by the mutex of its controller.
type member struct {
	message.Join
	joined time.Time
	heard  time.Time // when the last beat came
	beat   message.Beat
	task   *task          // the run that it performs; nil = it is idle
	ready  *message.Ready // the phase that it can begin
	lost   string         // why the run of its task goes on without it; empty = it does not
	done   *message.Done  // of the task
	lanes  int            // of the task
	drain  bool           // it gets no further run
	gone   bool           // it was reported as lost

	worst time.Duration // largest error of its clock during the task; <0 = it was unknown
}

// New returns a controller without workers.
func New(o Options) *Controller {
	c := &Controller{options: o, base: time.Now(), members: map[string]*member{}, changed: make(chan struct{})}
	c.options.Bus = counted{o.Bus, &c.traffic}
	return c
}

// Serve takes workers until ctx ends.
func (c *Controller) Serve(ctx context.Context) error {
	for subject, handle := range map[string]bus.Handler{bus.Join: c.join, bus.Clock: c.tellTime, bus.AllWorkers: c.hear} {
		cancel, err := c.options.Bus.Subscribe(ctx, subject, handle)
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		defer cancel()
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.tend()
		}
	}
}

// now returns the time of the clock of the controller.
func (c *Controller) now() time.Duration { return time.Since(c.base) }

// notify wakes those who wait for a change, with mu held.
func (c *Controller) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// reply answers a request.
func reply(m bus.Message, answer any) {
	if data, err := json.Marshal(answer); err == nil {
		_ = m.Reply(data) // who does not get the answer asks again
	}
}

// tellTime answers with the time.
func (c *Controller) tellTime(m bus.Message) {
	arrived := c.now()
	reply(m, message.Clock{Arrived: arrived, Answered: c.now()})
}

// join takes a worker.
func (c *Controller) join(m bus.Message) {
	var j message.Join
	if json.Unmarshal(m.Payload, &j) != nil || !bus.ValidID(j.ID) {
		return
	}
	reply(m, c.admit(&j))
}

// validName matches the names that a worker may have: they are names of folders, too.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// The labels of a worker are shown to everybody who reads.
const (
	mostLabels   = 32
	longestLabel = 256 // bytes of name and value
)

// admit decides whether a worker may join.
func (c *Controller) admit(j *message.Join) message.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !validName.MatchString(j.Name):
		return message.Answer{Error: "a name of a worker has 1 to 64 letters, digits, dots, hyphens or underscores, a letter or digit first"}
	case j.Version != c.options.Version:
		const text = "its version is %s and that of the controller %s: they must be the same"
		return message.Answer{Error: fmt.Sprintf(text, j.Version, c.options.Version)}
	case len(j.Labels) > mostLabels:
		return message.Answer{Error: fmt.Sprintf("it has %d labels, and may have %d", len(j.Labels), mostLabels)}
	}
	for name, value := range j.Labels {
		if len(name)+len(value) > longestLabel {
			const text = "a label has %d bytes, and may have %d"
			return message.Answer{Error: fmt.Sprintf(text, len(name)+len(value), longestLabel)}
		}
	}
	for id, other := range c.members {
		if id == j.ID || other.Name != j.Name {
			continue
		}
		if time.Since(other.heard) < lateAfter {
			return message.Answer{Error: "a worker with the name " + j.Name + " has joined already", Again: true}
		}
		c.drop(other, "another worker with its name has joined")
	}
	known := c.members[j.ID]
	isNew := known == nil
	if isNew {
		known = &member{joined: time.Now()}
		c.members[j.ID] = known
	}
	known.Join, known.heard = *j, time.Now()
	if isNew {
		c.options.Log.Info().Str("worker", j.Name).Int("cores", j.Cores).Msg("a worker has joined")
		c.tell(known, Joined, "")
	}
	c.notify()
	return message.Answer{}
}

// drop forgets a worker, with mu held.
func (c *Controller) drop(m *member, why string) {
	if m.task != nil && m.done == nil && m.lost == "" {
		m.lost = why
	}
	delete(c.members, m.ID)
	level := zerolog.InfoLevel
	if m.task != nil {
		level = zerolog.WarnLevel
	}
	c.options.Log.WithLevel(level).Str("worker", m.Name).Str("reason", why).Msg("a worker is gone")
	if !m.gone {
		c.tell(m, Left, why)
	}
}

// hear takes a message of a worker.
func (c *Controller) hear(m bus.Message) {
	id, kind, ok := bus.Sender(m.Subject)
	if !ok {
		return
	}
	switch kind {
	case message.KindBeat:
		var b message.Beat
		if json.Unmarshal(m.Payload, &b) == nil {
			reply(m, c.acknowledge(id, &b))
		}
	case message.KindReady:
		var r message.Ready
		if json.Unmarshal(m.Payload, &r) == nil {
			reply(m, c.start(id, &r))
		}
	}
}

// acknowledge takes the state of a worker.
func (c *Controller) acknowledge(id string, b *message.Beat) message.Ack {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[id]
	if m == nil {
		return message.Ack{Unknown: true}
	}
	m.heard, m.gone = time.Now(), false
	if b.Sequence <= m.beat.Sequence {
		return message.Ack{} // an older one
	}
	m.beat = *b
	defer c.notify()
	if b.Draining { // its process ends
		m.done = cmp.Or(b.Done, m.done)
		c.drop(m, "it has been stopped")
		return message.Ack{}
	}
	t := m.task
	switch {
	case b.Run == "":
		return message.Ack{}
	case t == nil || t.run.ID != b.Run:
		return message.Ack{Unknown: t == nil, Cancel: nil, Lost: true}
	case m.lost != "":
		return message.Ack{Lost: true}
	}
	if m.worst >= 0 {
		m.worst = max(m.worst, b.ClockBound)
	}
	if b.ClockBound < 0 {
		m.worst = -1
	}
	m.done = b.Done
	return message.Ack{Cancel: t.cancel}
}

// start answers a worker that is ready for a phase.
func (c *Controller) start(id string, r *message.Ready) message.Start {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[id]
	if m == nil || m.task == nil || m.task.run.ID != r.Run || m.lost != "" {
		return message.Start{Error: "the run goes on without this load generator"}
	}
	m.heard = time.Now()
	if s := m.task.starts[r.Phase]; s != nil {
		return *s
	}
	if m.task.cancel != nil {
		return message.Start{Error: "the run is being stopped"}
	}
	m.ready = r
	c.notify()
	return message.Start{Wait: true}
}

// idle returns the workers that can take a run, by name, with mu held.
func (c *Controller) idle() (out []*member) {
	for _, m := range c.members {
		if m.task == nil && !m.drain && m.beat.Run == "" && m.beat.ClockBound >= 0 && m.beat.Sequence > 0 &&
			time.Since(m.heard) < lateAfter {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *member) int { return strings.Compare(a.Name, b.Name) })
	return out
}
