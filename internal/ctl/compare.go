package ctl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/client"
	"aiperfd/internal/compare"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

const compareLong = `Say whether the runs B are better or worse than the runs A, how sure that is,
and what would decide it. This is the answer of aiperfd compare, which its help
describes.

A and B are each a run, several of them separated by commas, or repeats, which
stand for all their runs. Two sweeps are compared value by value.

--table puts the values of 2 to 10 runs side by side instead, with their changes
from the first run and the values in which their configurations differ. It does
not judge them.`

func compareCommand(g *globals) *cobra.Command {
	var q QuestionFlags
	var table, all bool
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Say whether runs are better or worse than others",
		Long:  compareLong,
		Example: `  aiperfd ctl compare before after
  aiperfd ctl compare main-1,main-2,main-3 new-1,new-2,new-3
  aiperfd ctl compare --table 0199f1c2b7c8 latest`,
		Args: cobra.RangeArgs(2, compare.MaxRuns),
		RunE: g.online([]string{formatJSON, formatYAML}, func(ctx context.Context, s *session, args []string) error {
			if table {
				return s.compareTable(ctx, args, all)
			}
			if len(args) > 2 {
				return usageError("%d sides; compare has two, and --table up to %d runs", len(args), compare.MaxRuns)
			}
			if all {
				return usageError("--all is of --table")
			}
			question, err := q.Question(args[0], args[1])
			if err != nil {
				return usageError("%w", err)
			}
			return s.answer(ctx, &question)
		}),
	}
	fs := cmd.Flags()
	q.Register(fs)
	fs.BoolVar(&table, "table", false, "values side by side, without a verdict")
	fs.BoolVar(&all, "all", false, "with --table: all metrics, statistics and differences")
	completeRuns(g, cmd, true)
	return cmd
}

// QuestionFlags are the flags of commands that compare runs.
type QuestionFlags struct {
	margin         string
	metrics, allow []string
}

// Register adds the flags to those of a command.
func (f *QuestionFlags) Register(fs *pflag.FlagSet) {
	fs.StringVar(&f.margin, "margin", "",
		"change that counts as none, for example 2% (default 3% for means and p50, 5% for p90 and p95, 10% for p99)")
	fs.StringSliceVar(&f.metrics, "metric", nil, "`metric` that is judged, such as request_latency:p95 "+
		"(repeatable; default: latencies, throughput, goodput, errors)")
	fs.StringSliceVar(&f.allow, "allow", nil, "JSON `pointer` of a value of the load that may differ (repeatable)")
}

// Question returns the question about two sides, whose runs are separated by commas.
func (f *QuestionFlags) Question(a, b string) (compare.Question, error) {
	q := compare.Question{A: strings.Split(a, ","), B: strings.Split(b, ","), Metrics: f.metrics, Allow: f.allow}
	if f.margin != "" {
		var err error
		if q.Margin, err = compare.ParseShare(f.margin); err != nil {
			return q, fmt.Errorf("--margin %w", err)
		}
	}
	return q, q.Check()
}

// answer asks the daemon a question about runs that are given by id or name, and prints the answer.
func (s *session) answer(ctx context.Context, q *compare.Question) error {
	for _, side := range [][]string{q.A, q.B} {
		for i := range side {
			id, err := s.Resolve(ctx, side[i])
			if err != nil {
				return err
			}
			side[i] = id
		}
	}
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode question: %w", err)
	}
	data, err := s.Answer(ctx, body)
	if err != nil {
		return err
	}
	if s.output != "" {
		return s.printJSON(s.out, data)
	}
	var a compare.Answer
	if err := json.Unmarshal(data, &a); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	_, err = fmt.Fprint(s.out, a.Text(widthOf(s.cmd)))
	return err
}

// compareTable prints the values of runs side by side.
func (s *session) compareTable(ctx context.Context, names []string, all bool) error {
	ids, err := s.comparable(ctx, names)
	if err != nil {
		return err
	}
	data, err := s.Compare(ctx, ids)
	if err != nil {
		return err
	}
	if s.output != "" {
		return s.printJSON(s.out, data)
	}
	var c compare.Comparison
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("read comparison: %w", err)
	}
	return printComparison(s, &c, all)
}

// comparable returns the ids of runs to compare: all runs, or all studies. The error names the runs
// of the studies among others, because a study has no results of its own.
func (s *session) comparable(ctx context.Context, names []string) ([]string, error) {
	const most = 10 // runs of a study that are named
	ids := make([]string, len(names))
	var studies []view.Study
	for i, name := range names {
		r, err := s.find(ctx, name)
		if err != nil {
			return nil, err
		}
		ids[i] = r.ID
		if r.Kind != run.KindSweep || len(names) == 1 {
			continue
		}
		cells, err := s.Children(ctx, r.ID, most)
		if err != nil {
			return nil, err
		}
		study := view.Study{Name: join(" ", r.ID, r.Name), Total: cells.Total, More: ": aiperfd ctl list --parent " + r.ID}
		for _, cell := range cells.Items {
			study.Runs = append(study.Runs, join("  ", cell.ID, stateOf(cell), nameOf(cell)))
		}
		studies = append(studies, study)
	}
	if studies != nil && len(studies) < len(names) { // sweeps are compared with sweeps
		return nil, usageError("%s", view.NotComparable(studies))
	}
	return ids, nil
}

// mainStatistics are the statistics that a comparison shows by default, in order.
func mainStatistics() []struct{ tag, statistic string } {
	return []struct{ tag, statistic string }{
		{"request_throughput", "avg"}, {"output_token_throughput", "avg"}, {"goodput", "avg"},
		{"time_to_first_token", "p50"}, {"time_to_first_token", "p99"}, {"inter_token_latency", "avg"}, {"inter_token_latency", "p99"},
		{"request_latency", "p50"}, {"request_latency", "p99"}, {"error_request_count", "avg"},
	}
}

// runLetter names the runs of a comparison in its table.
func runLetter(i int) string { return string(rune('A' + i)) }

// printComparison prints the runs, a table of metrics, and what the configurations do not
// have in common.
func printComparison(s *session, c *compare.Comparison, all bool) error {
	for i := range c.Runs {
		r := &c.Runs[i]
		notes := []string{}
		if r.ID == c.Baseline {
			notes = append(notes, "baseline")
		}
		if r.Results != compare.Final {
			notes = append(notes, string(r.Results)+" results")
		}
		if r.Reason != nil {
			notes = append(notes, *r.Reason)
		}
		if r.Verdict != nil {
			notes = append(notes, "objectives: "+*r.Verdict)
		}
		if r.Client != nil && *r.Client != "ok" {
			notes = append(notes, "client "+string(*r.Client))
		}
		fmt.Fprintln(s.out, join("  ", runLetter(i), r.ID, string(r.State), r.Name, strings.Join(notes, ", ")))
	}
	fmt.Fprintln(s.out)
	columns := []view.Column{{Title: "METRIC"}, {}}
	for i := range c.Runs {
		columns = append(columns, view.Column{Title: runLetter(i), Weight: 3 * i, Number: true})
		if c.Runs[i].ID != c.Baseline {
			columns = append(columns, view.Column{Title: "CHANGE", Weight: 3*i + 1, Number: true})
		}
	}
	rows := comparisonRows(c, all)
	if len(rows) == 0 {
		fmt.Fprintln(s.err, "no metrics to compare")
	} else if err := printTable(s.out, widthOf(s.cmd), columns, rows); err != nil {
		return err
	}
	marked := func(cell string) bool { return strings.HasSuffix(cell, fewMark) }
	if slices.ContainsFunc(rows, func(row []string) bool { return slices.ContainsFunc(row[2:], marked) }) {
		fmt.Fprintln(s.out, fewMark+" too few independent requests for this percentile")
	}
	return printDifferences(s, c, all)
}

// fewMark follows a percentile of too few independent requests.
const fewMark = "*"

// comparisonRows returns a row per statistic, as the columns of printComparison.
func comparisonRows(c *compare.Comparison, all bool) [][]string {
	var rows [][]string
	row := func(m *compare.Metric, st *compare.Statistic) {
		cells := []string{fmt.Sprintf("%s (%s)", m.Header, m.Unit), st.Name}
		for i := range st.Values {
			v := &st.Values[i]
			text := view.FigureOr(v.Value, "")
			switch {
			case text == "":
				text = "-"
			case v.Unsupported:
				text += fewMark
			}
			cells = append(cells, text)
			if v.Run != c.Baseline {
				cells = append(cells, percent(v.Percent))
			}
		}
		rows = append(rows, cells)
	}
	if all {
		for i := range c.Metrics {
			for j := range c.Metrics[i].Statistics {
				row(&c.Metrics[i], &c.Metrics[i].Statistics[j])
			}
		}
		return rows
	}
	for _, want := range mainStatistics() {
		i := slices.IndexFunc(c.Metrics, func(m compare.Metric) bool { return m.Tag == want.tag })
		if i < 0 {
			continue
		}
		j := slices.IndexFunc(c.Metrics[i].Statistics, func(st compare.Statistic) bool { return st.Name == want.statistic })
		if j >= 0 {
			row(&c.Metrics[i], &c.Metrics[i].Statistics[j])
		}
	}
	return rows
}

// percent formats a change.
func percent(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%+.1f%%", *v)
}

// fewDifferences is the number of differences that are printed by default.
const fewDifferences = 10

// printDifferences prints the values in which the configurations differ.
func printDifferences(s *session, c *compare.Comparison, all bool) error {
	if len(c.Differences) == 0 {
		_, err := fmt.Fprintln(s.out, "\nThe configurations are the same.")
		return err
	}
	columns := []view.Column{{Title: "CONFIGURATION"}}
	for i := range c.Runs {
		columns = append(columns, view.Column{Title: runLetter(i), Weight: i, Number: true})
	}
	var rows [][]string
	for i := range c.Differences {
		if i == fewDifferences && !all {
			break
		}
		d := &c.Differences[i]
		cells := []string{strings.TrimPrefix(d.Pointer, "/")}
		for j := range c.Runs {
			text := "-"
			if k := slices.IndexFunc(d.Values, func(f compare.Field) bool { return f.Run == c.Runs[j].ID }); k >= 0 {
				text = valueText(d.Values[k].Value)
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	fmt.Fprintln(s.out)
	if err := printTable(s.out, widthOf(s.cmd), columns, rows); err != nil {
		return err
	}
	if more := len(c.Differences) - len(rows); more > 0 {
		fmt.Fprintf(s.out, "%d more differences; --all prints them\n", more)
	}
	if c.DifferencesTruncated {
		fmt.Fprintln(s.out, "The daemon has left out further differences.")
	}
	return nil
}

// valueText formats a value of a configuration.
func valueText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	data, err := json.Marshal(v)
	if err != nil {
		return view.Printable(fmt.Sprint(v))
	}
	return string(data)
}

func queueCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "queue",
		Short: "Show the active and the queued runs",
		Args:  cobra.NoArgs,
		RunE: g.online([]string{formatJSON, formatYAML}, func(ctx context.Context, s *session, _ []string) error {
			q, data, err := s.Queue(ctx)
			if err != nil {
				return err
			}
			if s.output != "" {
				return s.printJSON(s.out, data)
			}
			fmt.Fprintf(s.out, "running  %d of %d\nqueued   %d of %d\n", len(q.Running), q.MaxConcurrentRuns, len(q.Queued), q.MaxQueued)
			if q.Paused {
				fmt.Fprintln(s.out, "paused: no run starts")
			}
			ids := append(slices.Clone(q.Running), q.Queued...)
			if len(ids) == 0 {
				return nil
			}
			list, err := s.List(ctx, map[string][]string{"state": {"queued,starting,running,stopping,exporting"}, "include": {"children"}}, maxLimit)
			if err != nil {
				return err
			}
			list.Items = slices.DeleteFunc(list.Items, func(r *client.Run) bool { return !slices.Contains(ids, r.ID) && r.Kind != run.KindSweep })
			place := func(r *client.Run) int { return slices.Index(ids, r.ID) } // -1 = a study, which is performed by its runs
			slices.SortStableFunc(list.Items, func(a, b *client.Run) int { return place(a) - place(b) })
			fmt.Fprintln(s.out)
			return s.printRuns(list.Items, time.Now())
		}),
	}
}
