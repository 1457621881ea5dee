package feed

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"aiperfd/internal/run"
)

// The timing of a connection.
const (
	pingEvery      = 20 * time.Second
	silenceLimit   = 60 * time.Second
	heartbeatEvery = 5 * time.Second
	writeLimit     = 10 * time.Second
	closeLimit     = time.Second // for the peer's half of the closing handshake
	maxFrame       = 64 << 10    // bytes of a message from a client
	replayBatch    = 64          // messages taken from a ring at once
)

// Source is where a hub looks for runs of which it has heard nothing. Its
// methods are called from the goroutines of clients and may block.
type Source interface {
	// Selected returns the active run, else the one that finished last.
	Selected(ctx context.Context) (id string, ok bool)
	// Get returns a run.
	Get(ctx context.Context, id string) (*run.Run, error)
	// Snapshot returns a run's newest snapshot.
	Snapshot(ctx context.Context, id string) (*run.Snapshot, error)
	// Health returns the state of the service.
	Health() run.Health
}

// closing is how a connection is to be closed.
type closing struct {
	code int
	text string
}

// client is one WebSocket connection.
type client struct {
	hub     *Hub
	conn    *websocket.Conn
	source  Source
	version string
	wake    chan struct{} // capacity 1: there is something to write
	stop    chan struct{} // closed by the reader when it ends

	mu      sync.Mutex
	all     bool
	kinds   map[string]bool
	run     string // an id, currentRun or everyRun
	queue   []message
	bytes   int
	replay  *replay
	closing *closing
}

// replay is a run whose messages are read from its ring instead of the queue.
type replay struct {
	run  string
	next uint64
}

// The runs that a client can follow without naming one.
const (
	currentRun = "current"
	everyRun   = "*"
)

// Serve talks with one client until either side closes, and releases the place
// that [Hub.Reserve] took. version is how snapshots name this program.
func (h *Hub) Serve(ctx context.Context, conn *websocket.Conn, source Source, version string) {
	defer h.Release()
	defer conn.Close()
	c := &client{
		hub: h, conn: conn, source: source, version: version, wake: make(chan struct{}, 1),
		stop: make(chan struct{}), kinds: map[string]bool{}, run: currentRun,
	}
	h.mu.Lock()
	h.clients[c] = struct{}{}
	if h.closing != nil {
		c.close(h.closing.code, h.closing.text)
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.clients, c)
		h.mu.Unlock()
	}()

	var writer sync.WaitGroup
	writer.Go(c.write)
	c.read(ctx)
	close(c.stop)
	writer.Wait()
}

// read handles the client's messages until the connection ends.
func (c *client) read(ctx context.Context) {
	alive := func(string) error { return c.conn.SetReadDeadline(time.Now().Add(silenceLimit)) }
	c.conn.SetPongHandler(alive)
	c.conn.SetReadLimit(16 * maxFrame) // beyond this not even an error message is sent
	for {
		if alive("") != nil {
			return
		}
		kind, r, err := c.conn.NextReader()
		if err != nil {
			return
		}
		data, err := io.ReadAll(io.LimitReader(r, maxFrame+1))
		switch {
		case err != nil:
			return
		case kind == websocket.BinaryMessage:
			c.close(websocket.CloseUnsupportedData, "text frames only")
		case len(data) > maxFrame:
			c.reply(errorReply("too_large", "Messages are limited to 64 KiB"))
			c.close(websocket.CloseMessageTooBig, "message too large")
		default:
			c.handle(ctx, data)
		}
	}
}

// write sends what is queued, pings and heartbeats until the connection ends.
func (c *client) write() {
	ping, beat := time.NewTicker(pingEvery), time.NewTicker(heartbeatEvery)
	defer ping.Stop()
	defer beat.Stop()
	for {
		if !c.flush() {
			return
		}
		select {
		case <-c.stop:
			return
		case <-c.wake:
		case <-beat.C:
			c.heartbeat()
		case <-ping.C:
			if c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeLimit)) != nil {
				c.conn.Close()
				return
			}
		}
	}
}

// flush writes everything there is; false ends the writer.
func (c *client) flush() bool {
	for {
		batch, end := c.take()
		for _, m := range batch {
			if err := c.send(m.data); err != nil {
				c.conn.Close() // wakes the reader
				return false
			}
		}
		if len(batch) > 0 {
			continue
		}
		if end == nil {
			return true
		}
		frame := websocket.FormatCloseMessage(end.code, end.text)
		err := c.conn.WriteControl(websocket.CloseMessage, frame, time.Now().Add(writeLimit))
		if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
			c.conn.Close()
			return false
		}
		c.awaitPeer()
		return false
	}
}

// awaitPeer gives the client a moment to answer a close frame, so that the
// connection is not reset before it was read.
func (c *client) awaitPeer() {
	timer := time.NewTimer(closeLimit)
	defer timer.Stop()
	select {
	case <-c.stop:
	case <-timer.C:
		c.conn.Close()
	}
}

func (c *client) send(data []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	return c.conn.WriteMessage(websocket.TextMessage, data)
}

// take returns the next messages; none and a closing means: close now.
func (c *client) take() ([]message, *closing) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		batch := c.queue
		c.queue, c.bytes = nil, 0
		return batch, nil
	}
	if c.closing != nil {
		return nil, c.closing
	}
	return c.takeReplay(), nil
}

// takeReplay returns the next messages of a replay. Both locks must be held.
func (c *client) takeReplay() []message {
	for c.replay != nil {
		s := c.hub.streams[c.replay.run]
		if s == nil || c.replay.next > s.seq {
			c.replay = nil // caught up; from now on messages come through the queue
			return nil
		}
		if c.replay.next < s.ring[0].seq {
			c.slow()
			batch := c.queue
			c.queue, c.bytes = nil, 0
			return batch
		}
		from := int(c.replay.next - s.ring[0].seq)
		part := s.ring[from:min(from+replayBatch, len(s.ring))]
		c.replay.next += uint64(len(part))
		if batch := slices.DeleteFunc(slices.Clone(part), func(m message) bool { return !c.wants(m.kind) }); len(batch) > 0 {
			return batch
		}
	}
	return nil
}

// wants reports whether the client subscribed to a type. Its lock must be held.
func (c *client) wants(kind string) bool { return c.all || c.kinds[kind] }

// offer queues a message of a run if the client wants it. It returns how many
// messages the client lost by it. The hub's lock must be held.
func (c *client) offer(m message, current bool) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.wants(m.kind) || c.run == currentRun && !current || c.run != currentRun && c.run != everyRun && c.run != m.run {
		return 0
	}
	if c.replay != nil && c.replay.run == m.run {
		c.signal()
		return 0
	}
	return c.enqueue(m)
}

// enqueue adds a message, in place of an older one of its key. A message that
// does not fit is lost if it will be replaced anyway; else the client is too
// slow and is closed. It returns how many messages were lost; replaced ones do
// not count. The client's lock must be held.
func (c *client) enqueue(m message) int64 {
	if c.closing != nil {
		return 0
	}
	if m.key != "" {
		if i := slices.IndexFunc(c.queue, func(old message) bool { return old.key == m.key }); i >= 0 {
			c.bytes -= len(c.queue[i].data)
			c.queue = slices.Delete(c.queue, i, i+1)
		}
	}
	if len(c.queue) < queueMessages && c.bytes+len(m.data) <= queueBytes {
		c.queue = append(c.queue, m)
		c.bytes += len(m.data)
		c.signal()
		return 0
	}
	if m.key != "" {
		return 1
	}
	lost := int64(len(c.queue)) + 1
	c.slow()
	return lost
}

// slow gives a client up that does not keep pace. Its lock must be held.
func (c *client) slow() {
	c.queue = []message{{data: errorReply("slow_consumer", "The client reads too slowly")}}
	c.bytes = 0
	c.replay = nil
	c.closing = &closing{code: websocket.CloseTryAgainLater, text: "slow consumer"}
	c.signal()
}

// reply queues an answer to the client itself.
func (c *client) reply(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enqueue(message{data: data})
}

// close asks the writer to send what is queued and then a close frame.
func (c *client) close(code int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing == nil {
		c.closing = &closing{code: code, text: text}
	}
	c.signal()
}

// signal wakes the writer.
func (c *client) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// heartbeat queues a sign of life for those who subscribed to it.
func (c *client) heartbeat() {
	d := draft{
		kind: kindHeartbeat, service: fromSystem,
		payload: heartbeatPayload{State: c.source.Health().State, Service: fromSystem},
	}
	d.encode()
	m := message{kind: d.kind, key: d.key(""), data: d.finish(run.Event{At: time.Now()}, 0)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wants(kindHeartbeat) {
		c.enqueue(m)
	}
}
