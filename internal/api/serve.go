package api

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// The limits of a listener.
const (
	headerLimit    = 10 * time.Second
	idleLimit      = 120 * time.Second
	maxHeader      = 16 << 10
	maxConnections = 512
	shutdownLimit  = 10 * time.Second
)

// Serve serves on a listener until ctx ends or the listener fails, and closes it.
// When ctx ends, responses in progress are completed and feed clients receive a
// close frame, for at most ten seconds. It must be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.router, ReadHeaderTimeout: headerLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(s.Log, "", 0),
	}
	failed := make(chan error, 1) // one value, so that the goroutine never blocks
	var server sync.WaitGroup
	server.Go(func() { failed <- srv.Serve(s.Access.Listener(newLimited(l, maxConnections))) })
	defer server.Wait()
	select {
	case err := <-failed:
		return fmt.Errorf("serve API on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	code, text := s.closeCode(ending)
	var feedErr error
	var feeds sync.WaitGroup
	feeds.Go(func() { feedErr = s.Hub.Shutdown(ending, code, text) })
	err := srv.Shutdown(ending)
	feeds.Wait()
	if err = errors.Join(err, feedErr); err != nil {
		srv.Close()
		return fmt.Errorf("stop API on %s: %w", l.Addr(), err)
	}
	return nil
}

// closeCode returns the WebSocket close code for the end of the process.
func (s *Server) closeCode(ctx context.Context) (int, string) {
	if s.OneShot {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if run, err := s.find(ctx, ""); err == nil && run != nil && run.State.Terminal() {
			return websocket.CloseNormalClosure, "run finished"
		}
	}
	return websocket.CloseGoingAway, "shutting down"
}

// limited is a listener with a bounded number of open connections.
type limited struct {
	net.Listener
	slots  chan struct{} // one value per open connection
	closed chan struct{}
	once   sync.Once
}

func newLimited(l net.Listener, n int) *limited {
	return &limited{Listener: l, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept waits for a slot and then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// slotConn returns its slot when it is closed.
type slotConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *slotConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
