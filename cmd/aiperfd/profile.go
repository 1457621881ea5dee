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
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/store"
)

// programName starts the recorded command line: AIPerf's own name, as its users'
// scripts expect it.
const programName = "aiperf"

func newProfileCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "profile [flags]",
		Short:              "Run one benchmark, with the flags of NVIDIA's aiperf profile",
		DisableFlagParsing: true, // the flags have AIPerf's grammar
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.ContainsFunc(args, func(a string) bool { return a == "--help" || a == "-h" }) {
				return config.Usage(cmd.OutOrStdout())
			}
			return profile(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
}

// profile runs one benchmark in the foreground.
func profile(ctx context.Context, args []string, out io.Writer) error {
	flags, err := config.ParseFlags(args, os.LookupEnv)
	if err != nil {
		return exitError{exitUsage, problemList(err)}
	}
	doc, problems, err := flags.Document()
	if err == nil {
		_, err = engine.Compile(doc)
	}
	if err != nil {
		return exitError{exitUsage, problemList(err)}
	}
	dir, err := artifactDir(doc, flags)
	if err != nil {
		return exitError{exitUsage, err}
	}
	log, closeLog, err := profileLogger(doc, dir)
	if err != nil {
		return err
	}
	defer closeLog()
	return (&oneShot{
		doc: doc, dir: dir, log: log, out: out,
		command:  redact.CommandLine(programName, append([]string{"profile"}, args...), flags),
		warnings: warningsOf(problems),
	}).run(ctx)
}

// interruptPatience is how long a server may be silent after Ctrl-C before the
// requests in flight are cut: whoever stops a run of a server that hangs must not
// wait for it.
const interruptPatience = 1500 * time.Millisecond

// oneShot is a run of the command line.
type oneShot struct {
	doc      *config.Document
	dir      string
	command  string
	warnings []engine.Warning
	log      zerolog.Logger
	out      io.Writer
}

func (o *oneShot) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rt := o.doc.Benchmark.Runtime
	so := serviceOptions{store: store.NewSingle(o.dir), log: o.log, oneShot: true, load: config.LoadOptions{Untrusted: true}}
	if rt.APIPort != nil {
		so.host = "127.0.0.1"
		if rt.APIHost != nil {
			so.host = *rt.APIHost
		}
		ln, err := listen(ctx, so.host, *rt.APIPort, "")
		if err != nil {
			return exitError{exitUsage, err}
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
	run, err := o.measure(ctx, s)
	if err == nil {
		err = o.report(run)
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
	show := newProgress(o.doc.Benchmark.Runtime.UI, o.log, statsInterval(o.doc))
	stop := show.follow(ctx, s.engine, id)
	defer stop()
	return s.engine.Wait(ctx, id)
}

// cancel stops the run; one that has just ended by itself needs no stopping.
func (o *oneShot) cancel(ctx context.Context, s *service, id string, c engine.CancelRequest) {
	if _, _, err := s.engine.Cancel(ctx, id, c); err != nil && !errors.Is(err, engine.ErrAlreadyFinished) {
		o.log.Error().Err(err).Msg("cancel run")
	}
}

// report prints the results and turns the state of the run into an exit code.
func (o *oneShot) report(run *engine.Run) error {
	names := export.NamesFor(prefixOf(o.doc))
	if err := o.print(names); err != nil {
		return err
	}
	for _, f := range []struct{ label, name string }{
		{"CSV Export", names.CSV}, {"JSON Export", names.JSON}, {"Records Export", names.Records},
		{"Inputs", names.Inputs}, {"Log File", names.Log},
	} {
		path := filepath.Join(o.dir, f.name)
		if _, err := os.Stat(path); err == nil {
			fmt.Fprintf(o.out, "%s: %s\n", f.label, path)
		}
	}
	if run.State == bench.Completed {
		if c := run.Client; o.doc.Benchmark.Client.Strict && c != nil && c.Verdict == verdict.Invalid {
			return exitError{exitClient, fmt.Errorf("the client could not keep up: %s", c.Reasons[0].Message)}
		}
		o.log.Info().Msg("benchmark completed")
		return nil
	}
	if run.State == bench.Aborted {
		return exitError{exitCancelled, errors.New("cancelled; the results are partial")}
	}
	return exitError{exitFailed, errors.New(cmp.Or(run.StateReason, "run failed"))}
}

// print writes the console report: what the file has, in the terminal's width
// and colours.
func (o *oneShot) print(names export.Names) error {
	data, err := os.ReadFile(filepath.Join(o.dir, names.Console))
	if errors.Is(err, os.ErrNotExist) {
		return nil // the run ended before it measured anything
	}
	if err != nil {
		return fmt.Errorf("read console report: %w", err)
	}
	_, err = fmt.Fprintf(o.out, "\n%s\n", data)
	return err
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

// artifactDir makes the folder of a run: the one that was named, which is
// written over as AIPerf does, or artifacts/<model>-<endpoint>-<load>, with a
// number behind it if an earlier run lives there.
func artifactDir(d *config.Document, flags *config.Flags) (string, error) {
	const unset = "artifacts" // AIPerf's default, below which each run has a folder
	dir := d.Benchmark.Artifacts.Dir
	if dir == "" || (dir == unset && !flags.Given("--artifact-dir")) {
		base := filepath.Join(unset, autoName(&d.Benchmark))
		dir = base
		for n := 2; occupied(dir); n++ {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make artifact folder: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, export.ReadyMarker)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("take over artifact folder: %w", err)
	}
	return dir, nil
}

func occupied(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, export.ReadyMarker))
	return err == nil
}

// autoName is AIPerf's name of a run's folder.
func autoName(b *config.Benchmark) string {
	model := "model"
	if len(b.Models.Items) > 0 {
		model = strings.ReplaceAll(b.Models.Items[0].Name, "/", "_")
	}
	if len(b.Models.Items) > 1 {
		model += "_multi"
	}
	load := ""
	for _, p := range b.Phases {
		if p.Kind != string(bench.Profiling) {
			continue
		}
		var parts []string
		if p.Concurrency != nil {
			parts = append(parts, fmt.Sprintf("concurrency%d", *p.Concurrency))
		}
		if p.Rate != nil {
			parts = append(parts, fmt.Sprintf("request_rate%v", *p.Rate))
		}
		load = strings.Join(parts, "-")
		break
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, fmt.Sprintf("%s-openai-%s-%s", model, b.Endpoint.Type, load))
}

// profileLogger logs to standard error and to the run's own log file.
func profileLogger(d *config.Document, dir string) (zerolog.Logger, func(), error) {
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
	screen := zerolog.ConsoleWriter{Out: secrets.Writer(os.Stderr), TimeFormat: "15:04:05.000", NoColor: !colored(os.Stderr)}
	disk := zerolog.ConsoleWriter{Out: secrets.Writer(file), TimeFormat: "2006-01-02 15:04:05.000", NoColor: true}
	log := zerolog.New(zerolog.MultiLevelWriter(screen, disk)).Level(level).With().Timestamp().Logger()
	return log, func() { file.Close() }, nil
}
