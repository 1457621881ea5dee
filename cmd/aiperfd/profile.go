package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/store"
)

// programName starts the recorded command line: AIPerf's own name, as its users'
// scripts expect it.
const programName = "aiperf"

func newProfileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                "profile [flags]",
		Short:              "Run one benchmark, with the flags of NVIDIA's aiperf profile",
		DisableFlagParsing: true, // the flags have AIPerf's grammar
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case slices.Contains(args, "--help-all"):
				return flags.Usage(cmd.OutOrStdout())
			case slices.Contains(args, "--help") || slices.Contains(args, "-h"):
				return flags.UsageShort(cmd.OutOrStdout())
			case len(args) == 0:
				if err := flags.UsageShort(cmd.ErrOrStderr()); err != nil {
					return err
				}
				return exitError{exitUsage, errors.New("no flags; to benchmark the only model of http://localhost:8000, give --url localhost:8000")}
			}
			return profile(cmd.Context(), args, cmd.OutOrStdout())
		},
		ValidArgsFunction: func(_ *cobra.Command, before []string, word string) ([]string, cobra.ShellCompDirective) {
			choices := engine.Choices()
			words, files := flags.Complete(&choices, before, word)
			if files {
				return words, cobra.ShellCompDirectiveDefault
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if err := flags.UsageShort(cmd.OutOrStdout()); err != nil {
			complain(cmd.ErrOrStderr(), err)
		}
	})
	return cmd
}

// profile runs one benchmark in the foreground.
func profile(ctx context.Context, args []string, out io.Writer) error {
	flags, err := flags.Parse(args, os.LookupEnv)
	if err != nil {
		return exitError{exitUsage, problemList(err)}
	}
	flags.Options.Choices = engine.Choices()
	doc, problems, err := flags.Document()
	if err == nil {
		_, err = engine.Compile(doc)
	}
	if err != nil {
		return exitError{exitUsage, problemList(flags.Explain(err))}
	}
	dir, named, err := artifactDir(doc, flags)
	if err != nil {
		return exitError{exitUsage, err}
	}
	terminal := &screen{out: os.Stderr, width: func() int { return columns(os.Stderr) }}
	log, closeLog, err := profileLogger(doc, dir, terminal)
	if err != nil {
		return err
	}
	defer closeLog()
	return (&oneShot{
		doc: doc, dir: dir, named: named, log: log, out: out, screen: terminal,
		command:  redact.CommandLine(programName, append([]string{"profile"}, args...), flags),
		warnings: warningsOf(problems),
	}).run(ctx)
}

// interruptPatience is how long a server may be silent after Ctrl-C before the
// requests in flight are aborted, so that a hung server does not delay the exit.
const interruptPatience = time.Second

// oneShot is a run of the command line.
type oneShot struct {
	doc      *config.Document
	dir      string
	named    bool // by the user
	command  string
	warnings []engine.Warning
	log      zerolog.Logger
	screen   *screen
	out      io.Writer
}

func (o *oneShot) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rt := o.doc.Benchmark.Runtime
	so := serviceOptions{store: store.NewSingle(o.dir), log: o.log, oneShot: true, load: config.LoadOptions{Untrusted: true, Choices: engine.Choices()}}
	if rt.APIPort != nil {
		so.host = "127.0.0.1"
		if rt.APIHost != nil {
			so.host = *rt.APIHost
		}
		ln, err := listen(ctx, so.host, *rt.APIPort, "")
		if err != nil {
			return err
		}
		so.listener = ln
	}
	s, err := newService(so)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	for _, w := range o.warnings {
		o.log.Warn().Msg(w.Detail)
	}
	for _, d := range o.doc.Defaulted() {
		o.log.Debug().Stringer("default", d).Send()
	}
	run, err := o.measure(ctx, s)
	if err == nil {
		o.rename()
		err = o.report(run, s.engine.Report(run.ID))
		s.engine.Finish(err != nil && run.State != bench.Aborted)
		o.linger(ctx, s)
	}
	cancel()
	return errors.Join(err, <-ended)
}

// measure submits the run and follows it to its end.
func (o *oneShot) measure(ctx context.Context, s *service) (*engine.Run, error) {
	run, err := s.engine.Submit(ctx, engine.Submission{Document: o.doc, Warnings: o.warnings, Via: "cli", CLICommand: o.command})
	if err != nil {
		return nil, err
	}
	id := run.ID
	defer interrupts(
		func(by os.Signal) {
			reason := "interrupted from the keyboard"
			if by != os.Interrupt {
				reason = "ended by signal: " + by.String()
			}
			o.log.Warn().Msg("stopping: waiting for in-flight requests; press Ctrl+C again to abort them")
			o.cancel(ctx, s, id, engine.CancelRequest{Reason: reason, Patience: interruptPatience})
		},
		func(os.Signal) { o.cancel(ctx, s, id, engine.CancelRequest{Force: true}) },
	)()
	stop := o.progress().follow(ctx, s.engine, id)
	defer stop()
	return s.engine.Wait(ctx, id)
}

// cancel stops the run; one that has just ended by itself needs no stopping.
func (o *oneShot) cancel(ctx context.Context, s *service, id string, c engine.CancelRequest) {
	if _, _, err := s.engine.Cancel(ctx, id, c); err != nil && !errors.Is(err, engine.ErrAlreadyFinished) {
		o.log.Error().Err(err).Msg("cancel run")
	}
}

// progress chooses how the run is shown by the user's wish and by what standard
// error is.
func (o *oneShot) progress() *progress {
	rt := o.doc.Benchmark.Runtime
	p := &progress{
		screen: o.screen, draws: rt.UI != "none" && redrawable(os.Stderr), log: o.log,
		look: look{ascii: asciiOnly(os.Getenv), color: colored(os.Stderr)},
	}
	switch {
	case rt.StatsInterval != nil:
		p.every = rt.StatsInterval.Duration()
	case !p.draws:
		p.every = defaultStatsInterval
	}
	return p
}

// report prints the results and turns the state of the run into an exit code.
func (o *oneShot) report(run *engine.Run, r *export.Report) error {
	if r != nil { // else the run ended before it measured anything
		if err := o.print(r); err != nil {
			return err
		}
	}
	if run.State == bench.Completed {
		if c := run.Client; o.doc.Benchmark.Client.Strict && c != nil && c.Verdict == verdict.Invalid {
			return exitError{exitClient, fmt.Errorf("the client could not keep up: %s", verdict.Why(c.Reasons))}
		}
		return nil
	}
	if run.State == bench.Aborted {
		return exitError{exitCancelled, errors.New("cancelled; the results are partial")}
	}
	return exitError{exitFailed, errors.New(cmp.Or(run.StateReason, "run failed"))}
}

// screenErrors is how many kinds of errors are printed; the files have all.
const screenErrors = 20

// print writes the results in the width and the colours of the terminal.
func (o *oneShot) print(r *export.Report) error {
	names := export.NamesFor(prefixOf(o.doc))
	options := export.ConsoleOptions{
		Width: columns(os.Stdout), Color: colored(os.Stdout), ASCII: asciiOnly(os.Getenv),
		Detail: cmp.Or(export.Detail(o.doc.Benchmark.Runtime.Report), export.Brief), Errors: screenErrors,
		Folder: o.dir + string(filepath.Separator), ReportFile: names.Console,
	}
	if options.Detail != export.Brief {
		for _, f := range []export.File{
			{Label: "CSV Export", Path: names.CSV}, {Label: "JSON Export", Path: names.JSON}, {Label: "Records Export", Path: names.Records},
			{Label: "Raw Records", Path: names.Raw}, {Label: "Inputs", Path: names.Inputs}, {Label: "Log File", Path: names.Log},
		} {
			f.Path = filepath.Join(o.dir, f.Path)
			if _, err := os.Stat(f.Path); err == nil {
				options.Files = append(options.Files, f)
			}
		}
	}
	return export.Console(o.out, r, options)
}

// linger keeps the API up for a while after the end of the run.
func (o *oneShot) linger(ctx context.Context, s *service) {
	if s.listener == nil {
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
	defer interrupts(func(os.Signal) { close(interrupted) })()
	select {
	case <-timer.C:
	case <-interrupted:
	case <-s.stopped():
	case <-ctx.Done():
	}
}

func prefixOf(d *config.Document) string {
	if d.Benchmark.Artifacts.Prefix == nil {
		return ""
	}
	return *d.Benchmark.Artifacts.Prefix
}

func warningsOf(problems []config.Problem) []engine.Warning {
	var out []engine.Warning
	for _, p := range problems {
		out = append(out, engine.Warning{Pointer: p.Pointer, Code: p.Code, Detail: p.String()})
	}
	return out
}

// profileLogger logs to standard error and to the run's own log file.
func profileLogger(d *config.Document, dir string, terminal *screen) (zerolog.Logger, func(), error) {
	level := map[string]zerolog.Level{
		"TRACE": zerolog.TraceLevel, "DEBUG": zerolog.DebugLevel, "INFO": zerolog.InfoLevel,
		"NOTICE": zerolog.InfoLevel, "SUCCESS": zerolog.InfoLevel, "WARNING": zerolog.WarnLevel,
		"ERROR": zerolog.ErrorLevel, "CRITICAL": zerolog.ErrorLevel,
	}[strings.ToUpper(d.Benchmark.Logging.Level)]
	path := filepath.Join(dir, export.NamesFor("").Log)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return zerolog.Logger{}, nil, fmt.Errorf("make log folder: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, export.FileMode)
	if err != nil {
		return zerolog.Logger{}, nil, fmt.Errorf("open log: %w", err)
	}
	secrets := redact.NewSet(d.Secrets()...)
	screen := logWriter(secrets.Writer(terminal), "15:04:05.000", colored(os.Stderr))
	screen.FieldsExclude = []string{"run"} // there is only one
	disk := logWriter(secrets.Writer(file), "2006-01-02 15:04:05.000", false)
	log := zerolog.New(zerolog.MultiLevelWriter(screen, disk)).Level(level).With().Timestamp().Logger()
	return log, func() { file.Close() }, nil
}
