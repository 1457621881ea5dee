package mock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"aiperfd/internal/engine/sockstamp"
	"aiperfd/internal/mock/front"
)

const (
	// DrainTimeout is the time that Serve gives streams to finish after the end of its context.
	DrainTimeout = 2 * time.Second
	// endTimeout is how long requests that were stopped may take to record
	// themselves before their connections are closed.
	endTimeout        = 500 * time.Millisecond
	readHeaderTimeout = 30 * time.Second
)

// ServeOptions are the options of the listener.
type ServeOptions struct {
	KeepAlive time.Duration // idle connections are closed after this; 0 = never
	TLS       *tls.Config   // nil = plain HTTP
}

// Serve serves connections of ln until ctx ends. Then it stops accepting, waits up to
// DrainTimeout for requests in service, stops the others and returns nil. It closes ln,
// but not s. TCP connections have TCP_NODELAY set, as Go's always do.
//
// On Linux a TCP listener is served by a separate thread ([front.Front]), which passes
// requests that are not plain to net/http; elsewhere, and with TLS, net/http serves
// everything. The bytes and their due times are the same.
func Serve(ctx context.Context, ln net.Listener, s *Server, opt ServeOptions) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       opt.KeepAlive,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if secure, ok := c.(*tls.Conn); ok {
				c = secure.NetConn()
			}
			return context.WithValue(ctx, connKey{}, c)
		},
		// This server aborts connections on purpose, so such errors are not logged.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	rest := front.NewHandover(ln.Addr())
	var f *front.Front
	whole := net.Listener(stamping{ln})
	if opt.TLS != nil {
		whole = tls.NewListener(whole, opt.TLS)
	} else if frontServes(s) {
		var err error
		if f, err = front.New(ln, newFrontHandler(s), rest, frontOptions(s, opt.KeepAlive)); err != nil {
			return errors.Join(fmt.Errorf("serve mock: %w", err), ln.Close())
		}
	}
	servers := []httpServer{srv}
	failed := make(chan error, 2)
	if f != nil {
		servers = []httpServer{f, srv}
		go func() { failed <- f.Serve() }()
		go func() { failed <- srv.Serve(rest) }()
	} else {
		go func() { failed <- srv.Serve(whole) }()
	}
	return await(ctx, s, servers, failed)
}

// httpServer is the common interface of [http.Server] and [front.Front].
type httpServer interface {
	Shutdown(ctx context.Context) error
	Close() error
}

// await stops the servers when ctx ends or one of them fails, and waits for them.
func await(ctx context.Context, s *Server, servers []httpServer, failed <-chan error) error {
	running := len(servers)
	var err error
	select {
	case failure := <-failed:
		running--
		err = fmt.Errorf("serve mock: %w", failure)
	case <-ctx.Done():
	}
	if stopErr := drain(ctx, servers, s); stopErr != nil {
		err = errors.Join(err, fmt.Errorf("stop mock: %w", stopErr))
	}
	for range running {
		if serveErr := <-failed; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("stop mock: %w", serveErr))
		}
	}
	return err
}

// drain stops servers in three steps: it waits for the requests in service, then stops
// s, then closes the connections.
func drain(ctx context.Context, servers []httpServer, s *Server) error {
	err := shutdown(ctx, servers, DrainTimeout)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.Stop()
	if err := shutdown(ctx, servers, endTimeout); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	err = nil
	for _, srv := range servers {
		err = errors.Join(err, srv.Close())
	}
	return err
}

// shutdown shuts servers down one after the other, within one limit for all. ctx may
// have ended already.
func shutdown(ctx context.Context, servers []httpServer, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var err error
	for _, srv := range servers {
		err = errors.Join(err, srv.Shutdown(ctx))
	}
	return err
}

// stamping is a listener whose connections record when bytes arrived.
type stamping struct{ net.Listener }

// Accept implements net.Listener.
func (l stamping) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return sockstamp.New(c), nil
}
