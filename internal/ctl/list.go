package ctl

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/client"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/view"
)

const listLong = `List runs, the active and queued ones first, then the newest. The columns that
do not fit the terminal are left out; -o wide shows all, and whole ids.

TIME is the duration of the run; TTFT and LATENCY are in milliseconds; BY is the
name of the token that submitted the run.`

// listFlags are the filters of GET /api/runs, and how many runs to show.
type listFlags struct {
	state, model, target, q, kind, parent, after, before, sort string

	labels []string
	cells  bool
	limit  int
}

// maxLimit bounds the memory of a list.
const maxLimit = 10_000

func listCommand(g *globals) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List runs",
		Long:    listLong,
		Example: "  aiperfd ctl list --state running,queued\n  aiperfd ctl list --label gpu=h100 --sort -ended_at -o json",
		Args:    cobra.NoArgs,
		RunE: g.online([]string{formatWide, formatJSON, formatYAML, formatName}, func(ctx context.Context, s *session, _ []string) error {
			return f.print(ctx, s)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.state, "state", "", "`states`, separated by commas: queued, starting, running, stopping, exporting, completed, cancelled, failed")
	fs.StringArrayVar(&f.labels, "label", nil, "`label`: NAME=VALUE, NAME, !NAME or !NAME=VALUE (repeatable)")
	fs.StringVar(&f.model, "model", "", "`name` of a model")
	fs.StringVar(&f.target, "target", "", "`URL` of a server, or a part of it")
	fs.StringVar(&f.q, "search", "", "`text` in names, models, targets and notes")
	fs.StringVar(&f.kind, "kind", "", "run or sweep")
	fs.StringVar(&f.parent, "parent", "", "`ID` of a study whose runs to list")
	fs.BoolVar(&f.cells, "cells", false, "list the runs of studies too")
	fs.StringVar(&f.after, "after", "", "submitted after this `time`, such as 2026-05-04T10:00:00Z or 24h (ago)")
	fs.StringVar(&f.before, "before", "", "submitted before this `time`")
	fs.StringVar(&f.sort, "sort", "", "created_at, started_at, ended_at, name, duration, or a number of the summary such as time_to_first_token_p99_ms; with - in front, descending")
	fs.IntVar(&f.limit, "limit", 50, "show at most this `number` of runs")
	completeFlags(cmd)
	return cmd
}

// query returns the parameters of the request.
func (f *listFlags) query(ctx context.Context, s *session) (url.Values, error) {
	out := url.Values{}
	set := func(name, value string) {
		if value != "" {
			out.Set(name, value)
		}
	}
	if f.limit < 1 || f.limit > maxLimit {
		return nil, usageError("--limit %d: must be from 1 to %d", f.limit, maxLimit)
	}
	after, err := timeOf("--after", f.after)
	if err != nil {
		return nil, err
	}
	before, err := timeOf("--before", f.before)
	if err != nil {
		return nil, err
	}
	if f.parent != "" {
		if f.parent, err = s.Resolve(ctx, f.parent); err != nil {
			return nil, err
		}
	}
	for name, value := range map[string]string{
		"state": f.state, "model": f.model, "target": f.target, "q": f.q, "kind": f.kind, "parent_id": f.parent,
		"created_after": after, "created_before": before, "sort": f.sort,
	} {
		set(name, value)
	}
	if f.cells {
		out.Set("include", "children")
	}
	if len(f.labels) > 0 {
		out["label"] = f.labels
	}
	return out, nil
}

// timeOf reads a time, or a duration before now.
func timeOf(flag, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return time.Now().Add(-ago).UTC().Format(time.RFC3339Nano), nil
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
		return "", usageError("%s %q: must be a time such as 2026-05-04T10:00:00Z, or a duration such as 24h", flag, text)
	}
	return text, nil
}

func (f *listFlags) print(ctx context.Context, s *session) error {
	query, err := f.query(ctx, s)
	if err != nil {
		return err
	}
	list, err := s.List(ctx, query, f.limit)
	if err != nil {
		return err
	}
	items, ids := []json.RawMessage{}, []string{}
	for _, r := range list.Items {
		items, ids = append(items, r.JSON), append(ids, r.ID)
	}
	if done, err := s.printed(s.out, map[string]any{"items": items, "total": list.Total}, ids...); done {
		return err
	}
	if err := s.printRuns(list.Items, time.Now()); err != nil {
		return err
	}
	if more := list.Total - len(list.Items); more > 0 {
		fmt.Fprintf(s.err, "%d of %d runs; --limit shows more\n", len(list.Items), list.Total)
	}
	return nil
}

// printRuns prints a table of runs.
func (s *session) printRuns(runs []*client.Run, now time.Time) error {
	if len(runs) == 0 {
		fmt.Fprintln(s.err, "no runs")
		return nil
	}
	columns := []view.Column{
		{Title: "ID"}, {Title: "NAME", Weight: 3}, {Title: "STATE"}, {Title: "MODEL", Weight: 8},
		{Title: "AGE", Weight: 1, Number: true}, {Title: "TIME", Weight: 7, Number: true},
		{Title: "REQUESTS", Weight: 10, Number: true}, {Title: "ERRORS", Weight: 6, Number: true},
		{Title: "REQ/S", Weight: 2, Number: true}, {Title: "TOK/S", Weight: 9, Number: true},
		{Title: "TTFT p99", Weight: 4, Number: true}, {Title: "LATENCY p99", Weight: 5, Number: true},
		{Title: "SLO", Weight: 4}, {Title: "BY", Weight: 11}, {Title: "LABELS", Weight: 12},
	}
	wide, width := s.output == formatWide, widthOf(s.cmd)
	if wide {
		columns, width = append(columns, view.Column{Title: "TARGET"}, view.Column{Title: "CLIENT"}), 0
	}
	digits := shortID(runs)
	rows := make([][]string, 0, len(runs))
	for _, r := range runs {
		row := runRow(r, now)
		if !wide {
			row = row[:len(columns)]
			row[0] = r.ID[:min(digits, len(r.ID))]
		}
		rows = append(rows, row)
	}
	return printTable(s.out, width, used(columns, rows), rows)
}

// used gives the columns that have no value in any row the largest weight, so that they
// are left out first.
func used(columns []view.Column, rows [][]string) []view.Column {
	for i := range columns {
		empty := true
		for _, row := range rows {
			empty = empty && row[i] == ""
		}
		if empty && columns[i].Weight > 0 {
			columns[i].Weight += 100
		}
	}
	return columns
}

// shortID returns how many digits of the ids are shown: the first 12 are the time of the
// submission in milliseconds, unless that does not tell the runs apart.
func shortID(runs []*client.Run) int {
	const usual, whole = 12, 32
	seen := map[string]bool{}
	for _, r := range runs {
		short := r.ID[:min(usual, len(r.ID))]
		if seen[short] {
			return whole
		}
		seen[short] = true
	}
	return usual
}

// runRow returns the cells of a run, as the columns of printRuns.
func runRow(r *client.Run, now time.Time) []string {
	row := []string{
		r.ID, nameOf(r), stateOf(r), strings.Join(r.Models, ","), age(now.Sub(r.CreatedAt)), durationOf(r, now),
		"", "", "", "", "", "", "", r.SubmittedBy, labelsOf(r), strings.Join(r.Targets, ","), "",
	}
	if m := r.Summary; m != nil {
		row[6], row[7] = fmt.Sprint(m.Requests), fmt.Sprint(m.Errors)
		row[8], row[9], row[10], row[11] = view.FigureOr(m.RequestThroughput, ""), view.FigureOr(m.OutputTokenThroughput, ""), view.FigureOr(m.TTFTP99, ""), view.FigureOr(m.LatencyP99, "")
	}
	if r.Verdict != nil {
		row[12] = *r.Verdict
	}
	if r.Client != nil {
		row[16] = string(r.Client.Verdict)
	}
	return row
}

// nameOf returns the name of a run, with its place if it belongs to a study.
func nameOf(r *client.Run) string {
	if r.Cell == nil {
		return r.Name
	}
	return join(" ", r.Name, strings.TrimPrefix(r.Cell.Label, "phases.profiling."))
}

// stateOf returns the state with how far the run is.
func stateOf(r *client.Run) string {
	switch {
	case r.State == bench.StateQueued && r.QueuePosition != nil:
		return fmt.Sprintf("queued #%d", *r.QueuePosition)
	case r.State == bench.StateRunning && r.Progress != nil && r.Progress.Percent != nil:
		return fmt.Sprintf("running %.0f%%", *r.Progress.Percent)
	}
	return string(r.State)
}

func labelsOf(r *client.Run) string { return strings.Join(labelList(r.Labels), ",") }

// durationOf returns how long a run has taken so far.
func durationOf(r *client.Run, now time.Time) string {
	switch {
	case r.StartedAt == nil:
		return ""
	case r.EndedAt != nil:
		now = *r.EndedAt
	}
	return length(now.Sub(*r.StartedAt))
}

// age formats how long ago something was: the largest unit.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// length formats a duration: 12.3s, 5m10s, 2h05m.
func length(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
