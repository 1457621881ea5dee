package feed

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// What a client can follow without naming a run.
const (
	currentRun = "current"
	everyRun   = "*"
	allChanges = "" // the changes of all runs, see Hub.changes
)

// Close codes of RFC 6455.
const (
	closeNormal          = 1000
	closeUnsupportedData = 1003
	closePolicyViolation = 1008
	closeMessageTooBig   = 1009
	closeTryAgainLater   = 1013
)

// closing is how a connection is to be closed.
type closing struct {
	code int // of RFC 6455
	text string
	// complete means that the connection ends after the replay, if there is one.
	complete bool
}

// replay is a run whose messages are read from its ring instead of the queue.
type replay struct {
	run  string
	next uint64
}

// replayBatch is the number of messages taken from a ring at once.
const replayBatch = 64

// subscription is what one client wants, and the messages that wait for it: a
// bounded queue, a replay, and the end of the connection. The hub offers messages
// to it, a connection takes them. It performs no I/O. All methods are safe for
// concurrent use unless they name the locks that the caller must hold; the hub's
// lock is taken before the one of a subscription.
type subscription struct {
	hub    *Hub
	wake   chan struct{} // capacity 1: there is something to take
	events bool          // of server-sent events: it ends with the run that it follows

	mu      sync.Mutex
	all     bool            // every type is wanted
	kinds   map[string]bool // the types that are wanted
	run     string          // an id, currentRun, everyRun or allChanges
	queue   []message
	bytes   int // of queue
	replay  *replay
	closing *closing
}

// newSubscription registers a subscription that follows the current run and wants
// nothing yet. [Hub.remove] ends it.
func newSubscription(h *Hub) *subscription {
	s := &subscription{hub: h, wake: make(chan struct{}, 1), kinds: map[string]bool{}, run: currentRun}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(s)
	return s
}

// add registers a subscription. The lock must be held.
func (h *Hub) add(s *subscription) {
	h.subscriptions[s] = struct{}{}
	if h.closing != nil {
		s.close(h.closing.code, h.closing.text)
	}
}

// take returns the next messages. If there are none and the result is not nil, the
// connection must be closed.
func (s *subscription) take() ([]message, *closing) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		batch := s.queue
		s.queue, s.bytes = nil, 0
		return batch, nil
	}
	if s.closing == nil || s.closing.complete {
		if batch := s.takeReplay(); len(batch) > 0 {
			return batch, nil
		}
	}
	return nil, s.closing
}

// takeReplay returns the next messages of a replay. Both locks must be held.
func (s *subscription) takeReplay() []message {
	for s.replay != nil {
		kept := s.hub.kept(s.replay.run)
		if kept == nil || s.replay.next > kept.seq {
			s.replay = nil // caught up; from now on messages come through the queue
			return nil
		}
		if s.replay.next < kept.ring[0].id.seq {
			s.giveUp()
			batch := s.queue
			s.queue, s.bytes = nil, 0
			return batch
		}
		part := kept.ring[s.replay.next-kept.ring[0].id.seq:]
		part = part[:min(replayBatch, len(part))]
		s.replay.next += uint64(len(part))
		if batch := slices.DeleteFunc(slices.Clone(part), func(m message) bool { return !s.wants(m.kind) }); len(batch) > 0 {
			return batch
		}
	}
	return nil
}

// wants reports whether the client subscribed to a type. The lock must be held.
func (s *subscription) wants(kind string) bool { return s.all || s.kinds[kind] }

// subscribed reports whether the client subscribed to a type.
func (s *subscription) subscribed(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wants(kind)
}

// offer queues a message of a stream (a run, or allChanges) if the client wants it, and
// returns the number of messages that were dropped. current reports whether the stream
// is the current run. The hub's lock must be held.
func (s *subscription) offer(m message, from string, current bool) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.follow(from, current) || !s.wants(m.kind) {
		return 0
	}
	if s.replay != nil && s.replay.run == from {
		s.signal()
		return 0
	}
	return s.enqueue(m)
}

// follow reports whether the client follows a stream; see offer. The lock must be held.
func (s *subscription) follow(from string, current bool) bool {
	return s.run == from || s.run == currentRun && current || s.run == everyRun && from != allChanges
}

// awaits reports whether the client follows a run and wants a type of messages.
func (s *subscription) awaits(kind, from string, current bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow(from, current) && s.wants(kind)
}

// enqueue adds a message and returns the number of messages that were dropped. It
// replaces an older message with the same key, which does not count as dropped.
// If the queue is full, a message with a key is dropped, because a newer one will
// follow; for any other message the client is too slow and is closed. The lock
// must be held.
func (s *subscription) enqueue(m message) int64 {
	if s.closing != nil {
		return 0
	}
	if m.key != "" {
		if i := slices.IndexFunc(s.queue, func(old message) bool { return old.key == m.key }); i >= 0 {
			s.bytes -= len(s.queue[i].data)
			s.queue = slices.Delete(s.queue, i, i+1)
		}
	}
	if len(s.queue) < queueMessages && s.bytes+len(m.data) <= queueBytes {
		s.queue = append(s.queue, m)
		s.bytes += len(m.data)
		s.signal()
		return 0
	}
	if m.key != "" {
		return 1
	}
	lost := int64(len(s.queue)) + 1
	s.giveUp()
	return lost
}

// enqueueWanted queues a message that belongs to no run, if the client wants it.
func (s *subscription) enqueueWanted(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wants(m.kind) {
		s.enqueue(m)
	}
}

// giveUp discards the queue and closes a client that reads too slowly. The lock
// must be held.
func (s *subscription) giveUp() {
	s.queue = []message{{data: errorReply("slow_consumer", "The client reads too slowly")}}
	s.bytes = 0
	s.replay = nil
	s.closing = &closing{code: closeTryAgainLater, text: "slow consumer"}
	s.signal()
}

// reply queues a response to a message of the client.
func (s *subscription) reply(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(message{data: data})
}

// close ends the connection once the queue has been sent.
func (s *subscription) close(code int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing == nil {
		s.closing = &closing{code: code, text: text}
	}
	s.signal()
}

// finish ends server-sent events of a run: no message follows.
func (s *subscription) finish(id, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.events || s.run != id {
		return
	}
	if s.closing == nil {
		s.closing = &closing{code: closeNormal, text: why, complete: true}
	}
	s.signal()
}

// signal wakes the connection.
func (s *subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// subscribe adds types, acknowledges them, and queues what the client missed.
func (s *subscription) subscribe(d demand) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = d.follow
	for _, k := range d.known {
		if k == everyRun {
			s.all = true
		} else {
			s.kinds[k] = true
		}
	}
	shown := d.id
	if d.follow == everyRun {
		shown = everyRun
	}
	s.enqueue(message{data: encode(answer{Type: "subscribed", Kinds: d.known, Unknown: d.unknown, Run: shown})})
	gap := d.since != nil && !s.replayFrom(d.id, *d.since)
	if gap {
		s.enqueue(message{data: errorReply("gap", fmt.Sprintf("Messages after %d are no longer available", *d.since))})
	}
	// A replay contains the latest messages; sending both would break the order.
	if gap || d.snapshot && s.replay == nil {
		s.enqueueSnapshot(d)
	}
}

// unsubscribe removes types and acknowledges that.
func (s *subscription) unsubscribe(known, unknown []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range known {
		if k == everyRun {
			s.all = false
		} else {
			delete(s.kinds, k)
		}
	}
	s.enqueue(message{data: encode(answer{Type: "unsubscribed", Kinds: known, Unknown: unknown})})
}

// demand is a request to subscribe, resolved against the runs that exist.
type demand struct {
	known, unknown []string // types
	follow         string   // an id, currentRun or everyRun
	id             string   // of the run that is followed now; empty = every run, or none exists
	since          *uint64  // replay the messages after this number; nil = no replay
	snapshot       bool     // send the latest messages
	full           *draft   // the message of type snapshot; nil = not wanted
}

// replayFrom starts a replay of what came after a number; false if that is not
// available. Both locks must be held.
func (s *subscription) replayFrom(id string, seq uint64) bool {
	kept := s.hub.kept(id)
	if kept == nil || seq > kept.seq {
		return seq == 0
	}
	if len(kept.ring) > 0 && seq+1 < kept.ring[0].id.seq {
		return false
	}
	s.replay = &replay{run: id, next: seq + 1}
	s.signal()
	return true
}

// enqueueSnapshot queues the latest message of each replaceable type, and the
// message of type snapshot. Both locks must be held.
func (s *subscription) enqueueSnapshot(d demand) {
	for id, kept := range s.hub.streams {
		if id != d.id && d.follow != everyRun {
			continue
		}
		latest := make([]message, 0, len(kept.latest))
		for _, m := range kept.latest {
			if s.wants(m.kind) {
				latest = append(latest, m)
			}
		}
		slices.SortFunc(latest, func(a, b message) int { return cmp.Compare(a.id.seq, b.id.seq) })
		for _, m := range latest {
			s.enqueue(m)
		}
	}
	if d.full != nil {
		var seq uint64
		if kept := s.hub.streams[d.id]; kept != nil {
			seq = kept.seq
		}
		s.enqueue(message{kind: kindSnapshot, run: d.id, data: d.full.finish(run.Event{RunID: d.id, At: time.Now()}, seq)})
	}
}
