package ctl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/client"
	"aiperfd/internal/view"
)

const artifactsLong = `List the files of a run, or with --dir download them. The checksum of each file
is verified. A download that was interrupted resumes where it ended, and files
that are there already are not downloaded again.`

func artifactsCommand(g *globals) *cobra.Command {
	var dir string
	var globs []string
	var replace bool
	cmd := &cobra.Command{
		Use:     "artifacts ID",
		Short:   "List or download the files of a run",
		Long:    artifactsLong,
		Example: "  aiperfd ctl artifacts latest\n  aiperfd ctl artifacts latest --dir results --file '*.json'",
		Args:    cobra.ExactArgs(1),
		RunE: g.online([]string{formatJSON, formatYAML, formatName}, func(ctx context.Context, s *session, args []string) error {
			if dir == "" && replace {
				return usageError("--force: has a meaning only with --dir")
			}
			id, err := s.Resolve(ctx, args[0])
			if err != nil {
				return err
			}
			list, err := s.Files(ctx, id)
			if err != nil {
				return err
			}
			files, err := matching(list.Files, globs)
			switch {
			case err != nil:
				return err
			case !list.Ready:
				return fmt.Errorf("the files of run %s are not complete yet; aiperfd ctl watch %s waits for its end", id, id)
			}
			if list.Partial {
				fmt.Fprintf(s.err, "warning: files are missing, because these could not be written: %s\n", strings.Join(list.FailedExporters, ", "))
			}
			if dir == "" {
				return printFiles(s, list, files)
			}
			if s.output != "" {
				return usageError("--output %s: cannot be used with --dir", s.output)
			}
			return download(ctx, s, id, dir, replace, files)
		}),
	}
	fs := cmd.Flags()
	fs.StringVarP(&dir, "dir", "d", "", "download to this `folder`; it is created if it does not exist")
	fs.StringArrayVar(&globs, "file", nil, "only files with this name or `pattern`, such as '*.json' or 'phases/*/*' (repeatable)")
	fs.BoolVar(&replace, "force", false, "replace files in the folder that differ")
	completeRuns(g, cmd, false)
	return cmd
}

// matching returns the files that match one of the patterns; all without patterns. A
// pattern without a slash is also compared with the name without its folder.
func matching(files []wire.ResultFile, globs []string) ([]wire.ResultFile, error) {
	if len(globs) == 0 {
		return files, nil
	}
	var out []wire.ResultFile
	used := map[string]bool{}
	for i := range files {
		match := false
		for _, glob := range globs {
			ok, err := path.Match(glob, files[i].Name)
			if err != nil {
				return nil, usageError("--file %q: %w", glob, err)
			}
			if !ok && !strings.Contains(glob, "/") {
				ok, _ = path.Match(glob, path.Base(files[i].Name)) // the pattern is good, as above
			}
			used[glob], match = used[glob] || ok, match || ok
		}
		if match {
			out = append(out, files[i])
		}
	}
	for _, glob := range globs {
		if !used[glob] {
			return nil, fmt.Errorf("--file %q: the run has no such file; aiperfd ctl artifacts ID lists the files", glob)
		}
	}
	return out, nil
}

// printFiles lists files.
func printFiles(s *session, list *wire.ResultFiles, files []wire.ResultFile) error {
	list.Files = files
	var names []string
	var rows [][]string
	for i := range files {
		f := &files[i]
		names = append(names, f.Name)
		rows = append(rows, []string{f.Name, size(f.Size), stamp(&f.ModifiedAt), f.ContentType})
	}
	if done, err := s.printed(s.out, list, names...); done {
		return err
	}
	columns := []view.Column{
		{Title: "NAME"}, {Title: "SIZE", Number: true}, {Title: "MODIFIED", Weight: 1}, {Title: "TYPE", Weight: 2},
	}
	return printTable(s.out, widthOf(s.cmd), columns, rows)
}

// download saves files in a folder.
func download(ctx context.Context, s *session, id, dir string, replace bool, files []wire.ResultFile) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	d := &client.Download{Run: id, Folder: root, Replace: replace}
	screen := showDownloads(s, d, files)
	var faults []error
	for i := range files {
		f := &files[i]
		done, err := s.Save(ctx, d, f)
		_ = screen.Show() // the download goes on without a terminal
		switch {
		case err == nil:
			fmt.Fprintf(s.out, "%s  %s  %s\n", filepath.Join(dir, filepath.FromSlash(f.Name)), size(f.Size), done)
		case errors.Is(err, fs.ErrExist):
			faults = append(faults, fmt.Errorf("%s: exists and differs; --force replaces it", filepath.Join(dir, filepath.FromSlash(f.Name))))
		default:
			return errors.Join(append(faults, err)...)
		}
	}
	return errors.Join(faults...)
}

// showDownloads shows the progress of a download if the standard error is a terminal.
func showDownloads(s *session, d *client.Download, files []wire.ResultFile) *terminal.Screen {
	f, ok := s.cmd.ErrOrStderr().(*os.File)
	screen := terminal.NewScreen(s.err, f)
	if !ok || !terminal.Redrawable(f) {
		return screen
	}
	screen = terminal.NewScreen(f, f)
	total := map[string]int64{}
	for i := range files {
		total[files[i].Name] = files[i].Size
	}
	var drawn time.Time
	const interval = 200 * time.Millisecond
	d.Progress = func(name string, n int64) {
		if time.Since(drawn) >= interval {
			drawn = time.Now()
			_ = screen.Show(view.Fit(fmt.Sprintf("%s  %s of %s", name, size(n), size(total[name])), max(1, terminal.Columns(f)-1))) // as above
		}
	}
	return screen
}
