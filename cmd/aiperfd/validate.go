package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/app"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/view"
)

func newValidateCommand() *cobra.Command {
	explain, blockSize := false, 0
	cmd := &cobra.Command{
		Use:   "validate [FORMAT] FILE",
		Short: "Check a document, a dataset or a result",
		Long: `Check a benchmark document (JSON or YAML; - reads standard input). All problems
are listed with their location, and the exit code is 2. A valid document is
printed as it would run, with all defaults and without secrets. --explain lists
the defaults that depend on other values, with the reason, on standard error.
All records of the dataset are checked too; at most 20 problems are listed.

With a FORMAT, for example mooncake-trace, FILE is a dataset of that format.
Without one, a folder, or a file whose name ends with .jsonl, .csv, .tsv,
.parquet or .arrow (and .gz or .zst), is a dataset whose format is detected.

If FILE is the folder of a run with a scenario, whether its result counts is
decided again from its files, and every check is listed. The exit code is 3 if
the result does not count, or says otherwise than the files.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isRun(args[0]) {
				return validateRun(cmd, args[0])
			}
			if name := args[len(args)-1]; len(args) == 2 || isDataset(name) {
				return validateDataset(cmd, strings.Join(args[:len(args)-1], ""), name, blockSize)
			}
			doc, p, err := loadDocument(cmd, args[0])
			if err != nil {
				return err
			}
			if p.Dataset.Kind.File && p.Dataset.Options.File.Rewindable() {
				if _, err := checkDataset(cmd, p.Dataset.Kind, p.Dataset.Options); err != nil {
					return err
				}
			}
			for _, a := range app.Advise(p) {
				fmt.Fprintln(plainErr(cmd), "warning:", a)
			}
			if explain {
				for _, d := range doc.Defaulted() {
					fmt.Fprintln(plainErr(cmd), "default:", d)
				}
			}
			return plainjson.WriteIndent(plainOut(cmd), config.Resolved(doc))
		},
	}
	cmd.Flags().IntVar(&blockSize, "block-size", 0, "`tokens` per hash id of a trace (default: that of the format)")
	cmd.Flags().BoolVar(&explain, "explain", false, "list the defaults that depend on other values, with the reason")
	addIgnoreUnsupported(cmd)
	cmd.Flags().BoolVar(&explain, "show-defaults", false, "the same as --explain")
	return cmd
}

// ignoreUnsupported is the name of the flag of commands that read documents.
const ignoreUnsupported = "ignore-unsupported"

// addIgnoreUnsupported adds the flag.
func addIgnoreUnsupported(cmd *cobra.Command) {
	cmd.Flags().Bool(ignoreUnsupported, false, "leave out what aiperfd does not support and what only adds files or destinations, with warnings")
}

// loadDocument reads and compiles a document, and prints its warnings.
func loadDocument(cmd *cobra.Command, name string) (*config.Document, *plan.Plan, error) {
	data, err := readInput(cmd.InOrStdin(), name)
	if err != nil {
		return nil, nil, exitWith(exitUsage, err)
	}
	draft, err := config.Read(data, config.LoadOptions{
		LookupEnv: os.LookupEnv, LookupSecret: secret.Lookup(nil, os.LookupEnv), Choices: plan.Choices(),
	})
	if err != nil {
		return nil, nil, exitWith(exitUsage, err)
	}
	if ignore, _ := cmd.Flags().GetBool(ignoreUnsupported); ignore {
		draft.IgnoreUnsupported()
	}
	doc, warnings, err := draft.Load()
	for _, w := range warnings {
		fmt.Fprintln(plainErr(cmd), "warning:", w)
	}
	if err != nil {
		return nil, nil, exitWith(exitUsage, problemList(err))
	}
	p, err := plan.Compile(doc)
	if err != nil {
		return nil, nil, exitWith(exitUsage, problemList(err))
	}
	return doc, p, nil
}

// isDataset reports whether the name of a file, or a folder, is that of a dataset.
func isDataset(name string) bool {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return true
	}
	name = strings.ToLower(name)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return slices.Contains([]string{".jsonl", ".txt", ".csv", ".tsv", ".parquet", ".arrow"}, filepath.Ext(name))
}

// validateDataset checks a dataset; an empty format is detected.
func validateDataset(cmd *cobra.Command, format, name string, blockSize int) error {
	f := file.File{Path: name}
	if f.IsPipe() {
		return exitWith(exitUsage, fmt.Errorf("%s: can be read only once, so that nothing is left for a run", name))
	}
	format, _, err := source.Detect(cmd.Context(), f, source.Known{Format: strings.ReplaceAll(format, "-", "_")}, dataset.Formats())
	if err != nil {
		return exitWith(exitUsage, fmt.Errorf("%s: %w", name, err))
	}
	for _, kind := range dataset.Kinds() {
		if !kind.Reads(format) || !kind.File {
			continue
		}
		open := func(name string) (io.ReadCloser, error) { return os.Open(name) }
		d, err := checkDataset(cmd, kind, dataset.Options{Options: source.Options{File: f, Open: open, BlockSize: blockSize, Part: format}})
		if err == nil {
			fmt.Fprintf(plainOut(cmd), "%s: %s of format %s\n", name, view.Plural(d.Entries, "conversation"), format)
		}
		return err
	}
	var names []string
	for _, f := range dataset.Formats() {
		names = append(names, f.Name)
	}
	return exitWith(exitUsage, fmt.Errorf("unknown format %q; accepted: %s", format, strings.Join(names, ", ")))
}

// checkDataset checks the records of a dataset. Lengths are those of the built-in
// tokenizer, which does not change whether a record has a problem.
func checkDataset(cmd *cobra.Command, kind dataset.Kind, o dataset.Options) (source.Description, error) {
	o.Tokenizer = tokenizer.Builtin()
	d, err := dataset.Check(cmd.Context(), kind, o)
	for _, w := range d.Warnings {
		fmt.Fprintln(plainErr(cmd), "warning:", w)
	}
	if err != nil {
		return d, exitWith(exitUsage, err)
	}
	return d, nil
}

func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(stdin, 64<<20))
	}
	return os.ReadFile(name)
}

// problemList returns an error that lists all problems of a document, one per line.
func problemList(err error) error {
	var invalid *problem.Invalid
	if !errors.As(err, &invalid) {
		return err
	}
	var text strings.Builder
	text.WriteString(view.Plural(len(invalid.Problems), "problem") + " in the configuration")
	for _, p := range invalid.Problems {
		text.WriteString("\n  " + p.String())
	}
	return errors.New(text.String())
}
