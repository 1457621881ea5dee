package mock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"aiperfd/internal/engine/sockstamp"
)

const (
	// DrainTimeout is how long Serve lets streams finish after its context ended.
	DrainTimeout = 2 * time.Second
	// endTimeout is how long requests that were stopped may take to record
	// themselves before their connections are closed.
	endTimeout        = 500 * time.Millisecond
	readHeaderTimeout = 30 * time.Second
)

// ServeOptions sets what belongs to the listener rather than to the answers.
type ServeOptions struct {
	KeepAlive time.Duration // idle connections are closed after this; 0 = never
}

// Serve answers connections of ln until ctx ends. Then it stops accepting, lets
// requests in service finish for up to DrainTimeout, stops the rest and returns
// nil. It closes ln, but not s. TCP connections have TCP_NODELAY set, as Go's
// always do.
func Serve(ctx context.Context, ln net.Listener, s *Server, opt ServeOptions) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       opt.KeepAlive,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		// Aborted connections are the business of this server, not news.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(stamping{ln}) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve mock: %w", err)
	case <-ctx.Done():
	}
	err := drain(srv, s)
	if serveErr := <-failed; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	if err != nil {
		return fmt.Errorf("stop mock: %w", err)
	}
	return nil
}

// drain ends srv in three steps: by itself, by stopping s, by closing
// connections.
func drain(srv *http.Server, s *Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), DrainTimeout)
	defer cancel()
	err := srv.Shutdown(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.Stop()
	ctx, cancel = context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return srv.Close()
}

// stamping makes the connections of a listener tell when bytes arrived.
type stamping struct{ net.Listener }

// Accept implements net.Listener.
func (l stamping) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return sockstamp.New(c), nil
}
