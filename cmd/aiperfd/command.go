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
	"aiperfd/internal/ctl"
)

// The exit codes.
const (
	exitOK        = 0
	exitFailed    = 1 // the run, or the program
	exitUsage     = 2 // bad configuration, flags, dataset or tokenizer
	exitSLO       = 3 // --slo, --fail-on-finding: the run missed an objective; --fail-if-worse: it is worse
	exitClient    = 4 // the client could not keep up: with --strict-client in a run, else in every run of a study
	exitUndecided = 5 // --fail-if-worse, --strict-answer: the runs do not decide it
	exitCancelled = app.ExitInterrupted
)

// exitWith returns an error that ends the program with a code, and with the message of err.
func exitWith(code int, err error) error { return &ctl.ExitError{Code: code, Err: err} }

// usageBelow adds the exit code to the argument checks of all commands below a command.
func usageBelow(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if check := sub.Args; check != nil { // else any arguments are accepted
			sub.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return exitWith(exitUsage, err)
				}
				return nil
			}
		}
		usageBelow(sub)
	}
}

// group makes a command that has commands below it and does nothing itself.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
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
