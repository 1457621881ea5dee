package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/app"
	"aiperfd/internal/app/terminal"
)

// The exit codes.
const (
	exitOK        = 0
	exitFailed    = 1 // the run, or the program
	exitUsage     = 2 // bad configuration, flags, dataset or tokenizer
	exitSLO       = 3 // --slo: the run missed an objective; --fail-if-worse: it is worse
	exitClient    = 4 // the client could not keep up: with --strict-client in a run, else in every run of a study
	exitUndecided = 5 // --fail-if-worse: the runs do not show whether they are worse
	exitCancelled = app.ExitInterrupted
)

// exitError ends the program with a code, and with a message if err is set.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usage adds the exit code to the errors of an argument check.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil // any arguments are accepted
	}
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return exitError{exitUsage, err}
		}
		return nil
	}
}

// plainOut returns the standard output of a command that shows text of documents, results or
// servers.
func plainOut(cmd *cobra.Command) io.Writer { return terminal.Plain(cmd.OutOrStdout()) }

// plainErr is plainOut for the standard error.
func plainErr(cmd *cobra.Command) io.Writer { return terminal.Plain(cmd.ErrOrStderr()) }

// flagsFromEnv sets every flag that is not on the command line from its environment
// variable, and returns all problems.
func flagsFromEnv(fs *pflag.FlagSet, prefix string, lookup func(string) (string, bool)) error {
	var errs []error
	fs.VisitAll(func(flag *pflag.Flag) {
		name := prefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		text, ok := lookup(name)
		if !ok || flag.Changed || flag.Name == "help" {
			return
		}
		values := []string{text}
		if flag.Value.Type() == "stringArray" {
			values = strings.Split(text, "\n")
		}
		for _, v := range values {
			if err := fs.Set(flag.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	return errors.Join(errs...)
}

// defaultDataDir returns the default folder of the daemon's runs.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "aiperfd")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "aiperfd-data"
	}
	return filepath.Join(home, ".local", "state", "aiperfd")
}
