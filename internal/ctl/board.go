package ctl

import (
	"context"
	"os"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/app/dashboard"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/client"
)

// onBoard follows a run on the whole terminal, if there is one that is large enough.
func (w *watcher) onBoard(ctx context.Context, r *client.Run) error {
	out, ok := w.cmd.OutOrStdout().(*os.File)
	if !ok || !dashboard.Possible(out, os.Stdin) {
		return w.follow(ctx, r)
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	w.board = dashboard.Start(dashboard.Options{
		Out: out, In: os.Stdin, Leaves: true, ASCII: terminal.ASCIIOnly(os.Getenv),
		Interrupt: func() { leave(&ExitError{exitInterrupted, errInterrupted}) },
	})
	defer w.leaveBoard()
	return w.follow(ctx, r)
}

// leaveBoard gives the terminal back.
func (w *watcher) leaveBoard() {
	if w.board != nil {
		_, _, _ = w.board.Stop() // the outcome counts, not the terminal
		w.board = nil
	}
}

// snapshot returns what the dashboard shows of a run.
func (w *watcher) snapshot(ctx context.Context, r *client.Run) (*dashboard.Snapshot, error) {
	out := &dashboard.Snapshot{Run: &r.Run}
	if r.Kind == "sweep" {
		const most = 500
		out.Study, out.Run = &r.Run, nil
		cells, err := w.Children(ctx, r.ID, most)
		if err != nil {
			return nil, err
		}
		for _, c := range cells.Items {
			if c.State.Terminal() {
				out.Cells = append([]*wire.Run{&c.Run}, out.Cells...)
			} else if out.Run == nil {
				out.Run = &c.Run
			}
		}
	}
	if out.Run == nil || out.Run.Progress == nil {
		return out, nil
	}
	return out, w.measured(ctx, out)
}

// measured adds the numbers of the run of a snapshot.
func (w *watcher) measured(ctx context.Context, out *dashboard.Snapshot) error {
	live := client.Live{Client: w.Client, ID: out.Run.ID}
	m, err := w.Metrics(ctx, live.ID)
	if err != nil {
		return err
	}
	out.Metrics, out.Load, out.Elapsed = m.Metrics, m.Saturation, time.Duration(m.ElapsedSec*float64(time.Second))
	p, err := live.Progress(ctx)
	if err != nil {
		return err
	}
	out.Phases = dashboard.PhasesOf(p)
	e, err := live.Errors(ctx)
	if err != nil {
		return err
	}
	out.Errors = *e
	from, tens := dashboard.SeriesFrom(out.Elapsed)
	to, tensTo := dashboard.SeriesTo(out.Elapsed)
	if to > 0 {
		out.Seconds, err = live.Timeseries(ctx, dashboard.Series(), 1, from, to)
	}
	if err == nil && tensTo > 0 {
		out.Tens, err = live.Timeseries(ctx, dashboard.Series(), dashboard.Window, tens, tensTo)
	}
	return err
}
