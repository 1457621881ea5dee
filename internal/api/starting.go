package api

import (
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/listen"
	"aiperfd/internal/api/respond"
)

// Listener is a listener whose Accept can be interrupted by a deadline, as those of package
// net for TCP and Unix sockets.
type Listener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// ServeStarting answers on a listener until stop is called, while the service that is to
// be served is being made: /healthz with 200, /readyz with 503 and everything else with a
// problem. The listener remains open, and [Server.Serve] can accept from it after stop.
// A connection that was accepted before gets its response: it lasts for one request, and
// ends if the client is slow to send it.
func ServeStarting(l Listener, guard *access.Guard, limits Limits, logger zerolog.Logger) (stop func() error) {
	limits = limits.orDefaults()
	bounded := listen.New(interruptible{l}, limits.Connections)
	srv := &http.Server{
		Handler: startingHandler(&respond.Responder{Log: logger}), ReadTimeout: limits.HeaderTimeout, WriteTimeout: stepLimit,
		IdleTimeout: limits.HeaderTimeout, MaxHeaderBytes: limits.Header, HTTP2: http2Limits(),
		ConnState: bounded.ConnState, ConnContext: bounded.ConnContext, ErrorLog: log.New(serverLog{logger}, "", 0),
	}
	var server sync.WaitGroup
	server.Go(func() { _ = srv.Serve(guard.Listener(bounded)) }) // if it fails, so does the service
	return func() error {
		// Not srv.Shutdown, which closes connections whose request has just arrived.
		if err := l.SetDeadline(time.Unix(1, 0)); err != nil {
			return err
		}
		server.Wait()
		return l.SetDeadline(time.Time{})
	}
}

// startingHandler closes every connection, because the next request may be one for the
// service itself.
func startingHandler(out *respond.Responder) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Connection", "close")
		h.Set("X-Content-Type-Options", "nosniff")
		if !probe(r) {
			out.WriteProblem(w, r, respond.ErrStarting)
			return
		}
		h.Set("Cache-Control", respond.NoStore)
		h.Set("Content-Type", "text/plain; charset=utf-8")
		if r.URL.Path == "/healthz" {
			out.Write(w, http.StatusOK, []byte("ok"))
			return
		}
		out.Write(w, http.StatusServiceUnavailable, []byte("not ready"))
	})
}

// interruptible is a listener that stays open. It ends its server at its deadline.
type interruptible struct{ Listener }

// Accept implements net.Listener.
func (l interruptible) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = net.ErrClosed // net/http would try again
	}
	return c, err
}

// Close implements net.Listener.
func (interruptible) Close() error { return nil }
