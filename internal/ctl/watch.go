package ctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/app/dashboard"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/client"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

const watchLong = `Follow a run until it has ended, the active one by default: on a terminal as a
full-screen display, or with --ui simple in two lines, otherwise with a line for
each change and every 10 seconds. -o json prints the run whenever its state
changes, one per line.

If the connection is lost, or the daemon restarts, the command continues when
the daemon answers again. Interrupting it does not stop the run.

Exit codes: 0 the run completed, 1 it failed, 3 it missed an objective, 124
--timeout, 130 it was cancelled or the command was interrupted.`

func watchCommand(g *globals) *cobra.Command {
	var ui string
	cmd := &cobra.Command{
		Use:     "watch [ID]",
		Short:   "Follow a run until it has ended",
		Long:    watchLong,
		Example: "  aiperfd ctl watch\n  aiperfd ctl watch 0199f1c2b7c8 --timeout 30m",
		Args:    cobra.MaximumNArgs(1),
		RunE: g.online([]string{formatJSON}, func(ctx context.Context, s *session, args []string) error {
			name := "current"
			if len(args) > 0 {
				name = args[0]
			}
			if ui != "dashboard" && ui != "simple" {
				return usageError("--ui %q: must be dashboard or simple", ui)
			}
			r, err := s.find(ctx, name)
			if err != nil {
				return err
			}
			w := newWatcher(s, s.cmd.OutOrStdout())
			switch {
			case s.output == formatJSON:
				w.json, w.draw = true, false
			case ui == "dashboard" && !r.State.Terminal():
				return w.onBoard(ctx, r)
			}
			return w.follow(ctx, r)
		}),
	}
	cmd.Flags().StringVar(&ui, "ui", "dashboard", "`display` on a terminal: dashboard (full screen) or simple (two lines)")
	completeRuns(g, cmd, false)
	return cmd
}

// The intervals of a watcher.
const (
	firstPoll  = 200 * time.Millisecond
	maxPoll    = time.Second
	reconnect  = 5 * time.Second // the longest pause between attempts
	statsEvery = 10 * time.Second
)

// watcher shows a run until it has ended.
type watcher struct {
	*session
	screen *terminal.Screen
	draw   bool // a status that is replaced; false = lines
	quiet  bool // show nothing but the end
	json   bool // print runs as JSON; nothing else goes to the standard output
	width  func() int

	board *dashboard.Dashboard // nil = none

	shown   string    // state and phase of the last line
	printed time.Time // of the last line of statistics
	lost    bool      // the daemon does not answer
	rev     int64     // of the last run that was printed as JSON
}

// newWatcher returns a watcher that writes to w.
func newWatcher(s *session, w io.Writer) *watcher {
	out := &watcher{session: s, screen: terminal.NewScreen(terminal.Plain(w), nil), width: func() int { return 0 }, rev: -1}
	if f, ok := w.(*os.File); ok && terminal.Redrawable(f) {
		out.screen, out.draw, out.width = terminal.NewScreen(w, f), true, func() int { return terminal.Columns(f) }
	}
	return out
}

// follow shows a run until it has ended, and returns its outcome.
func (w *watcher) follow(ctx context.Context, r *client.Run) error {
	defer func() { _ = w.screen.Show() }() // the outcome counts, not the terminal
	id, pause := r.ID, firstPoll
	for {
		if r != nil {
			w.show(ctx, r)
			if r.State.Terminal() {
				return w.end(r)
			}
		}
		if client.Sleep(ctx, pause) != nil {
			w.leaveBoard()
			_ = w.screen.Show()
			w.line(fmt.Sprintf("run %s is still running; stop it with aiperfd ctl cancel", id))
			return context.Cause(ctx)
		}
		var err error
		if r, err = w.Run(ctx, id); err == nil {
			pause = min(pause*5/4, maxPoll)
			w.found()
			continue
		}
		if ctx.Err() == nil && !client.Transient(err) {
			return err
		}
		r, pause = nil, min(pause*2, reconnect)
		w.lose(ctx, err)
	}
}

// lose says once that the daemon does not answer.
func (w *watcher) lose(ctx context.Context, err error) {
	if w.lost || ctx.Err() != nil {
		return
	}
	w.lost = true
	if w.board != nil {
		w.board.Show(nil, "connection lost")
		return
	}
	_ = w.screen.Show()
	fmt.Fprintf(w.err, "connection lost, trying again: %v\n", err)
}

// found says that the daemon answers again.
func (w *watcher) found() {
	if w.lost {
		w.lost = false
		if w.board != nil {
			return // the next snapshot has no note
		}
		fmt.Fprintln(w.err, "connected again")
	}
}

// show shows a run.
func (w *watcher) show(ctx context.Context, r *client.Run) {
	if w.json {
		w.showJSON(r)
		return
	}
	if w.quiet || r.State.Terminal() {
		return
	}
	if w.board != nil {
		if s, err := terminal.ReadSnapshot(ctx, daemonSource{w.Client}, &r.Run); err == nil { // else the next request for the run reports it
			w.board.Show(s, "")
		}
		return
	}
	if w.draw {
		status := []string{w.bar(r)}
		if numbers := w.live(ctx, r); numbers != "" {
			status = append(status, numbers)
		}
		_ = w.screen.Show(status...) // the run goes on without a terminal
		return
	}
	if state := changeOf(r); state != w.shown {
		w.shown = state
		w.line(fmt.Sprintf("%s %s", r.ID, state))
	}
	if now := time.Now(); now.Sub(w.printed) >= statsEvery && r.Progress != nil {
		first := w.printed.IsZero()
		w.printed = now
		if !first {
			w.line(join("  ", progressText(r), w.live(ctx, r)))
		}
	}
}

// showJSON prints a run that has changed, in one line.
func (w *watcher) showJSON(r *client.Run) {
	if r.Revision != w.rev {
		w.rev = r.Revision
		fmt.Fprintln(w.out, string(r.JSON))
	}
}

// line prints a line above the status.
func (w *watcher) line(text string) {
	if w.json {
		return
	}
	_, _ = fmt.Fprintln(w.screen, view.Printable(text)) // the run goes on without a terminal
}

// changeOf returns the state of a run, and its phase or variation.
func changeOf(r *client.Run) string {
	state := string(r.State)
	if r.State == bench.StateQueued {
		state = stateOf(r)
	}
	if p := r.Progress; p != nil && r.State == bench.StateRunning {
		state = join(" ", state, p.Phase, p.CurrentCell)
	}
	return join(": ", state, r.StateReason)
}

// bar returns the progress of a run in one line.
func (w *watcher) bar(r *client.Run) string {
	const most, least = 40, 8
	width := w.width() - 1 // some terminals wrap when the last column is filled
	if width < 1 {
		width = 79
	}
	p := r.Progress
	if p == nil || p.Percent == nil {
		return view.Fit(join("  ", changeOf(r), progressText(r)), width)
	}
	before, after := join(" ", changeOf(r))+" |", fmt.Sprintf("| %3.0f%%  %s", *p.Percent, progressText(r))
	room := min(most, width-view.Width(before)-view.Width(after))
	if room < least {
		return view.Fit(changeOf(r)+"  "+strings.TrimPrefix(after, "| "), width)
	}
	style := terminal.Style{ASCII: terminal.ASCIIOnly(os.Getenv)}
	return before + style.Fill(min(max(*p.Percent/100, 0), 1), room) + after
}

// progressText returns the counts of the progress of a run.
func progressText(r *client.Run) string {
	p := r.Progress
	if p == nil {
		return ""
	}
	var out []string
	if p.CellsTotal != nil && p.CellsDone != nil {
		out = append(out, fmt.Sprintf("%d of %d runs", *p.CellsDone, *p.CellsTotal))
		if p.CellsFailed != nil && *p.CellsFailed > 0 {
			out = append(out, fmt.Sprintf("%d failed", *p.CellsFailed))
		}
		return strings.Join(out, ", ")
	}
	out = append(out, fmt.Sprintf("%d done", p.Completed), view.Plural(p.Errors, "error"), fmt.Sprintf("%d in flight", p.InFlight))
	if p.ETASec != nil && *p.ETASec > 0 {
		out = append(out, length(time.Duration(*p.ETASec*float64(time.Second)))+" left")
	}
	return strings.Join(out, ", ")
}

// live returns the newest numbers of a run that sends requests, as many as fit.
func (w *watcher) live(ctx context.Context, r *client.Run) string {
	if r.State != bench.StateRunning || r.Kind == "sweep" {
		return ""
	}
	m, err := w.Metrics(ctx, r.ID)
	if err != nil {
		return "" // the next request for the run reports it
	}
	text := liveNumbers(m)
	if width := w.width(); width > 0 {
		for view.Width(text) >= width && strings.Contains(text, "  ") {
			text = text[:strings.LastIndex(text, "  ")]
		}
	}
	return text
}

// liveNumbers returns the main metrics.
func liveNumbers(m *wire.Metrics) string {
	var out []string
	for _, n := range terminal.Numbers(m.Get) {
		text := n.Value + " " + n.Unit
		if n.Name != "" {
			text = n.Name + " p50/p99 " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "  ")
}

// end prints how a run has ended, and returns the exit code.
func (w *watcher) end(r *client.Run) error {
	w.leaveBoard()
	_ = w.screen.Show()
	w.line(outcomeLine(r))
	if !w.quiet && r.State == bench.StateCompleted {
		w.line("aiperfd ctl results " + r.ID + " prints the results")
	}
	return outcome(r)
}

// outcomeLine returns the end of a run with its main numbers.
func outcomeLine(r *client.Run) string {
	out := []string{join(" ", "run", r.ID, string(r.State))}
	if took := durationOf(r, r.CreatedAt); took != "" {
		out[0] += " in " + took
	}
	if m := r.Summary; m != nil && m.Requests+m.Errors > 0 {
		out = append(out, fmt.Sprintf("%s, %s", view.Plural(m.Requests, "request"), view.Plural(m.Errors, "error")),
			labelled("", m.RequestThroughput, " req/s"), labelled("", m.OutputTokenThroughput, " tok/s"),
			labelled("TTFT p99 ", m.TTFTP99, " ms"), labelled("latency p99 ", m.LatencyP99, " ms"))
	}
	return join("  ", out...)
}

// outcome returns the exit code of a run that has ended.
func outcome(r *client.Run) error {
	switch {
	case r.State == bench.StateCancelled:
		return &ExitError{exitInterrupted, errors.New(join(": ", "the run was cancelled", r.StateReason))}
	case r.State == bench.StateFailed && r.Error != nil:
		return &ExitError{exitFailed, fmt.Errorf("the run failed: %s: %s", r.Error.Code, r.Error.Message)}
	case r.State == bench.StateFailed:
		return &ExitError{exitFailed, errors.New(join(": ", "the run failed", r.StateReason))}
	case r.Verdict != nil && *r.Verdict == "fail":
		lines := []string{"the run missed an objective"}
		if p := r.Progress; p != nil && len(p.Objectives) > 0 {
			lines[0] = "a run missed an objective"
			for _, line := range (&run.Study{Objectives: p.Objectives}).MissedLines() {
				lines = append(lines, "  "+line)
			}
		}
		if r.Summary != nil {
			for i := range r.Summary.SLOs {
				if o := &r.Summary.SLOs[i]; !o.Met {
					lines = append(lines, "  "+o.Line())
				}
			}
		}
		return &ExitError{exitSLO, errors.New(strings.Join(lines, "\n"))}
	}
	return nil
}
