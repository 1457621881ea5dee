package ctl

import (
	"context"
	"os"
	"slices"

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

// daemonSource is the daemon as the source of what is shown.
type daemonSource struct{ *client.Client }

var _ terminal.Source = daemonSource{}

// Cells implements [terminal.Source].
func (d daemonSource) Cells(ctx context.Context, study string) ([]*wire.Run, error) {
	const most = 500
	cells, err := d.Children(ctx, study, most)
	if err != nil {
		return nil, err
	}
	out := make([]*wire.Run, 0, len(cells.Items))
	for _, c := range slices.Backward(cells.Items) {
		out = append(out, &c.Run)
	}
	return out, nil
}

// Measured implements [terminal.Source].
func (d daemonSource) Measured(ctx context.Context, r *wire.Run) (*terminal.Measured, error) {
	if r.Progress == nil {
		return nil, nil
	}
	out := &terminal.Measured{Run: r}
	var err error
	if out.Metrics, err = d.Metrics(ctx, r.ID); err != nil {
		return nil, err
	}
	if out.Progress, err = d.Progress(ctx, r.ID); err != nil {
		return nil, err
	}
	out.Errors, err = d.Errors(ctx, r.ID)
	return out, err
}
