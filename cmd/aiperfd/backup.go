package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/backup"
	"aiperfd/internal/store/archive"
)

const backupLong = `Write a backup of a data folder: the index and the files of all runs, as a tar
file compressed with gzip, with a checksum of every file. A daemon may use the
folder meanwhile. An active run is restored as after a crash of the daemon.

--output is a file, which is replaced when the backup is complete, or a folder,
in which the backup gets a name with the time.

--verify reads a backup, or a file of runs export, and compares every file with
its checksum; it also checks the database of a backup.`

// newBackupCommand returns the command that writes and checks backups.
func newBackupCommand() *cobra.Command {
	var dir, output, verify string
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Back up a data folder, also while a daemon uses it",
		Long:  backupLong,
		Example: `  aiperfd backup --output /backups
  aiperfd backup --verify /backups/aiperfd-backup-20260504T100000Z.tar.gz`,
		Args: cobra.NoArgs,
	}
	fs := cmd.Flags()
	fs.StringVar(&output, "output", "", "`path` of the backup: a file or a folder")
	fs.StringVar(&verify, "verify", "", "check this `file` instead")
	addDataDir(cmd, &dir)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { // before the environment counts
		switch {
		case (output == "") == (verify == ""):
			return exitWith(exitUsage, errors.New("one of --output and --verify is required"))
		case verify != "" && cmd.Flags().Changed("data-dir"):
			return exitWith(exitUsage, errors.New("--data-dir has no meaning with --verify, which reads the backup alone"))
		}
		return nil
	}
	cmd.RunE = interruptible(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
		if verify != "" {
			return printArchive(plainOut(cmd), "verified")(backup.Verify(ctx, verify))
		}
		return printArchive(plainOut(cmd), "written")(backup.Create(ctx, dir, output, version))
	})
	return cmd
}

const restoreLong = `Restore a backup into a new data directory, which must be empty or is created.
Every file of the backup is compared with its checksum, and the database is
checked, before anything is put into its place. Then start the daemon on it.

Runs that were queued when the backup was made are in the queue again.`

func newRestoreCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "restore FILE",
		Short:   "Restore a backup into a new data directory",
		Long:    restoreLong,
		Example: "  aiperfd restore backup.tar.gz --data-dir /var/lib/aiperfd",
		Args:    cobra.ExactArgs(1),
	}
	addDataDir(cmd, &dir)
	cmd.RunE = interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		return printArchive(plainOut(cmd), "restored to "+dir)(backup.Restore(ctx, args[0], dir, backup.Unlimited()))
	})
	return cmd
}

// addDataDir adds the flag of the data folder, with the default of the daemon.
func addDataDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "data-dir", defaultDataDir(), "data `folder` of the daemon")
}

// interruptible makes the function of a command that works on a data folder: flags come
// also from the environment of the daemon, and the first signal ends the context.
func interruptible(run func(context.Context, *cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := dataDirFromEnv(cmd); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err := run(ctx, cmd, args)
		if err != nil && ctx.Err() != nil {
			return exitWith(exitCancelled, errors.New("interrupted"))
		}
		return err
	}
}

// dataDirFromEnv sets the data folder of a command from the environment of the daemon.
func dataDirFromEnv(cmd *cobra.Command) error {
	var own pflag.FlagSet
	own.AddFlag(cmd.Flags().Lookup("data-dir"))
	given := func(name string) (string, bool) { value := os.Getenv(name); return value, value != "" }
	if err := flagsFromEnv(&own, "AIPERFD_", given); err != nil {
		return exitWith(exitUsage, err)
	}
	return nil
}

// printArchive returns a function that prints what an archive holds.
func printArchive(out io.Writer, what string) func(*backup.Result, error) error {
	return func(r *backup.Result, err error) error {
		if err != nil {
			return err
		}
		for _, s := range r.Skipped {
			fmt.Fprintln(out, "left out:", s)
		}
		kind := map[archive.Kind]string{archive.Backup: "backup", archive.Selected: "export"}[r.Kind]
		_, err = fmt.Fprintf(out, "%s: %s of %s %s, %d runs, %d files, %d bytes\n", r.Path, kind, r.Created.Format("2006-01-02 15:04:05Z"), what, r.Runs, r.Files, r.Bytes)
		return err
	}
}
