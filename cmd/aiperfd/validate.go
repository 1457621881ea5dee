package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/compat"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
)

func newValidateCommand() *cobra.Command {
	showDefaults := false
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a benchmark document and print it with all defaults",
		Long: `Check a benchmark document (JSON or YAML; - reads standard input). All problems
are listed with their location, and the exit code is 2. A valid document is
printed as it would run, with all defaults and without secrets. --show-defaults
lists the defaults that depend on other values, with the reason, on standard
error.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := readInput(cmd.InOrStdin(), args[0])
			if err != nil {
				return exitError{exitUsage, err}
			}
			doc, warnings, err := config.Load(data, config.LoadOptions{LookupEnv: os.LookupEnv, Choices: plan.Choices()})
			for _, w := range warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
			}
			if err == nil {
				_, err = plan.Compile(doc)
			}
			if err != nil {
				return exitError{exitUsage, problemList(err)}
			}
			if showDefaults {
				for _, d := range doc.Defaulted() {
					fmt.Fprintln(cmd.ErrOrStderr(), "default:", d)
				}
			}
			return plainjson.WriteIndent(cmd.OutOrStdout(), compat.Resolved(doc))
		},
	}
	cmd.Flags().BoolVar(&showDefaults, "show-defaults", false, "list the defaults that depend on other values, with the reason")
	return cmd
}

func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(stdin, 64<<20))
	}
	return os.ReadFile(name)
}

// problemList returns an error that lists all problems of a document, one per line.
func problemList(err error) error {
	var invalid *config.Invalid
	if !errors.As(err, &invalid) {
		return err
	}
	var text strings.Builder
	text.WriteString(terminal.Plural(int64(len(invalid.Problems)), "problem") + " in the configuration")
	for _, p := range invalid.Problems {
		text.WriteString("\n  " + p.String())
	}
	return errors.New(text.String())
}
