package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/export/native"
)

const exportLong = `Make the files of a run again from its result.json: the summary as JSON and CSV,
those of each phase, and the console report. They are the same, byte for byte,
as those that the run wrote. --from is a result.json or the folder of a run.`

// exportFormat is the only layout of files so far: that of AIPerf 0.13.
const exportFormat = "aiperf-0.13"

func newExportCommand() *cobra.Command {
	var from, format, output string
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Make the files of a run again from its result.json",
		Long:    exportLong,
		Example: "  aiperfd export --from artifacts/run/result.json --output again",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from == "":
				return exitError{exitUsage, errors.New("--from: required: a result.json or the folder of a run")}
			case format != exportFormat:
				return exitError{exitUsage, fmt.Errorf("--format %q: must be %s", format, exportFormat)}
			case output == "":
				output = from
				if info, err := os.Stat(from); err == nil && !info.IsDir() {
					output = filepath.Dir(from)
				}
			}
			names, err := native.Convert(from, output)
			for _, name := range names {
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(output, filepath.FromSlash(name)))
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&from, "from", "", "`path` of a result.json, or of the folder of a run")
	fs.StringVar(&format, "format", exportFormat, "layout of the files: "+exportFormat)
	fs.StringVar(&output, "output", "", "write the files into this `folder` (default that of the result)")
	return cmd
}
