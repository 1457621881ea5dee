package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"sync"
	"time"

	"aiperfd/internal/api/access"
)

// The limits of the server.
const (
	profileHeaderLimit = 10 * time.Second
	profileStopLimit   = time.Second // profiles that take longer are cut at the end of the process
)

// CheckProfiler returns an error unless an address is a loopback address with a port.
func CheckProfiler(addr string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return errors.New("must be an IP address with a port, such as 127.0.0.1:6060")
	}
	if !at.Addr().Unmap().IsLoopback() {
		return errors.New("must be a loopback address, such as 127.0.0.1:6060: profiles show the memory of the process to everybody who can reach them")
	}
	return nil
}

// listenProfiles opens a loopback address for the profiles.
func listenProfiles(ctx context.Context, addr string) (net.Listener, error) {
	if err := CheckProfiler(addr); err != nil {
		return nil, fmt.Errorf("listen for profiles on %s: %w", addr, err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for profiles: %w", err)
	}
	return l, nil
}

// serveProfiles serves the profiles of this process (net/http/pprof) until ctx ends, and closes the listener.
func serveProfiles(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: profileHandler(), ReadHeaderTimeout: profileHeaderLimit, IdleTimeout: time.Minute}
	failed := make(chan error, 1) // one value, so that the goroutine never blocks
	var server sync.WaitGroup
	server.Go(func() { failed <- srv.Serve(l) })
	defer server.Wait()
	select {
	case err := <-failed:
		return fmt.Errorf("serve profiles: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), profileStopLimit)
	defer cancel()
	if err := srv.Shutdown(ending); err != nil {
		return srv.Close()
	}
	return nil
}

// profileHandler serves the profiles to clients that use a loopback name, which pages of other
// sites cannot do (DNS rebinding).
func profileHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !access.Loopback(host) {
			http.Error(w, "the Host header must be a loopback address", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
