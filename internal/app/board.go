package app

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"aiperfd/internal/api/results"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/app/dashboard"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/run"
)

// boardEvery is how often the dashboard of a run gets a new snapshot.
const boardEvery = 500 * time.Millisecond

// fullScreen reports whether the run of a document is shown on the whole terminal.
func fullScreen(d *config.Document) bool {
	return d.Benchmark.Runtime.UI == "dashboard" && dashboard.Possible(os.Stderr, os.Stdin)
}

var _ terminal.Source = (*board)(nil)

// board shows a run or a study of this process on the whole terminal.
type board struct {
	*dashboard.Dashboard
	app     *app
	history *engine.History
	id      string
	screen  *terminal.Screen
}

// showBoard shows a run until stop is called, which gives the terminal back and prints the
// lines of the log that appeared meanwhile. stop may be called several times. Keys that ask
// for the end of the run are sent to keys.
func (o *oneShot) showBoard(ctx context.Context, a *app, id string, keys chan<- os.Signal) (stop func()) {
	b := &board{app: a, history: engine.NewHistory(a.engine), id: id, screen: o.screen}
	b.Dashboard = dashboard.Start(dashboard.Options{
		Out: os.Stderr, In: os.Stdin, ASCII: terminal.ASCIIOnly(os.Getenv),
		Interrupt: func() {
			select {
			case keys <- os.Interrupt:
			default: // the ones before are still being handled
			}
		},
	})
	o.screen.Divert(b.Log())
	ctx, cancel := context.WithCancel(ctx)
	var updates sync.WaitGroup
	updates.Go(func() { b.follow(ctx) })
	return sync.OnceFunc(func() {
		cancel()
		updates.Wait()
		b.close()
	})
}

// follow shows snapshots until ctx or the dashboard ends.
func (b *board) follow(ctx context.Context) {
	tick := time.NewTicker(boardEvery)
	defer tick.Stop()
	for {
		if s, err := b.snapshot(ctx); err == nil { // else the next one may be there
			b.Show(s, "")
		}
		select {
		case <-tick.C:
		case <-b.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// close gives the terminal back.
func (b *board) close() {
	lines, dropped, err := b.Stop()
	b.screen.Divert(nil)
	if dropped > 0 {
		_, _ = fmt.Fprintf(b.screen, "%d earlier lines are in the log file only\n", dropped) // the run does not fail because its terminal is gone
	}
	for _, line := range lines {
		_, _ = fmt.Fprintln(b.screen, line) // likewise
	}
	if err != nil {
		_, _ = fmt.Fprintf(b.screen, "the dashboard ended early: %v\n", err) // likewise
	}
}

// snapshot returns what the dashboard shows.
func (b *board) snapshot(ctx context.Context) (*terminal.Snapshot, error) {
	r, err := b.app.studies.Get(ctx, b.id)
	if err != nil {
		return nil, err
	}
	return terminal.ReadSnapshot(ctx, b, new(wire.NewRun(r, nil, 0, wire.Artifacts{})))
}

// Cells implements [terminal.Source].
func (b *board) Cells(ctx context.Context, study string) ([]*wire.Run, error) {
	const most = 20
	page, err := b.app.engine.List(ctx, run.Query{Parent: study, Descending: true, Limit: most})
	if err != nil {
		return nil, err
	}
	out := make([]*wire.Run, len(page.Runs))
	for i := range page.Runs {
		out[i] = new(wire.NewRun(&page.Runs[i], nil, 0, wire.Artifacts{}))
	}
	return out, nil
}

// Measured implements [terminal.Source].
func (b *board) Measured(ctx context.Context, active *wire.Run) (*terminal.Measured, error) {
	r, err := b.app.studies.Get(ctx, active.ID)
	if err != nil {
		return nil, err
	}
	s, err := b.app.engine.Snapshot(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return &terminal.Measured{
		Run: new(wire.NewRun(r, s, 0, wire.Artifacts{})), Progress: new(wire.NewProgress(r, s)),
		Metrics: new(wire.NewMetrics("", r, s)), Errors: new(wire.NewErrors(r, s)),
	}, nil
}

// Timeseries implements [terminal.Source].
func (b *board) Timeseries(
	ctx context.Context, id string, names []string, step, from, to int64,
) (*wire.Timeseries, error) {
	r, err := b.app.studies.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	metrics, err := series.Select(names)
	if err != nil {
		return nil, err
	}
	s, err := b.history.Series(ctx, id, series.Query{Metrics: metrics, Step: step, From: from, To: to})
	if err != nil {
		return nil, err
	}
	return results.NewTimeseries(r, metrics, s), nil
}
