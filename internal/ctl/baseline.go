package ctl

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

const baselineLong = `A baseline is a name for runs that aiperfd gate compares candidates with. It has
revisions, which do not change: a new one takes the place of the one before it,
and name@2 still means the second one. Its runs are pinned.

These commands are about the baselines of a daemon. aiperfd baseline measures
them, copies runs from folders, and promotes candidates of gates.`

func baselineCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Name runs that others are compared with",
		Long:  baselineLong,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(baselineSetCommand(g), baselineListCommand(g), baselineShowCommand(g), baselineRemoveCommand(g))
	return cmd
}

func baselineSetCommand(g *globals) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:   "set NAME ID...",
		Short: "Make runs the newest revision of a baseline",
		Long: `Make runs of the daemon, which have ended, the newest revision of a baseline.
Repeats stand for all their runs. The runs must put the same load on their
servers. If they are the newest revision already, nothing changes.`,
		Example: `  aiperfd ctl baseline set main nightly --note 'release 1.4'`,
		Args:    cobra.MinimumNArgs(2),
		RunE: g.online([]string{formatJSON, formatYAML, formatName}, func(ctx context.Context, s *session, args []string) error {
			name := args[0]
			if err := run.CheckBaselineName(name); err != nil {
				return usageError("%w", err)
			}
			body := wire.BaselineRuns{Note: note}
			for _, text := range args[1:] {
				id, err := s.Resolve(ctx, text)
				if err != nil {
					return err
				}
				body.Runs = append(body.Runs, id)
			}
			data, err := s.SetBaseline(ctx, name, body)
			if err != nil {
				return err
			}
			var revision run.Revision
			if err := json.Unmarshal(data, &revision); err != nil {
				return fmt.Errorf("read revision: %w", err)
			}
			if done, err := s.printed(s.out, data, fmt.Sprintf("%s@%d", name, revision.Number)); done {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s@%d: %s\n", name, revision.Number, view.Plural(len(revision.Runs), "run"))
			return err
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` to keep with the revision")
	completeRuns(g, cmd, true)
	return cmd
}

func baselineListCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List baselines",
		Args:    cobra.NoArgs,
		RunE: g.online([]string{formatJSON, formatYAML, formatName}, func(ctx context.Context, s *session, _ []string) error {
			data, err := s.Baseline(ctx, "", 0)
			if err != nil {
				return err
			}
			var all wire.Baselines
			if err := json.Unmarshal(data, &all); err != nil {
				return fmt.Errorf("read baselines: %w", err)
			}
			var names []string
			for i := range all.Items {
				names = append(names, all.Items[i].Name)
			}
			if done, err := s.printed(s.out, data, names...); done {
				return err
			}
			if len(all.Items) == 0 {
				_, err := fmt.Fprintln(s.err, "no baselines")
				return err
			}
			columns, rows := BaselineTable(all.Items)
			return printTable(s.out, widthOf(s.cmd), columns, rows)
		}),
	}
}

// BaselineTable returns a table of baselines, each with its newest revision.
func BaselineTable(list []run.Baseline) ([]view.Column, [][]string) {
	columns := []view.Column{
		{Title: "NAME"}, {Title: "REVISIONS", Weight: 3, Number: true}, {Title: "NEWEST", Number: true},
		{Title: "RUNS", Number: true}, {Title: "CREATED", Weight: 1}, {Title: "NOTE", Weight: 2},
	}
	var rows [][]string
	for i := range list {
		r := list[i].Newest()
		rows = append(rows, []string{
			list[i].Name, strconv.Itoa(len(list[i].Revisions)), strconv.Itoa(r.Number), strconv.Itoa(len(r.Runs)),
			r.Created.UTC().Format(time.DateTime + "Z"), r.Note,
		})
	}
	return columns, rows
}

func baselineShowCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME[@REVISION]",
		Short: "Show the revisions of a baseline, or one of them, as JSON",
		Args:  cobra.ExactArgs(1),
		RunE: g.online([]string{formatJSON, formatYAML}, func(ctx context.Context, s *session, args []string) error {
			name, revision, err := run.SplitBaseline(args[0])
			if err != nil {
				return usageError("%w", err)
			}
			if err := run.CheckBaselineName(name); err != nil {
				return usageError("%w", err)
			}
			data, err := s.Baseline(ctx, name, revision)
			if err != nil {
				return err
			}
			return s.printJSON(s.out, data)
		}),
	}
}

func baselineRemoveCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME[@REVISION]",
		Aliases: []string{"remove"},
		Short:   "Remove a baseline, or one of its revisions",
		Long:    `Remove a baseline, or one of its revisions. Its runs stay, and stay pinned.`,
		Args:    cobra.ExactArgs(1),
		RunE: g.online(nil, func(ctx context.Context, s *session, args []string) error {
			name, revision, err := run.SplitBaseline(args[0])
			if err != nil {
				return usageError("%w", err)
			}
			if err := run.CheckBaselineName(name); err != nil {
				return usageError("%w", err)
			}
			if err := s.RemoveBaseline(ctx, name, revision); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "baseline %s removed\n", args[0])
			return err
		}),
	}
}
