// Package feed turns the events of runs into messages, keeps the latest of
// them, and sends them to the clients of a WebSocket and of server-sent events.
// The protocol of the WebSocket is AIPerf 0.13's, extended by run ids, sequence
// numbers, snapshots and replay.
package feed

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// The bounds of a hub.
const (
	DefaultMaxClients = 100

	ringMessages  = 10_000  // kept for each run
	ringBytes     = 4 << 20 // kept for each run: the last minutes
	endedStreams  = 4       // ended runs whose messages are kept
	recentWindow  = 10 * time.Second
	queueMessages = 256
	queueBytes    = 4 << 20
)

// Hub turns events of runs into messages and distributes them to clients. Make one
// with [NewHub]. All methods are safe for concurrent use.
//
// Locks are taken in the order stream, hub, subscription. None is held during I/O.
type Hub struct {
	maxClients int

	mu            sync.Mutex
	streams       map[string]*stream
	changes       *stream  // of all runs: that one was queued, changed its state or was deleted
	active        []string // runs that were started and are not complete, in that order
	ended         []string // complete runs, the newest last; at most endedStreams
	subscriptions map[*subscription]struct{}
	reserved      int // slots taken, connected clients included
	closing       *closing
	idle          chan struct{} // closed when reserved falls to 0 after Shutdown
	dropped       int64
	finished      map[bench.State]int64
	waiters       map[string][]chan struct{} // by run; see Await
}

var _ run.Publisher = (*Hub)(nil)

// NewHub returns a hub for at most maxClients WebSocket clients; 0 means
// [DefaultMaxClients].
func NewHub(maxClients int) *Hub {
	if maxClients <= 0 {
		maxClients = DefaultMaxClients
	}
	return &Hub{
		maxClients: maxClients, streams: map[string]*stream{}, changes: newStream(), subscriptions: map[*subscription]struct{}{},
		finished: map[bench.State]int64{}, waiters: map[string][]chan struct{}{}, idle: make(chan struct{}),
	}
}

// stream has the messages and the totals of one run.
type stream struct {
	publish sync.Mutex       // serialises Publish for this run; guards what follows
	state   wire.SystemState // in the last message of its type
	cadence map[string]time.Time
	credits bool  // credits_complete was sent
	failed  int64 // errors in the last message of its type

	epoch string // differs from that of every other stream, also in other processes

	// The hub's lock guards the rest.
	seq     uint64
	ring    []message // consecutive in seq, the last one has seq
	bytes   int       // of ring
	latest  map[string]message
	samples []sample
	ended   bool // the run is terminal
	done    bool // no message follows
	study   bool // clients follow its cells unless they name it
}

// sample are the totals of a run at one instant.
type sample struct {
	at                time.Time
	completed, errors int64
}

// message is one encoded message of a run.
type message struct {
	kind string
	run  string // empty: of no run
	id   eventID
	key  string // messages of one key replace each other; empty: each one counts
	data []byte
	body []byte // the members of data after the envelope, without the closing brace
}

func newStream() *stream {
	return &stream{epoch: strings.ToLower(rand.Text()[:8]), cadence: map[string]time.Time{}, latest: map[string]message{}}
}

// streamOf returns the stream of a run, creating it if necessary. The lock must be
// held.
func (h *Hub) streamOf(id string) *stream {
	s := h.streams[id]
	if s == nil {
		s = newStream()
		h.streams[id] = s
	}
	return s
}

// kept returns the stream that a subscription follows; nil if nothing is kept. The lock
// must be held.
func (h *Hub) kept(id string) *stream {
	if id == allChanges {
		return h.changes
	}
	return h.streams[id]
}

// Publish turns an event into messages, keeps them and queues them for the
// clients that want them. It never waits for a client. Events of one run must be
// published in order; events of different runs may be published concurrently.
func (h *Hub) Publish(ev run.Event) {
	h.mu.Lock()
	s := h.streams[ev.RunID]
	switch {
	case s != nil:
	case ev.Type == run.EventUpdated: // of a run that ended long ago: nothing is kept
		s = newStream()
	default:
		s = h.streamOf(ev.RunID)
	}
	recent := s.observe(ev)
	h.mu.Unlock()

	s.publish.Lock()
	defer s.publish.Unlock()
	drafts := s.translate(ev, recent)
	for i := range drafts {
		drafts[i].encode()
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	if ev.Type != run.EventUpdated {
		h.activate(ev, s)
		defer h.settle(ev, s)
	}
	for i := range drafts {
		h.send(s, ev, &drafts[i])
	}
}

// Announce tells every client that a load generator has joined, left or is lost, whatever run it follows. It never
// waits for a client.
func (h *Hub) Announce(c run.WorkerChange) {
	state := startupOver
	if c.What == changeJoined {
		state = startupReady
	}
	d := draft{kind: kindStartup, service: c.Worker.Name, payload: startupPayload{state, c.What, c.Reason, c.Worker}}
	d.encode()
	h.mu.Lock()
	defer h.mu.Unlock()
	m := message{kind: d.kind, data: d.finish(run.Event{At: c.At}, 0)}
	m.body = m.data[len(m.data)-1-len(d.body) : len(m.data)-1]
	for s := range h.subscriptions {
		if !s.events {
			s.enqueueWanted(m)
		}
	}
	h.change(m)
}

// change offers a message to the clients that follow the changes of all runs. The lock must be held.
func (h *Hub) change(m message) {
	h.changes.seq++
	m.id = eventID{h.changes.seq, h.changes.epoch}
	h.changes.keep(m)
	for c := range h.subscriptions {
		h.dropped += c.offer(m, allChanges, false)
	}
}

// activate updates the list of active runs, before the messages are sent.
func (h *Hub) activate(ev run.Event, s *stream) {
	if ev.Run != nil {
		s.study = ev.Run.Study != nil
	}
	if ev.Run != nil && !s.study && ev.Run.State.Active() && !s.done && !slices.Contains(h.active, ev.RunID) {
		h.active = append(h.active, ev.RunID)
	}
}

// send numbers a message, keeps it, and offers it to every client.
func (h *Hub) send(s *stream, ev run.Event, d *draft) {
	s.seq++
	m := message{kind: d.kind, run: ev.RunID, id: eventID{s.seq, s.epoch}, key: d.key(ev.RunID), data: d.finish(ev, s.seq)}
	m.body = m.data[len(m.data)-1-len(d.body) : len(m.data)-1]
	s.keep(m)
	current := h.current()
	for c := range h.subscriptions {
		h.dropped += c.offer(m, ev.RunID, ev.RunID == current)
	}
	if d.kind != kindQueued && d.kind != kindRunState && d.kind != kindUpdated && d.kind != kindDeleted {
		return
	}
	h.change(m)
}

// settle ends what ends with an event, after its messages were sent.
func (h *Hub) settle(ev run.Event, s *stream) {
	terminal := ev.Run != nil && ev.Run.State.Terminal()
	if terminal && !s.ended {
		s.ended = true
		h.finished[ev.Run.State]++
	}
	if terminal {
		for _, w := range h.waiters[ev.RunID] {
			close(w)
		}
		delete(h.waiters, ev.RunID)
	}
	switch {
	case ev.Type == run.EventDeleted:
		h.finish(ev.RunID, "run deleted")
		delete(h.streams, ev.RunID)
		h.forget(ev.RunID)
	case ev.Type == run.EventComplete, terminal && !s.study && !slices.Contains(h.active, ev.RunID):
		// A run that never became active may end without EventComplete.
		s.done = true
		h.finish(ev.RunID, "run finished")
		h.forget(ev.RunID)
		h.ended = append(h.ended, ev.RunID)
		if len(h.ended) > endedStreams {
			delete(h.streams, h.ended[0])
			h.ended = h.ended[1:]
		}
	}
}

// finish ends the subscriptions that end with a run, for a reason.
func (h *Hub) finish(id, why string) {
	for c := range h.subscriptions {
		c.finish(id, why)
	}
}

// forget removes a run from the lists.
func (h *Hub) forget(id string) {
	is := func(other string) bool { return other == id }
	h.active = slices.DeleteFunc(h.active, is)
	h.ended = slices.DeleteFunc(h.ended, is)
}

// current returns the run that a client follows unless it names one: the active
// run that started last, else the one that ended last. It is empty if there is
// none. The lock must be held.
func (h *Hub) current() string {
	if n := len(h.active); n > 0 {
		return h.active[n-1]
	}
	for _, id := range slices.Backward(h.ended) {
		if s := h.streams[id]; s != nil && !s.study {
			return id
		}
	}
	return ""
}

// lookup returns the current run, and whether messages of a run are kept.
func (h *Hub) lookup(id string) (current string, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current(), h.streams[id] != nil
}

// keep appends a message to the ring and removes the oldest ones above the bounds.
func (s *stream) keep(m message) {
	s.ring = append(s.ring, m)
	s.bytes += len(m.data)
	drop := 0
	for len(s.ring)-drop > ringMessages || s.bytes > ringBytes && len(s.ring)-drop > 1 {
		s.bytes -= len(s.ring[drop].data)
		drop++
	}
	clear(s.ring[:drop])
	s.ring = s.ring[drop:]
	if m.key != "" {
		s.latest[m.key] = m
	}
}

// observe records the totals of an event's snapshot and returns those of the
// recent window.
func (s *stream) observe(ev run.Event) wire.Recent {
	if ev.Snapshot != nil {
		now := sample{at: ev.At}
		for i := range ev.Snapshot.Phases {
			now.completed += ev.Snapshot.Phases[i].Stats.Completed
			now.errors += ev.Snapshot.Phases[i].Stats.Errors
		}
		s.samples = append(s.samples, now)
	}
	return s.recent(ev.At)
}

func (s *stream) recent(now time.Time) wire.Recent {
	// The counts of the window start at the last sample before it.
	for len(s.samples) > 1 && now.Sub(s.samples[1].at) >= recentWindow {
		s.samples = s.samples[1:]
	}
	if len(s.samples) == 0 {
		return wire.Recent{}
	}
	last, first := s.samples[len(s.samples)-1], s.samples[0]
	if now.Sub(first.at) < recentWindow {
		first = sample{}
	}
	return wire.Recent{Completed: last.completed - first.completed, Errors: last.errors - first.errors}
}

// Recent returns the counts of requests of a run in the last ten seconds; zero for
// an unknown run.
func (h *Hub) Recent(id string, now time.Time) wire.Recent {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.streams[id]; s != nil {
		return s.recent(now)
	}
	return wire.Recent{}
}

// Await waits until a run is terminal or ctx ends. ended reports whether
// the run is terminal; it is called once, after the hub has registered the wait.
func (h *Hub) Await(ctx context.Context, id string, ended func() bool) error {
	w := make(chan struct{})
	h.mu.Lock()
	h.waiters[id] = append(h.waiters[id], w)
	h.mu.Unlock()
	defer h.stopWaiting(id, w)
	if ended() {
		return nil
	}
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for run %s: %w", id, ctx.Err())
	}
}

func (h *Hub) stopWaiting(id string, w chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := slices.DeleteFunc(h.waiters[id], func(o chan struct{}) bool { return o == w })
	if len(rest) == 0 {
		delete(h.waiters, id)
		return
	}
	h.waiters[id] = rest
}

// Counts are the hub's own totals.
type Counts struct {
	Clients  int                   // of the WebSocket
	Streams  int                   // of server-sent events
	Dropped  int64                 // messages dropped because clients read too slowly
	Finished map[bench.State]int64 // runs that became terminal, since the hub was made
}

// Counts returns the current totals.
func (h *Hub) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	streams := 0
	for c := range h.subscriptions {
		if c.events {
			streams++
		}
	}
	return Counts{Clients: len(h.subscriptions) - streams, Streams: streams, Dropped: h.dropped, Finished: maps.Clone(h.finished)}
}

// Reserve takes a slot for a client; false if there is none or the hub is shutting
// down. The caller must pass the slot on to [Handler.Connect] or [Hub.Release].
func (h *Hub) Reserve() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing != nil || h.reserved >= h.maxClients {
		return false
	}
	h.reserved++
	return true
}

// Release returns a slot.
func (h *Hub) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reserved--
	if h.closing != nil && h.reserved == 0 {
		close(h.idle)
	}
}

// remove ends a subscription.
func (h *Hub) remove(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subscriptions, s)
}

// Shutdown closes every client with a close code and waits until those of the WebSocket
// are disconnected or ctx ends. It must be called once.
func (h *Hub) Shutdown(ctx context.Context, code int, text string) error {
	h.mu.Lock()
	h.closing = &closing{code: code, text: text}
	for c := range h.subscriptions {
		c.close(code, text)
	}
	if h.reserved == 0 {
		close(h.idle)
	}
	h.mu.Unlock()
	select {
	case <-h.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close feed clients: %w", ctx.Err())
	}
}
