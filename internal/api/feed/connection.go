package feed

import (
	"context"
	"errors"
	"io"
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
	closeLimit     = time.Second // for the client's close frame
	handshakeLimit = 30 * time.Second
	maxFrame       = 64 << 10 // bytes of a message from a client
)

// connection is the WebSocket of one client. Its reader is the goroutine of
// [Handler.Connect]; its writer sends what the subscription has queued.
type connection struct {
	handler *Handler
	conn    *websocket.Conn
	sub     *subscription
	stop    chan struct{} // closed by the reader when it ends
}

// serveWebSocket serves one client until either side closes the connection, and releases
// the slot that [Hub.Reserve] took. The end of ctx closes the connection: the client has
// lost access.
func (h *Handler) serveWebSocket(ctx context.Context, conn *websocket.Conn) {
	defer h.Hub.Release()
	defer conn.Close()
	c := &connection{handler: h, conn: conn, sub: newSubscription(h.Hub), stop: make(chan struct{})}
	defer h.Hub.remove(c.sub)
	defer context.AfterFunc(ctx, func() { c.sub.close(closePolicyViolation, "access has ended") })()
	var writer sync.WaitGroup
	writer.Go(c.write)
	c.read(ctx)
	close(c.stop)
	writer.Wait()
}

// read handles the client's messages until the connection ends.
func (c *connection) read(ctx context.Context) {
	alive := func(string) error { return c.conn.SetReadDeadline(time.Now().Add(silenceLimit)) }
	c.conn.SetPongHandler(alive)
	c.conn.SetReadLimit(16 * maxFrame) // larger messages end the connection without an error message
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
			c.sub.close(closeUnsupportedData, "text frames only")
		case len(data) > maxFrame:
			c.sub.reply(errorReply("too_large", "Messages are limited to 64 KiB"))
			c.sub.close(closeMessageTooBig, "message too large")
		default:
			c.handle(ctx, data)
		}
	}
}

// write sends queued messages, pings and heartbeats until the connection ends.
func (c *connection) write() {
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
		case <-c.sub.wake:
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

// flush writes all queued messages; false ends the writer.
func (c *connection) flush() bool {
	for {
		batch, end := c.sub.take()
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

// awaitPeer waits a moment for the client's close frame, so that the connection is
// not reset before the client has read ours.
func (c *connection) awaitPeer() {
	timer := time.NewTimer(closeLimit)
	defer timer.Stop()
	select {
	case <-c.stop:
	case <-timer.C:
		c.conn.Close()
	}
}

func (c *connection) send(data []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	return c.conn.WriteMessage(websocket.TextMessage, data)
}

// heartbeat queues a message of type heartbeat, if the client subscribed to it.
func (c *connection) heartbeat() {
	d := draft{
		kind: kindHeartbeat, service: fromSystem,
		payload: heartbeatPayload{State: c.handler.State(), Service: fromSystem},
	}
	d.encode()
	m := message{kind: d.kind, key: d.key(""), data: d.finish(run.Event{At: time.Now()}, 0)}
	c.sub.enqueueWanted(m)
}
