// Package ctl is the command aiperfd ctl: a client of the daemon for people and scripts.
package ctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/client"
)

// The exit codes besides 0 and 1.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitSLO         = 3 // the run missed an objective, or the candidate of a gate fails
	exitInvalid     = 4 // gate: the numbers are not valid or not comparable, or there is no baseline
	exitUndecided   = 5 // gate: the rules are not decided
	exitTimeout     = 124
	exitInterrupted = 130 // also: the run was cancelled
)

// ExitError ends the program with a code.
type ExitError struct {
	Code int
	Err  error // nil = no message
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the error to be printed.
func (e *ExitError) Unwrap() error { return e.Err }

// usageError is the error of a wrong command line.
func usageError(format string, args ...any) error {
	return &ExitError{exitUsage, fmt.Errorf(format, args...)}
}

// globals are the flags of all commands.
type globals struct {
	target  target
	output  string
	timeout time.Duration
	version string
}

const ctlLong = `Use the API of a running daemon (aiperfd serve): submit benchmarks, watch them,
print their results, download their files.

The daemon is that of --server, else of $AIPERFD_SERVER, else of the current
context (aiperfd ctl context), else http://127.0.0.1:9097. Its token is that of
--token-file, else $AIPERFD_TOKEN, else that of the context, if the context
also gives the server.

ID is the id of a run, the beginning of one, the name of one run (name=latest
for a run of that name), current (the active run) or latest (the run that ended
last).

Exit codes: 0 success; 1 error, or the run failed; 2 wrong flags or invalid
document; 3 the run missed an objective; 124 --timeout; 130 interrupted, or the
run was cancelled. aiperfd ctl gate has more.`

// New returns the command.
func New(version string) *cobra.Command {
	g := &globals{version: version}
	cmd := &cobra.Command{
		Use:   "ctl",
		Short: "Use a running daemon: submit, watch and compare runs",
		Long:  ctlLong,
		Example: `  aiperfd ctl submit bench.yaml --watch
  aiperfd ctl list --state running,queued
  aiperfd ctl artifacts latest --dir results`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fs := cmd.PersistentFlags()
	fs.StringVar(&g.target.server, "server", "", "`URL` of the daemon, such as https://host:9097")
	fs.StringVar(&g.target.context, "context", "", "`name` of the context to use, instead of the current one")
	fs.StringVar(&g.target.tokenFile, "token-file", "", "`file` with a bearer token")
	fs.StringVar(&g.target.caFile, "ca-file", "", "PEM `file` with the authorities that sign the daemon's certificate")
	fs.StringVarP(&g.output, "output", "o", "", "`format` of the output: json, yaml or name, and wide for tables")
	fs.DurationVar(&g.timeout, "timeout", 0, "give up after this `duration`, such as 30m; 0 = no limit (each HTTP request still times out after 30s)")
	cmd.AddCommand(
		submitCommand(g), listCommand(g), getCommand(g), watchCommand(g), cancelCommand(g), deleteCommand(g),
		resultsCommand(g), compareCommand(g), baselineCommand(g), gateCommand(g), reportCommand(g), logsCommand(g),
		artifactsCommand(g), configCommand(g), queueCommand(g), workersCommand(g), drainCommand(g), contextCommand(g), versionCommand(g),
	)
	return cmd
}

// session is one call of a command.
type session struct {
	*globals
	*client.Client
	cmd *cobra.Command
	out io.Writer // standard output; safe for texts of servers
	err io.Writer // standard error, the same
}

// online makes the function of a command that uses the daemon. formats are the values of
// --output that it accepts.
func (g *globals) online(formats []string, run func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := g.checkOutput(formats); err != nil {
			return err
		}
		if g.timeout < 0 {
			return usageError("--timeout %v: must not be negative", g.timeout)
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		signals := ctx
		if g.timeout > 0 {
			var cancel func()
			ctx, cancel = context.WithTimeoutCause(ctx, g.timeout, errTimeout)
			defer cancel()
		}
		c, err := g.connect(ctx)
		if err == nil {
			s := &session{globals: g, Client: c, cmd: cmd, out: terminal.Plain(cmd.OutOrStdout()), err: terminal.Plain(cmd.ErrOrStderr())}
			err = run(ctx, s, args)
		}
		return g.explain(ctx, signals, err)
	}
}

var (
	errTimeout     = errors.New("--timeout has passed")
	errInterrupted = errors.New("interrupted")
)

// explain adds exit codes and advice to an error.
func (g *globals) explain(ctx, signals context.Context, err error) error {
	var code *ExitError
	switch {
	case err == nil:
		return nil
	case signals.Err() != nil:
		return &ExitError{exitInterrupted, errInterrupted}
	case ctx.Err() != nil:
		return &ExitError{exitTimeout, fmt.Errorf("no end within %v (--timeout)", g.timeout)}
	case errors.As(err, &code):
		return err
	}
	if advice := g.target.advice(err); advice != "" {
		err = fmt.Errorf("%w\n%s", err, advice)
	}
	var p *client.Problem
	if errors.As(err, &p) && invalidDocument(p) || errors.Is(err, client.ErrNotID) {
		return &ExitError{exitUsage, err}
	}
	return &ExitError{exitFailed, err}
}

// invalidDocument reports whether the user has to change the document or the command.
func invalidDocument(p *client.Problem) bool {
	switch p.Name {
	case "validation-failed", "malformed-body", "bad-parameter", "unsupported-media-type", "body-too-large":
		return true
	}
	return false
}
