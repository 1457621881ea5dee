package app

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/api/access"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// interruptPatience is how long a server may be silent after Ctrl-C before the
// requests in flight are aborted, so that a hung server does not delay the exit.
const interruptPatience = time.Second

// Profile is one benchmark in the foreground. All fields but Warnings and
// Repeat are required.
type Profile struct {
	Document *config.Document
	Plan     *plan.Plan // of Document
	Folder   *Folder
	Command  string // the command line of the run, redacted
	Warnings []problem.Problem
	Out      io.Writer // of the results; progress and log go to standard error
	Version  string
	Repeat   *Repeat // nil = the run repeats none
	Spawn    int     // load generators to start on this machine; 0 = none
	Bus      BusOptions
	// StrictAnswer means that an experiment whose answer is open has not succeeded.
	StrictAnswer bool
}

// Outcome is how a benchmark ended that did not succeed.
type Outcome string

// The outcomes.
const (
	Failed        Outcome = "failed"
	BadInput      Outcome = "bad input" // the dataset or the tokenizer cannot be used; nothing was measured
	Cancelled     Outcome = "cancelled"
	MissedSLO     Outcome = "missed objective" // of the run as a whole
	InvalidClient Outcome = "invalid client"   // only if the document has client.strict
	Undecided     Outcome = "undecided"        // only with [Profile.StrictAnswer]
)

// OutcomeError is the error of a benchmark that was performed and reported but
// did not succeed.
type OutcomeError struct {
	Outcome Outcome
	Message string
}

// Error implements error.
func (e *OutcomeError) Error() string { return e.Message }

// Run performs the benchmark and prints its results. Signals cancel the run; its
// results are printed nevertheless. The error is an [*OutcomeError] if the run
// ended, but not with success.
func (p *Profile) Run(ctx context.Context) error {
	screen := terminal.NewScreen(os.Stderr, os.Stderr)
	log, closeLog, err := openLog(p.Document, p.Folder.Path, screen)
	if err != nil {
		return err
	}
	defer closeLog()
	return (&oneShot{Profile: p, warnings: warningsOf(p.Warnings), log: log, screen: screen, full: fullScreen(p.Document)}).run(ctx)
}

// oneShot is a profile that is being performed.
type oneShot struct {
	*Profile
	warnings []bench.Warning
	log      zerolog.Logger
	screen   *terminal.Screen
	full     bool // the run is shown on the whole terminal
}

func (o *oneShot) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rt := o.Document.Benchmark.Runtime
	ao := options{store: store.NewSingle(o.Folder.Path), role: single, DaemonOptions: DaemonOptions{
		Log: o.log, Version: o.Version, Load: config.LoadOptions{Untrusted: true, Choices: plan.Choices()},
	}}
	if err := o.listen(ctx, &ao); err != nil {
		return err
	}
	closeFleet, err := o.openFleet(ctx, &ao)
	if err != nil {
		return err
	}
	defer closeFleet()
	cells := &follower{progress: o.progress(), study: o.Document.Study(), quiet: o.Document.NoSweepTable, hidden: o.full}
	if o.Document.Study() != nil {
		tree, err := store.OpenTree(o.Folder.Path)
		if err != nil {
			return err
		}
		if o.Folder.resumed != "" {
			if err := reopen(ctx, tree, o.Folder.resumed); err != nil {
				return err
			}
		}
		ao.store, ao.observer = tree, cells
		ao.study = func([]byte) (*config.Document, error) { return o.Document, nil }
	}
	a, err := newApp(ao)
	if err != nil {
		return err
	}
	cells.from = a.engine
	stopped := make(chan error, 1) // one value, so that the goroutine never blocks
	go func() { stopped <- a.run(ctx) }()
	o.warn(func(w bench.Warning) bool { return o.Document.Study() != nil || w.Code != problem.CodeShortRun })
	for _, d := range o.Document.Defaulted() {
		o.log.Debug().Stringer("default", d).Send()
	}
	pushing := startPushing(ctx, a, o.Document, o.Version, o.log)
	ended, err := o.measure(ctx, a)
	pushing.finish(ctx, endOfLoad(a, ended), err == nil)
	if err == nil {
		if rt.APIPort == nil { // else clients may still read from the folder
			o.Folder.rename(&o.Document.Benchmark, ended.Models)
		}
		if ended.Study == nil && ended.Summary != nil && ended.Summary.Requests > 0 { // else there are no percentiles
			o.warn(func(w bench.Warning) bool { return w.Code == problem.CodeShortRun })
		}
		if ended.Study != nil {
			err = o.reportStudy(ended, a.studies.Report(ended.ID))
		} else {
			err = o.report(ended, a.engine.Report(ended.ID))
		}
		a.engine.Finish(err != nil && ended.State != bench.StateCancelled)
		o.linger(ctx, a)
	}
	cancel()
	return errors.Join(err, <-stopped)
}

// endOfLoad returns when the load of a run ended; of a study, or if nothing was measured, it is now.
func endOfLoad(a *app, ended *run.Run) time.Time {
	if ended != nil {
		if rep := a.engine.Report(ended.ID); rep != nil && !rep.End.IsZero() {
			return rep.End
		}
	}
	return time.Now()
}

// warn logs the warnings about the document that are due.
func (o *oneShot) warn(due func(bench.Warning) bool) {
	for _, w := range o.warnings {
		if due(w) {
			o.log.Warn().Msg(w.Detail)
		}
	}
}

// openFleet opens the bus for other load generators, and starts them if they are to be on this machine.
func (o *oneShot) openFleet(ctx context.Context, ao *options) (closeAll func(), err error) {
	if o.Spawn == 0 {
		ao.fleet, err = openFleet(ctx, o.Bus, o.Version, o.log)
		return ao.fleet.close, err
	}
	var workers *spawned
	if ao.fleet, workers, err = spawnWorkers(ctx, o.Spawn, o.Version, o.log); err != nil {
		return nil, err
	}
	return func() {
		workers.stop()
		ao.fleet.close()
	}, nil
}

// listen opens the port of the API, if the run has one. Other machines may only read,
// because there are no tokens.
func (o *oneShot) listen(ctx context.Context, ao *options) error {
	rt := o.Document.Benchmark.Runtime
	if rt.APIPort == nil {
		return nil
	}
	ao.Host = "127.0.0.1"
	if rt.APIHost != nil {
		ao.Host = *rt.APIHost
	}
	origins, err := access.OriginsFromEnv(os.LookupEnv)
	if err != nil {
		return err
	}
	ao.Access, err = access.New(access.Options{Host: ao.Host, ReadOnly: true, Origins: origins, Log: o.log})
	if err != nil {
		return err
	}
	if ao.Access.Exposed() {
		o.log.Warn().Str("host", ao.Host).Msg("other machines can read the API without a token; it starts, cancels and deletes nothing")
	}
	ln, err := listen(ctx, ao.Host, *rt.APIPort, "")
	if err != nil {
		return err
	}
	ao.listener = ln
	return nil
}

// measure submits the run and waits for its end.
func (o *oneShot) measure(ctx context.Context, a *app) (*run.Run, error) {
	id := o.Folder.resumed
	if id == "" {
		queued, err := a.studies.Submit(ctx, o.Document, run.Submission{
			Warnings: o.warnings, Via: "cli", CLICommand: o.Command, Compiled: o.Plan,
		})
		if err != nil {
			return nil, err
		}
		id = queued.ID
	}
	stop := func() {}
	keys := make(chan os.Signal, 4) // presses while one is handled; further ones are lost
	switch {
	case o.full:
		stop = o.showBoard(ctx, a, id, keys)
	case o.Document.Study() == nil:
		stop = o.progress().Follow(ctx, a.engine, id)
	}
	defer stop()
	defer onSignalsOrKeys(keys,
		func(by os.Signal) {
			reason := "interrupted from the keyboard"
			if by != os.Interrupt {
				reason = "ended by signal: " + by.String()
			}
			o.log.Warn().Msg("stopping: waiting for in-flight requests; press Ctrl+C again to abort them")
			o.cancel(ctx, a, id, run.CancelRequest{Reason: reason, Patience: interruptPatience})
		},
		func(os.Signal) { o.cancel(ctx, a, id, run.CancelRequest{Force: true}) },
		func(os.Signal) {
			stop()
			os.Exit(ExitInterrupted)
		},
	)()
	return a.studies.Wait(ctx, id)
}

// cancel stops the run. A run that has just ended is no error.
func (o *oneShot) cancel(ctx context.Context, a *app, id string, c run.CancelRequest) {
	if _, _, err := a.studies.Cancel(ctx, id, c); err != nil && !errors.Is(err, run.ErrAlreadyFinished) {
		o.log.Error().Err(err).Msg("cancel run")
	}
}

// progress returns the display of the run, by the document and the abilities of
// standard error.
func (o *oneShot) progress() *terminal.Progress {
	rt := o.Document.Benchmark.Runtime
	p := &terminal.Progress{
		Screen: o.screen, Draw: rt.UI != "none" && terminal.Redrawable(os.Stderr), Log: o.log,
		Style: terminal.Style{ASCII: terminal.ASCIIOnly(os.Getenv), Color: terminal.Colored(os.Stderr)},
	}
	switch {
	case rt.StatsInterval != nil:
		p.Every = rt.StatsInterval.Duration()
	case !p.Draw:
		p.Every = terminal.DefaultStatsInterval
	}
	return p
}

// linger keeps the API available for some seconds after the end of the run.
func (o *oneShot) linger(ctx context.Context, a *app) {
	if a.listener == nil {
		return
	}
	const fallback = 5.0 // seconds, AIPerf's
	seconds := fallback
	if text, ok := os.LookupEnv("AIPERF_API_SERVER_POST_COMPLETE_GRACE"); ok {
		if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n <= 300 {
			seconds = n
		} else {
			o.log.Warn().Str("value", text).Msg("AIPERF_API_SERVER_POST_COMPLETE_GRACE must be 0 to 300 seconds; 5 is used")
		}
	}
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	interrupted := make(chan struct{})
	defer onSignals(func(os.Signal) { close(interrupted) })()
	select {
	case <-timer.C:
	case <-interrupted:
	case <-a.stopped:
	case <-ctx.Done():
	}
}

func warningsOf(problems []problem.Problem) []bench.Warning {
	var out []bench.Warning
	for _, p := range problems {
		out = append(out, bench.Warning{Pointer: p.Pointer, Code: p.Code, Detail: p.String()})
	}
	return out
}
