package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"aiperfd/internal/api"
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
