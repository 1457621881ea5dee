package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/client"
	"aiperfd/internal/engine/export"
)

// demoDocument is the benchmark of the demonstration, with a placeholder for the
// URL of the server.
const demoDocument = `
metadata: {name: demo}
benchmark:
  model: demo-model
  endpoint: {url: "%s", type: chat, streaming: true}
  dataset: {type: synthetic, entries: 200, isl: {mean: 200, stddev: 50}, osl: 48}
  tokenizer: {name: builtin}
  phases:
    - {name: warmup, kind: warmup, type: concurrency, concurrency: 4, requests: 8}
    - {name: profiling, kind: profiling, type: poisson, rate: 25, concurrency: 64, duration: 8, gracePeriod: 10}
  slos: {time_to_first_token: 200, inter_token_latency: 30}
`

// Demo is a demonstration: a daemon, a simulated server and one benchmark.
type Demo struct {
	Out     io.Writer
	Once    bool   // end after the results
	Port    int    // of the daemon; 0 = a free port
	DataDir string // empty = a temporary folder
	Version string
}

// Run performs the demonstration until the results are printed or, unless Once is
// set, until a signal.
func (d *Demo) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer onSignals(func(os.Signal) { cancel() })()
	if d.DataDir == "" {
		if d.DataDir, err = os.MkdirTemp("", "aiperfd-demo-"); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(d.DataDir)) }()
	}
	target, stopMock, err := startMock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopMock()) }()
	daemon, err := OpenDaemon(ctx, DaemonOptions{
		Host: "127.0.0.1", Port: d.Port, DataDir: d.DataDir, Version: d.Version,
		Log: terminal.NewLogger(os.Stderr, zerolog.WarnLevel, terminal.Colored(os.Stderr)),
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1) // one value, so that the goroutine never blocks
	go func() { ended <- daemon.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended)
	}()
	fmt.Fprintf(d.Out, "simulated server  %s\ndaemon            %s\n\n", target, daemon.URL())
	if err := d.benchmark(ctx, daemon, target); err != nil {
		return err
	}
	if !d.Once {
		fmt.Fprintln(d.Out, "\nstill serving; press Ctrl+C to exit")
		<-ctx.Done()
	}
	return nil
}

// benchmark posts the demo's document, follows the run and prints its results.
func (d *Demo) benchmark(ctx context.Context, daemon *Daemon, target string) error {
	api, err := client.New(client.Options{Server: daemon.URL(), UserAgent: "aiperfd demo"})
	if err != nil {
		return err
	}
	r, err := api.Submit(ctx, fmt.Appendf(nil, demoDocument, target), "application/yaml")
	if err != nil {
		return err
	}
	id := r.ID
	for {
		if r, err = api.Run(ctx, id); err != nil {
			return err
		}
		fmt.Fprintln(d.Out, progressLine(r))
		if r.State.Terminal() {
			break
		}
		if err := client.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	if err := d.results(ctx, daemon, id); err != nil {
		return err
	}
	if d.Once {
		fmt.Fprintln(d.Out, "\nwithout --once, the daemon keeps running: live page, API and Prometheus metrics")
		return nil
	}
	resource := daemon.URL() + "/api/runs/" + id
	fmt.Fprintln(d.Out)
	for _, u := range []struct{ what, url string }{
		{"live page", daemon.URL() + "/"}, {"run", resource}, {"results", resource + "/results"},
		{"files", resource + "/results/list"}, {"Prometheus", daemon.URL() + "/metrics"}, {"API", daemon.URL() + "/docs"},
	} {
		fmt.Fprintf(d.Out, "%-11s %s\n", u.what, u.url)
	}
	fmt.Fprintf(d.Out, "%-11s %s\n", "folder", filepath.Join(d.DataDir, "runs", id))
	return nil
}

// progressLine returns how far a run is.
func progressLine(r *client.Run) string {
	line := fmt.Sprintf("%-10s", r.State)
	if p := r.Progress; p != nil && p.Phase != "" {
		line += fmt.Sprintf(" %-10s", p.Phase)
		if p.Percent != nil {
			line += fmt.Sprintf(" %5.1f %%", *p.Percent)
		}
		line += fmt.Sprintf("   sent %d, done %d, errors %d, in flight %d", p.Sent, p.Completed, p.Errors, p.InFlight)
	}
	if r.StateReason != "" {
		line += "   " + r.StateReason
	}
	return line
}

// results prints a summary of the results.
func (d *Demo) results(ctx context.Context, daemon *Daemon, id string) error {
	if _, err := daemon.engine.Wait(ctx, id); err != nil {
		return err
	}
	report := daemon.engine.Report(id)
	if report == nil {
		return errors.New("the run measured nothing")
	}
	return export.Console(d.Out, report, export.ConsoleOptions{
		Width: terminal.Columns(os.Stdout), Color: terminal.Colored(os.Stdout), ASCII: terminal.ASCIIOnly(os.Getenv), Detail: export.Brief,
	})
}
