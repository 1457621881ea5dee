package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/api"
	"aiperfd/internal/api/access"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/store"
)

// The times to open and to close a data directory are bounded.
const (
	storeOpenLimit  = 30 * time.Second
	storeCloseLimit = 10 * time.Second
)

// Daemon is the service behind serve and demo: an engine, its API and a data
// directory. Make one with [OpenDaemon].
type Daemon struct {
	*app
	simulator *simulator
	db        *store.Store
	process   ProcessOptions
	log       zerolog.Logger
	profiles  net.Listener     // nil = none
	reload    <-chan os.Signal // makes the guard read its files again; nil = nothing does
}

// OpenDaemon opens the port and the data directory of a daemon. The caller must
// call [Daemon.Run], which closes both.
func OpenDaemon(ctx context.Context, o DaemonOptions) (*Daemon, error) {
	if o.Access == nil {
		var err error
		if o.Access, err = access.New(access.Options{Host: o.Host, Log: o.Log}); err != nil {
			return nil, err
		}
	}
	ln, err := o.Process.listen(ctx, &o)
	if err != nil {
		return nil, err
	}
	profiles, err := o.Process.profiles(ctx)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	db, err := openStore(ctx, ln, &o)
	if err != nil {
		return nil, errors.Join(err, ln.Close(), closeAny(profiles))
	}
	for _, w := range db.Warnings() {
		o.Log.Warn().Msg(w)
	}
	o.Limits.Caps.Memory = requestMemory()
	o.Load.Untrusted, o.Load.Choices = true, plan.Choices()
	if files, ok := monitor.FileLimit(); ok {
		o.Limits.Caps.Connections = monitor.Connections(files)
	}
	o.Load.Reach.Targets = o.Targets.list(ln)
	if o.Load.Reach.Targets.Closed() {
		o.Log.Warn().Msg("the API listens on a network address and no target is allowed: every submitted document is refused; see --allow-target")
	}
	workers, err := openFleet(ctx, o.Bus, o.Version, o.Log)
	if err != nil {
		return nil, errors.Join(err, ln.Close(), closeAny(profiles), db.Close())
	}
	sim := &simulator{targets: o.Load.Reach.Targets}
	a, err := newApp(options{DaemonOptions: o, fleet: workers, store: db, listener: ln, downloads: downloads(ln), db: db, simulator: sim})
	if err != nil {
		workers.close()
		return nil, errors.Join(err, ln.Close(), closeAny(profiles), db.Close())
	}
	return &Daemon{app: a, simulator: sim, db: db, process: o.Process, log: o.Log, profiles: profiles}, nil
}

// openStore opens the data directory. Meanwhile the listener answers that the service is
// not ready.
func openStore(ctx context.Context, ln api.Listener, o *DaemonOptions) (*store.Store, error) {
	opened := api.ServeStarting(ln, o.Access, o.Limits.API, o.Log)
	openCtx, cancel := context.WithTimeout(ctx, storeOpenLimit)
	defer cancel()
	db, err := store.Open(openCtx, o.DataDir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open data directory: %w", err), opened())
	}
	if err := opened(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// URL returns the address of the API.
func (d *Daemon) URL() string { return d.url() }

// Run serves until ctx ends or a client shuts the daemon down, then ends the
// active run and closes the data directory. It must be called once.
func (d *Daemon) Run(ctx context.Context) error {
	life, stop := context.WithCancel(context.WithoutCancel(ctx)) // also while active runs end
	var watch sync.WaitGroup
	watch.Go(func() { d.access.Watch(life) })
	watch.Go(func() { d.supervised(ctx, life) })
	if d.profiles != nil {
		watch.Go(func() { d.noted(serveProfiles(life, d.profiles)) })
	}
	err := d.run(ctx)
	d.fleet.close()
	stop()
	watch.Wait()
	if err = errors.Join(err, d.simulator.close(), d.close()); err == nil {
		d.log.Info().Msg("stopped")
	}
	return err
}

// close closes the data directory. A disk that does not answer is left as it is.
func (d *Daemon) close() error {
	closed := make(chan error, 1) // one value, so that the goroutine never blocks
	go func() { closed <- d.db.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(storeCloseLimit):
		return fmt.Errorf("close data directory: no answer within %v", storeCloseLimit)
	}
}

// Serve runs a daemon until the first signal, which stops it gracefully. The second signal
// aborts the requests in flight, and the third ends the process. If there are files of
// access, or if systemd supervises the process, SIGHUP makes the daemon read the files
// again.
func Serve(ctx context.Context, o DaemonOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var opened atomic.Pointer[Daemon]
	on := onSignals
	reload := make(chan os.Signal, 1)
	if o.Access != nil && o.Access.Reloads() || o.Process.Notifier != nil {
		on = onStops
		signal.Notify(reload, syscall.SIGHUP)
		defer signal.Stop(reload)
	}
	defer on(func(s os.Signal) {
		o.Log.Info().Stringer("signal", s).Msg("stopping; a second signal aborts requests in flight")
		cancel()
	}, func(s os.Signal) { //nolint:contextcheck // a signal has no context
		if d := opened.Load(); d != nil {
			n := d.engine.CancelAll()
			o.Log.Warn().Stringer("signal", s).Int("active_runs", n).Msg("requests in flight are aborted, results are written; a third signal exits at once")
		}
	})()
	d, err := OpenDaemon(ctx, o)
	switch {
	case err != nil && ctx.Err() != nil:
		o.Log.Info().Err(err).Msg("stopped before the data directory was open")
		return nil
	case err != nil:
		return err
	}
	d.reload = reload
	opened.Store(d)
	o.Log.Info().Str("url", d.url()).Str("data", o.DataDir).Str("version", o.Version).Msg("serving")
	return d.Run(ctx)
}
