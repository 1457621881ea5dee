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

	"aiperfd/internal/api"
	"aiperfd/internal/api/access"
	"aiperfd/internal/run"
)

// ProcessOptions say how a daemon stops, and who supervises its process. The zero value has
// the defaults of the engine, and nobody supervises it.
type ProcessOptions struct {
	StopGrace   time.Duration // see engine.Options
	StopTimeout time.Duration // likewise

	Listener net.Listener // of the API, opened by systemd; nil = Host and Port are opened
	Notifier *Notifier    // nil = nobody is told
	Profiler string       // loopback address that serves the profiles of this process; empty = none
}

// listen returns the listener of the API.
func (p *ProcessOptions) listen(ctx context.Context, o *DaemonOptions) (api.Listener, error) {
	if p.Listener == nil {
		return listen(ctx, o.Host, o.Port, o.PortFile)
	}
	l, ok := p.Listener.(api.Listener)
	if !ok {
		return nil, fmt.Errorf("listen for the API: a listener of %s is not supported", p.Listener.Addr().Network())
	}
	if o.PortFile == "" {
		return l, nil
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(fmt.Errorf("write port file: %s has no port", l.Addr()), l.Close())
	}
	if err := writePort(o.PortFile, at.Port); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// profiles opens the address of the profiles; nil = there is none.
func (p *ProcessOptions) profiles(ctx context.Context) (net.Listener, error) {
	if p.Profiler == "" {
		return nil, nil //nolint:nilnil // documented above
	}
	return listenProfiles(ctx, p.Profiler)
}

// closeAny closes a listener unless it is nil.
func closeAny(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

// supervised tells systemd how the daemon is until life ends, and reads the files of access
// again when a signal asks for it, until ctx ends or the daemon stops.
func (d *Daemon) supervised(ctx, life context.Context) {
	n := d.process.Notifier
	select {
	case <-d.recover:
	case <-d.stopped:
		return
	case <-ctx.Done():
		return
	}
	d.noted(n.Ready())
	var watchdog sync.WaitGroup
	watchdog.Go(func() {
		d.noted(n.Watchdog(life, func() bool { return d.engine.Health().State != run.HealthFailed }))
	})
	defer watchdog.Wait()
	for {
		select {
		case <-d.reload:
			d.noted(n.Reloading())
			if d.access.Reload() && d.access.Reloads() {
				d.log.Info().Msg("tokens and certificates were read again")
			}
			d.noted(n.Ready())
		case <-d.stopped:
			d.noted(n.Stopping())
			return
		case <-ctx.Done():
			d.noted(n.Stopping())
			return
		}
	}
}

// noted logs an error of something that the daemon can do without.
func (d *Daemon) noted(err error) {
	if err != nil {
		d.log.Error().Err(err).Msg("supervision")
	}
}

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
