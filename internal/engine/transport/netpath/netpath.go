// Package netpath adds up what the kernel counts of the connections of a load: round trips, retransmissions,
// segments out of order. It reads a connection when a response has ended and when the connection is closed, never
// between a request and the last byte of its response.
package netpath

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
)

// perSecond is how many ends of responses are read per second. The counters go on in between, so that a later
// reading has what an earlier one left out; only which response it concerns is not known then.
const perSecond = 256

// Log collects the readings of the connections of a client. It is safe for concurrent use.
type Log struct {
	second atomic.Int64 // of the budget
	used   atomic.Int64 // readings of it

	mu   sync.Mutex
	open []*Window // guarded by mu
}

// Admit reports whether the end of a response may be read now.
func (l *Log) Admit(now time.Duration) bool {
	second := int64(now / time.Second)
	if old := l.second.Load(); old != second && l.second.CompareAndSwap(old, second) {
		l.used.Store(0)
	}
	return l.used.Load() < perSecond && l.used.Add(1) <= perSecond
}

// Window is the readings of some time.
type Window struct {
	log   *Log
	stats map[string]*Stat // guarded by log.mu
}

// Open begins a window.
func (l *Log) Open() *Window {
	w := &Window{log: l, stats: map[string]*Stat{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, w)
	return w
}

// Close ends the window: nothing is added any more.
func (w *Window) Close() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.open = slices.DeleteFunc(w.log.open, func(o *Window) bool { return o == w })
}

// Stats returns what was counted so far, by the name of the target.
func (w *Window) Stats() []Stat {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	out := make([]Stat, 0, len(w.stats))
	for _, s := range w.stats {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Stat) int { return cmp.Compare(a.Target, b.Target) })
	return out
}

// Stat is what the kernel counted of all connections to one target.
type Stat struct {
	Target string        // host:port
	MinRTT time.Duration // 0 = unknown
	RTTs   time.Duration // sum of the smoothed round trips of all readings
	// Connections were read for the first time, Readings is how often any was read.
	Connections, Readings int64

	Segments, Retransmitted, BytesRetransmitted, Timeouts int64
	Received, OutOfOrder, Duplicates                      int64
	Busy, RwndLimited, SndbufLimited                      time.Duration

	// Responses ended on connections of their own between readings, and Affected of them, at least, had a
	// retransmission or a segment out of order.
	Responses, Affected int64
}

// Add adds the counts of another target, or of another window.
func (s *Stat) Add(o *Stat) {
	if o.MinRTT > 0 && (s.MinRTT == 0 || o.MinRTT < s.MinRTT) {
		s.MinRTT = o.MinRTT
	}
	s.RTTs += o.RTTs
	s.Connections, s.Readings = s.Connections+o.Connections, s.Readings+o.Readings
	s.Segments, s.Retransmitted = s.Segments+o.Segments, s.Retransmitted+o.Retransmitted
	s.BytesRetransmitted, s.Timeouts = s.BytesRetransmitted+o.BytesRetransmitted, s.Timeouts+o.Timeouts
	s.Received, s.OutOfOrder, s.Duplicates = s.Received+o.Received, s.OutOfOrder+o.OutOfOrder, s.Duplicates+o.Duplicates
	s.Busy, s.RwndLimited, s.SndbufLimited = s.Busy+o.Busy, s.RwndLimited+o.RwndLimited, s.SndbufLimited+o.SndbufLimited
	s.Responses, s.Affected = s.Responses+o.Responses, s.Affected+o.Affected
}

// add adds what a connection did since it was read before.
func (l *Log) add(s *Stat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.open {
		one := w.stats[s.Target]
		if one == nil {
			one = &Stat{Target: s.Target}
			w.stats[s.Target] = one
		}
		one.Add(s)
	}
}

// Conn is what is known of one connection. Its owner guards it. The zero value is that of a client without a log.
type Conn struct {
	log    *Log
	target string
	shared bool // by several requests at a time
	read   bool // once, at least
	last   sockstamp.Info
	ended  int64 // responses since it was read
}

// NewConn returns a connection that has just been opened.
func NewConn(log *Log, target string) Conn { return Conn{log: log, target: target} }

// Share notes that several requests use the connection at a time, so that it is not known which of them a loss
// concerns.
func (c *Conn) Share() { c.shared = true }

// ResponseEnded notes the end of a response and reads the connection, if that may be done now.
func (c *Conn) ResponseEnded(now time.Duration, read func() (sockstamp.Info, bool)) bench.PathCount {
	if c.log == nil {
		return bench.PathCount{}
	}
	c.ended++
	if !c.log.Admit(now) {
		return bench.PathCount{}
	}
	info, ok := read()
	if !ok {
		return bench.PathCount{}
	}
	alone := c.ended == 1 && !c.shared
	d := c.Update(info)
	if !alone {
		return bench.PathCount{}
	}
	return bench.PathCount{Known: true, Retransmitted: int32(d.Retransmitted), OutOfOrder: int32(d.OutOfOrder)}
}

// Watched reports whether the connection is to be read when it is closed.
func (c *Conn) Watched() bool { return c.log != nil }

// Update adds a reading and returns what the connection did since the one before.
func (c *Conn) Update(now sockstamp.Info) Stat {
	was := &c.last
	d := Stat{
		Target: c.target, MinRTT: now.MinRTT, RTTs: now.RTT, Readings: 1,
		Segments: grown(now.Segments, was.Segments), Retransmitted: grown(now.Retransmitted, was.Retransmitted),
		BytesRetransmitted: int64(now.BytesRetransmitted - was.BytesRetransmitted), Timeouts: grown(now.Timeouts, was.Timeouts),
		Received: grown(now.Received, was.Received), OutOfOrder: grown(now.OutOfOrder, was.OutOfOrder),
		Duplicates: grown(now.Duplicates, was.Duplicates),
		Busy:       now.Busy - was.Busy, RwndLimited: now.RwndLimited - was.RwndLimited, SndbufLimited: now.SndbufLimited - was.SndbufLimited,
	}
	if !c.read {
		d.Connections = 1
	}
	if !c.shared {
		d.Responses = c.ended
		if c.ended > 0 && (d.Retransmitted > 0 || d.OutOfOrder > 0) {
			d.Affected = 1
		}
	}
	c.last, c.read, c.ended = now, true, 0
	c.log.add(&d)
	return d
}

// grown returns the difference of counters of 32 bits, which may wrap.
func grown(now, was uint32) int64 { return int64(now - was) }
