package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rs/zerolog"

	"aiperfd/internal/api/listen"
	"aiperfd/internal/api/wire"
)

// shutdownLimit is the time that responses in progress have when the server stops.
const shutdownLimit = 10 * time.Second

// Serve serves on a listener until ctx ends or the listener fails, which is its error, and
// closes it. When ctx ends, responses in progress are completed and feed clients receive a
// close frame, for at most ten seconds; then their connections are closed. It must be called
// once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	bounded := listen.New(l, s.Limits.Connections)
	srv := &http.Server{
		Handler: s.router, ReadHeaderTimeout: s.Limits.HeaderTimeout, IdleTimeout: s.Limits.IdleTimeout,
		MaxHeaderBytes: s.Limits.Header, HTTP2: http2Limits(), ConnState: bounded.ConnState, ConnContext: bounded.ConnContext,
		ErrorLog: log.New(serverLog{s.Log}, "", 0),
	}
	failed := make(chan error, 1) // one value, so that the goroutine never blocks
	var server sync.WaitGroup
	server.Go(func() { failed <- srv.Serve(s.Access.Listener(bounded)) })
	defer server.Wait()
	sending, stop := context.WithCancel(ctx)
	defer stop()
	server.Go(func() { s.Hub.SendTelemetry(sending, s.serversOf, s.devicesOf) })
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
		srv.Close() // the connections of clients that are slow to read
		s.Log.Warn().Err(err).Dur("limit", shutdownLimit).Msg("stopping: the API is closed; connections of slow clients were cut")
		return nil
	}
	s.Log.Info().Msg("stopping: the API is closed")
	return nil
}

// serversOf returns what clients get of the servers of an active run; nil = nothing.
func (s *Server) serversOf(ctx context.Context, id string) any {
	found, err := s.find.Find(ctx, id)
	if err != nil || found == nil {
		return nil
	}
	all, err := s.History.ServerSummaries(ctx, found)
	if err != nil || len(all) == 0 {
		return nil
	}
	return wire.ServerMetrics{Endpoints: all}
}

// devicesOf returns what clients get of the GPUs of an active run; nil = nothing.
func (s *Server) devicesOf(ctx context.Context, id string) any {
	found, err := s.find.Find(ctx, id)
	if err != nil || found == nil {
		return nil
	}
	all, err := s.History.Devices(ctx, found)
	if err != nil {
		return nil
	}
	if records := wire.NewGPURecords(all); records != nil {
		return records
	}
	return nil
}

// serverLog takes the messages of net/http. Everybody who can reach the listener can cause
// failed handshakes, so they are not worth more than a line for debugging.
type serverLog struct{ log zerolog.Logger }

// Write implements io.Writer.
func (l serverLog) Write(line []byte) (int, error) {
	level := zerolog.WarnLevel
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = zerolog.DebugLevel
	}
	l.log.WithLevel(level).Msg(string(bytes.TrimSpace(line)))
	return len(line), nil
}

// http2Limits bounds what a connection of HTTP/2 can hold: the bound on connections would
// otherwise allow 250 requests and 1 MiB of unread bodies on each.
func http2Limits() *http.HTTP2Config {
	const stream = 64 << 10 // bytes, the least of the protocol
	return &http.HTTP2Config{MaxConcurrentStreams: 32, MaxReceiveBufferPerStream: stream, MaxReceiveBufferPerConnection: 2 * stream}
}

// closeCode returns the WebSocket close code for the end of the process.
func (s *Server) closeCode(ctx context.Context) (int, string) {
	if s.OneShot {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if run, err := s.find.Find(ctx, ""); err == nil && run != nil && run.State.Terminal() {
			return websocket.CloseNormalClosure, "run finished"
		}
	}
	return websocket.CloseGoingAway, "shutting down"
}
