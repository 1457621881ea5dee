// Package cluster performs runs on several load generators, which have joined over a bus: it is the controller.
package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/message"
	"aiperfd/internal/cluster/sealed"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/run"
)

// Options are the parameters of a [Controller].
type Options struct {
	Bus     bus.Bus
	Version string
	Tokens  Tokens
	Log     zerolog.Logger
	// Changed is told of each worker that joins, leaves or is lost, one after the other; nil = nobody is. It must not
	// block.
	Changed func(run.WorkerChange)
}

// Tokens are those that workers join with: holds is asked about the hash of each, and says whether a worker has shown
// that it knows the token. The name is that of the token, and most is how many workers may have joined with it.
type Tokens func(holds func(sum sealed.Sum) bool) (name string, most int, ok bool)

// Holds returns the token with a text, in the way of broker.ServerOptions.
func (t Tokens) Holds(text string) (name string, most int, ok bool) {
	sum := sha256.Sum256([]byte(text))
	return t(func(known sealed.Sum) bool { return subtle.ConstantTimeCompare(known[:], sum[:]) == 1 })
}

// How long a worker that performs nothing may be silent.
const (
	lateAfter   = 3 * time.Second
	goneAfter   = 10 * time.Second
	forgetAfter = 10 * time.Minute
)

// maxMembers is how many workers a controller knows at most, also those that are gone.
const maxMembers = message.MaxWorkers

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
	token  string     // the name of the one that it has joined with
	sum    sealed.Sum // the hash of that token
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

	seconds []series.Window // of the task, since the last look
	second  int64           // number of the last one
	latest  time.Duration   // when it began

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

// tellTime answers with the time.
func (c *Controller) tellTime(m bus.Message) {
	arrived := c.now()
	if err := message.Decode(m.Payload, new(message.Probe)); err != nil {
		message.Refuse(m, err)
		return
	}
	message.Reply(m, &message.Clock{Arrived: arrived, Answered: c.now()})
}

// join takes a worker.
func (c *Controller) join(m bus.Message) {
	var j message.Join
	if err := message.Decode(m.Payload, &j); err != nil {
		message.Refuse(m, err)
		return
	}
	message.Reply(m, c.admit(&j))
}

// admit decides whether a worker may join.
func (c *Controller) admit(j *message.Join) *message.Answer {
	var sum sealed.Sum
	token, most, ok := c.options.Tokens(func(known sealed.Sum) bool {
		holds := j.Proof.Holds(known, j.Key, j.Name)
		if holds {
			sum = known
		}
		return holds
	})
	if !ok {
		return &message.Answer{Error: "it does not know a token of the controller"}
	}
	if err := j.Proof.Current(time.Now()); err != nil {
		return &message.Answer{Error: err.Error()}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.Version != c.options.Version {
		const text = "its version is %s and that of the controller %s: they must be the same"
		return &message.Answer{Error: fmt.Sprintf(text, j.Version, c.options.Version)}
	}
	others := 0
	for id, other := range c.members {
		if id != j.ID && other.Name != j.Name && other.token == token && time.Since(other.heard) < goneAfter {
			others++
		}
		if id == j.ID || other.Name != j.Name {
			continue
		}
		if time.Since(other.heard) < lateAfter {
			return &message.Answer{Error: "a worker with the name " + j.Name + " has joined already", Again: true}
		}
		c.drop(other, "another worker with its name has joined")
	}
	if others >= most {
		const text = "the token %s is that of %d workers, and so many have joined"
		return &message.Answer{Error: fmt.Sprintf(text, token, most), Again: true}
	}
	known := c.members[j.ID]
	isNew := known == nil
	if isNew {
		if len(c.members) >= maxMembers {
			return &message.Answer{Error: fmt.Sprintf("%d workers have joined, which are all that there may be", maxMembers), Again: true}
		}
		known = &member{joined: time.Now()}
		c.members[j.ID] = known
	}
	known.Join, known.token, known.sum = *j, token, sum
	c.heard(known)
	if isNew {
		c.options.Log.Info().Str("worker", j.Name).Int("cores", j.Cores).Msg("a worker has joined")
		c.tell(known, Joined, "")
	}
	c.notify()
	return &message.Answer{}
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
	var err error
	switch kind {
	case message.KindBeat:
		var b message.Beat
		if err = message.Decode(m.Payload, &b); err == nil {
			message.Reply(m, c.acknowledge(id, &b))
		}
	case message.KindReady:
		var r message.Ready
		if err = message.Decode(m.Payload, &r); err == nil {
			message.Reply(m, c.start(id, &r))
		}
	default:
		err = fmt.Errorf("kind %.32q: %s and %s are accepted", kind, message.KindBeat, message.KindReady)
	}
	if err != nil {
		message.Refuse(m, err)
	}
}

// heard notes that a worker lives, with mu held. One that was lost has joined again.
func (c *Controller) heard(m *member) {
	m.heard = time.Now()
	if m.gone {
		m.gone = false
		c.tell(m, Joined, "")
	}
}

// acknowledge takes the state of a worker.
func (c *Controller) acknowledge(id string, b *message.Beat) *message.Ack {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[id]
	if m == nil {
		return &message.Ack{Unknown: true}
	}
	c.heard(m)
	if b.Sequence <= m.beat.Sequence {
		return &message.Ack{} // an older one
	}
	m.takeSeconds(b)
	m.beat = *b
	defer c.notify()
	if b.Draining { // its process ends
		m.done = cmp.Or(b.Done, m.done)
		c.drop(m, "it has been stopped")
		return &message.Ack{}
	}
	t := m.task
	switch {
	case b.Run == "":
		return &message.Ack{}
	case t == nil || t.run.ID != b.Run:
		return &message.Ack{Unknown: t == nil, Cancel: nil, Lost: true}
	case m.lost != "":
		return &message.Ack{Lost: true}
	}
	if m.worst >= 0 {
		m.worst = max(m.worst, b.ClockBound)
	}
	if b.ClockBound < 0 {
		m.worst = -1
	}
	m.done = b.Done
	return &message.Ack{Cancel: t.cancel}
}

// takeSeconds takes the seconds of the task that were not there before.
func (m *member) takeSeconds(b *message.Beat) {
	if m.task != nil && m.task.run.ID == b.Run && m.lost == "" {
		for i := range b.Seconds {
			if s := &b.Seconds[i]; s.Number > m.second {
				m.second, m.latest, m.seconds = s.Number, s.At, append(m.seconds, s.Window)
			}
		}
	}
	b.Seconds = nil
}

// start answers a worker that is ready for a phase.
func (c *Controller) start(id string, r *message.Ready) *message.Start {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[id]
	if m == nil || m.task == nil || m.task.run.ID != r.Run || m.lost != "" {
		return &message.Start{Error: "the run goes on without this load generator"}
	}
	c.heard(m)
	if s := m.task.starts[r.Phase]; s != nil {
		return s
	}
	if m.task.cancel != nil {
		return &message.Start{Error: "the run is being stopped"}
	}
	m.ready = r
	c.notify()
	return &message.Start{Wait: true}
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
