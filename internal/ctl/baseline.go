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
them, copies runs from folders, and promotes candidates of gates in folders.`

func baselineCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Name runs that others are compared with",
		Long:  baselineLong,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(baselineSetCommand(g), baselineListCommand(g), baselineShowCommand(g), baselinePromoteCommand(g),
		baselineRemoveCommand(g))
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
			var err error
			if body.Runs, err = s.resolveAll(ctx, args[1:]); err != nil {
				return err
			}
			data, err := s.SetBaseline(ctx, name, body)
			if err != nil {
				return err
			}
			var revision run.Revision
			if err := json.Unmarshal(data, &revision); err != nil {
				return fmt.Errorf("read revision: %w", err)
			}
			return s.printRevision(data, name, &revision)
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` to keep with the revision")
	completeRuns(g, cmd, true)
	return cmd
}

func baselinePromoteCommand(g *globals) *cobra.Command {
	var note string
	var rules []string
	cmd := &cobra.Command{
		Use:   "promote NAME ID... --rule RULE",
		Short: "Make runs that pass a gate the newest revision of a baseline",
		Long: `Judge runs of the daemon by rules, as aiperfd gate does, against the newest
revision of a baseline with the same workload and target, and make them the
newest revision if they pass. If they do not, the baseline stays as it is, and
the exit code is 1.`,
		Example: `  aiperfd ctl baseline promote main nightly --rule 'ttft:p95<400' \
      --rule 'output_token_throughput>-3%'`,
		Args: cobra.MinimumNArgs(2),
		RunE: g.online([]string{formatJSON, formatYAML, formatName}, func(ctx context.Context, s *session, args []string) error {
			name := args[0]
			if err := run.CheckBaselineName(name); err != nil {
				return usageError("%w", err)
			}
			if len(rules) == 0 {
				return usageError("no rules; give at least one --rule")
			}
			body := wire.Candidate{BaselineRuns: wire.BaselineRuns{Note: note}, Rules: rules}
			var err error
			if body.Runs, err = s.resolveAll(ctx, args[1:]); err != nil {
				return err
			}
			data, err := s.PromoteBaseline(ctx, name, body)
			if err != nil {
				return err
			}
			var promoted struct {
				Revision run.Revision `json:"revision"`
			}
			if err := json.Unmarshal(data, &promoted); err != nil {
				return fmt.Errorf("read revision: %w", err)
			}
			return s.printRevision(data, name, &promoted.Revision)
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` to keep with the revision")
	cmd.Flags().StringArrayVar(&rules, "rule", nil, "`rule` by which the runs are judged (repeatable)")
	completeRuns(g, cmd, true)
	return cmd
}

// resolveAll returns the ids of the runs that texts name.
func (s *session) resolveAll(ctx context.Context, texts []string) ([]string, error) {
	var out []string
	for _, text := range texts {
		id, err := s.Resolve(ctx, text)
		if err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, nil
}

// printRevision prints a new revision; data is what the daemon answered.
func (s *session) printRevision(data []byte, name string, r *run.Revision) error {
	if done, err := s.printed(s.out, data, fmt.Sprintf("%s@%d", name, r.Number)); done {
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s@%d: %s\n", name, r.Number, view.Plural(len(r.Runs), "run"))
	return err
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
