package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"aiperfd/internal/app"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine"
)

// The formats of log lines.
const (
	logText = "text"
	logJSON = "json"
)

// processFlags say how the process of the daemon is configured, logs and stops.
type processFlags struct {
	config, level, format, profiler string
	check                           bool
	grace, timeout                  time.Duration
}

func (f *processFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.config, "config", "", "YAML `file` with flags, such as api-port: 9097")
	fs.BoolVar(&f.check, "check-config", false, "check the flags, the variables and the file of --config, print all problems and exit")
	fs.StringVar(&f.level, "log-level", "info", "debug, info, warn or error; with debug, every request is logged")
	fs.StringVar(&f.format, "log-format", logText, "text, or json for one object per line")
	fs.StringVar(&f.profiler, "pprof-addr", "", "serve CPU and memory profiles of the daemon on this loopback `address`, such as 127.0.0.1:6060")
	fs.DurationVar(&f.grace, "shutdown-grace", engine.DefaultStopGrace, "longest `time` that requests in flight have when the daemon stops")
	fs.DurationVar(&f.timeout, "shutdown-timeout", engine.DefaultStopTimeout, "longest `time` for active runs to end and to write their results when the daemon stops")
}

// logger returns the logger of the daemon.
func (f *processFlags) logger() (zerolog.Logger, error) {
	var errs []error
	level, err := zerolog.ParseLevel(f.level)
	if err != nil || f.level == "" {
		errs = append(errs, fmt.Errorf("--log-level %s: must be debug, info, warn or error", f.level))
	}
	switch f.format {
	case logText:
		return terminal.NewLogger(os.Stderr, level, terminal.IsTerminal(os.Stderr)), errors.Join(errs...)
	case logJSON:
		return terminal.NewJSONLogger(os.Stderr, level), errors.Join(errs...)
	}
	errs = append(errs, fmt.Errorf("--log-format %s: must be text or json", f.format))
	return zerolog.Nop(), errors.Join(errs...)
}

// options checks the flags and returns what they mean.
func (f *processFlags) options() (app.ProcessOptions, error) {
	var errs []error
	if f.grace <= 0 {
		errs = append(errs, fmt.Errorf("--shutdown-grace %v: must be greater than 0", f.grace))
	}
	if f.timeout <= f.grace {
		errs = append(errs, fmt.Errorf("--shutdown-timeout %v: must be greater than --shutdown-grace, %v", f.timeout, f.grace))
	}
	if f.profiler != "" {
		if err := app.CheckProfiler(f.profiler); err != nil {
			errs = append(errs, fmt.Errorf("--pprof-addr %s: %w", f.profiler, err))
		}
	}
	return app.ProcessOptions{StopGrace: f.grace, StopTimeout: f.timeout, Profiler: f.profiler}, errors.Join(errs...)
}

// load reads the variables and the file of --config into the flags that are not on the
// command line, and returns what the flags mean. The error has a line for each problem.
func (f *serveFlags) load(fs *pflag.FlagSet) (app.DaemonOptions, error) {
	err := apiFromEnv(fs, os.LookupEnv)
	err = errors.Join(err, flagsFromFile(fs, f.process.config, "config", "check-config"))
	var supervision app.ProcessOptions
	if !f.process.check {
		var own error
		supervision, own = f.supervision(fs)
		err = errors.Join(err, own)
	}
	o, wrong := f.options()
	o.Process.Listener, o.Process.Notifier = supervision.Listener, supervision.Notifier
	return o, errors.Join(err, wrong)
}

// supervision takes over what systemd has prepared for this process. The host of a socket
// replaces that of the flags, so that a socket on a network address needs tokens.
func (f *serveFlags) supervision(fs *pflag.FlagSet) (out app.ProcessOptions, err error) {
	if out.Notifier, err = app.NewNotifier(); err != nil {
		return out, err
	}
	if out.Listener, err = app.SystemdListener(); err != nil || out.Listener == nil {
		return out, err
	}
	for _, name := range []string{"api-host", "api-port"} {
		if fs.Changed(name) {
			err = errors.Join(err, fmt.Errorf("--%s %s: cannot be combined with a socket of systemd, which has an address", name, fs.Lookup(name).Value))
		}
	}
	f.host = app.HostOf(out.Listener)
	return out, err
}
