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
)

// The limits of a listener.
const (
	headerLimit    = 10 * time.Second
	idleLimit      = 120 * time.Second
	maxHeader      = 16 << 10
	maxConnections = 512
	shutdownLimit  = 10 * time.Second
)

// Serve answers on a listener until ctx ends or the listener fails, and closes
// it. When ctx ends, answers that are under way are finished and feed clients
// are told, for at most ten seconds. A server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(s.Log, "", 0),
	}
	failed := make(chan error, 1) // one value, so that the goroutine never waits
	var server sync.WaitGroup
	server.Go(func() { failed <- srv.Serve(newLimited(l, maxConnections)) })
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

// limited is a listener with a bounded number of open connections.
type limited struct {
	net.Listener
	places chan struct{} // one value for each open connection
	closed chan struct{}
	once   sync.Once
}

func newLimited(l net.Listener, n int) *limited {
	return &limited{Listener: l, places: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept waits for a place and then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &counted{Conn: conn, release: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted gives its place back when it is closed.
type counted struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
