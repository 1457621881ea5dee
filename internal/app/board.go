package app

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

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
func (b *board) snapshot(ctx context.Context) (*dashboard.Snapshot, error) {
	r, err := b.app.studies.Get(ctx, b.id)
	if err != nil {
		return nil, err
	}
	out := &dashboard.Snapshot{}
	if r.Study != nil {
		out.Study = new(wire.NewRun(r, nil, 0, wire.Artifacts{}))
		if r, err = b.cells(ctx, out); err != nil || r == nil {
			return out, err
		}
	}
	s, err := b.app.engine.Snapshot(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	out.Run = new(wire.NewRun(r, s, 0, wire.Artifacts{}))
	out.Phases = dashboard.PhasesOf(new(wire.NewProgress(r, s)))
	metrics := wire.NewMetrics("", r, s)
	out.Elapsed, out.Metrics, out.Load, out.Errors = s.Elapsed, metrics.Metrics, metrics.Saturation, wire.NewErrors(r, s)
	if s.Elapsed > 0 {
		err = b.series(ctx, r, out)
	}
	return out, err
}

// cells adds the cells of a study, and returns the one that is being performed; nil = none.
func (b *board) cells(ctx context.Context, out *dashboard.Snapshot) (active *run.Run, err error) {
	const most = 20
	page, err := b.app.engine.List(ctx, run.Query{Parent: b.id, Descending: true, Limit: most})
	if err != nil {
		return nil, err
	}
	for i := range page.Runs {
		if c := &page.Runs[i]; c.State.Terminal() {
			out.Cells = append(out.Cells, new(wire.NewRun(c, nil, 0, wire.Artifacts{})))
		} else if active == nil {
			active = c
		}
	}
	return active, nil
}

// series adds the time series of a run.
func (b *board) series(ctx context.Context, r *run.Run, out *dashboard.Snapshot) error {
	metrics, err := series.Select(dashboard.Series())
	if err != nil {
		return err
	}
	from, tens := dashboard.SeriesFrom(out.Elapsed)
	to, tensTo := dashboard.SeriesTo(out.Elapsed)
	for _, part := range []struct {
		to **wire.Timeseries
		q  series.Query
	}{
		{to: &out.Seconds, q: series.Query{Metrics: metrics, Step: 1, From: from, To: to}},
		{to: &out.Tens, q: series.Query{Metrics: metrics, Step: dashboard.Window, From: tens, To: tensTo}},
	} {
		if part.q.To == 0 {
			continue
		}
		s, err := b.history.Series(ctx, r.ID, part.q)
		if err != nil {
			return err
		}
		*part.to = wire.NewTimeseries(r, metrics, s)
	}
	return nil
}
