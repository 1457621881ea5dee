package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/export"
)

const exportLong = `Regenerate a run's output files from its result.json: the summary as JSON and
CSV, those of each phase, the time slices and the console report. They are the
same, byte for byte, as those that the run wrote. Records in Parquet (profile
with --record-format parquet) become the lines that AIPerf writes.

--from is a result.json, a Parquet file of records, or the folder of a run,
which may have both.`

// exportFormat is the only layout of files so far: that of AIPerf 0.13.
const exportFormat = "aiperf-0.13"

func newExportCommand() *cobra.Command {
	var from, format, output string
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Regenerate a run's output files",
		Long:    exportLong,
		Example: "  aiperfd export --from artifacts/run/result.json --output again",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from == "":
				return exitWith(exitUsage, errors.New("--from: required: a result.json, a Parquet file of records, or the folder of a run"))
			case format != exportFormat:
				return exitWith(exitUsage, fmt.Errorf("--format %q: must be %s", format, exportFormat))
			}
			names, err := exportFiles(from, &output)
			for _, name := range names {
				fmt.Fprintln(plainOut(cmd), filepath.Join(output, filepath.FromSlash(name)))
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&from, "from", "", "`path` of a result.json, of a Parquet file of records, or of the folder of a run")
	fs.StringVar(&format, "format", exportFormat, "layout of the files: "+exportFormat)
	fs.StringVar(&output, "output", "", "write the files into this `folder` (default that of --from)")
	return cmd
}

// exportFiles makes files into a folder, by default that of from, and returns their
// names.
func exportFiles(from string, to *string) (names []string, err error) {
	tables := []string{}
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		*to = cmp.Or(*to, from)
		tables = export.FindTables(from)
	default:
		*to = cmp.Or(*to, filepath.Dir(from))
		if strings.HasSuffix(from, export.TableExtension) {
			name, err := export.ConvertTable(from, *to)
			if err != nil {
				return nil, err
			}
			return []string{name}, nil
		}
	}
	names, err = export.ConvertResult(from, *to)
	for _, table := range tables {
		name, failure := export.ConvertTable(table, *to)
		if failure == nil {
			names = append(names, name)
		}
		err = errors.Join(err, failure)
	}
	return names, err
}
