package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"aiperfd/internal/backup"
	"aiperfd/internal/store/archive"
)

func newRunsCommand() *cobra.Command {
	return group(&cobra.Command{Use: "runs", Short: "Move runs from one data folder to another"},
		newRunsExportCommand(), newRunsImportCommand())
}

const runsExportLong = `Write runs with all their files, labels and times to one file: a tar file
compressed with gzip. A study brings the runs that it consists of. Runs must
have ended. A daemon may use the folder meanwhile.`

func newRunsExportCommand() *cobra.Command {
	var dir, output string
	cmd := &cobra.Command{
		Use:     "export ID... --output FILE",
		Short:   "Write runs to a file",
		Long:    runsExportLong,
		Example: "  aiperfd runs export 0199f1c2b7c87d3e9a10c4d5e6f70812 --output run.tar.gz",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`file` to write; it is replaced")
	addDataDir(cmd, &dir)
	cmd.RunE = interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		if output == "" {
			return exitWith(exitUsage, errors.New("--output: required: the file to write"))
		}
		return printArchive(plainOut(cmd), "written")(backup.Export(ctx, dir, output, args, version))
	})
	return cmd
}

const runsImportLong = `Add the runs of a file that runs export has written to a data folder, with their
ids: all of them or none. A daemon may use the folder, and shows the runs at
once. Runs that are there already, with the same files, are left as they are;
runs that differ are an error.

The file may come from somebody else: names, types, sizes and checksums of all
its files are checked before a run is added.`

// The limits of imports: a small file must not fill the disk.
const (
	importFiles = 1_000_000
	importGiB   = 64
)

func newRunsImportCommand() *cobra.Command {
	var dir string
	var gib int64
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Add the runs of a file to a data folder",
		Long:    runsImportLong,
		Example: "  aiperfd runs import run.tar.gz --data-dir /var/lib/aiperfd",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().Int64Var(&gib, "max-size", importGiB, "largest total size of the files, in `GiB`")
	addDataDir(cmd, &dir)
	cmd.RunE = interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		if gib < 1 || gib > 1<<20 {
			return exitWith(exitUsage, fmt.Errorf("--max-size %d: must be between 1 and %d GiB", gib, 1<<20))
		}
		done, err := backup.Import(ctx, dir, args[0], archive.Limits{Files: importFiles, Bytes: gib << 30})
		if err != nil {
			return err
		}
		for _, w := range done.Warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "aiperfd:", w)
		}
		for _, id := range done.Added {
			fmt.Fprintln(cmd.OutOrStdout(), id, "added")
		}
		for _, id := range done.Unchanged {
			fmt.Fprintln(cmd.OutOrStdout(), id, "was there already")
		}
		return nil
	})
	return cmd
}
