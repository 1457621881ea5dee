package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/token"
	"aiperfd/internal/store"
)

// demoDocument is the benchmark of the demo, as a user would POST it.
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

func newDemoCommand() *cobra.Command {
	var (
		once    bool
		port    int
		dataDir string
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run daemon, simulated server and one benchmark in one process",
		Long: `Start the daemon and a simulated inference server in one process, run a
benchmark of a few seconds, and print its results and the URLs of the API. On a
terminal the daemon keeps running until Ctrl+C; with --once it exits after the
results.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := demo{out: cmd.OutOrStdout(), once: once || !isTerminal(os.Stdout), port: port, dataDir: dataDir}
			return d.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "exit after the results")
	cmd.Flags().IntVar(&port, "api-port", 0, "`port` of the daemon; 0 picks a free one")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "`folder` for the results; default a temporary one")
	return cmd
}

// demo is one demonstration.
type demo struct {
	out     io.Writer
	once    bool
	port    int
	dataDir string
}

func (d *demo) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer interrupts(func(os.Signal) { cancel() })()
	if d.dataDir == "" {
		if d.dataDir, err = os.MkdirTemp("", "aiperfd-demo-"); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(d.dataDir)) }()
	}
	target, stopMock, err := startMock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopMock()) }()
	s, stop, err := d.startDaemon(ctx)
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		err = errors.Join(err, stop())
	}()
	fmt.Fprintf(d.out, "simulated server  %s\ndaemon            %s\n\n", target, s.url())
	if err := d.benchmark(ctx, s, target); err != nil {
		return err
	}
	if !d.once {
		fmt.Fprintln(d.out, "\nstill serving; press Ctrl+C to exit")
		<-ctx.Done()
	}
	return nil
}

// startMock serves a believable server on a free port.
func startMock(ctx context.Context) (url string, stop func() error, err error) {
	var o options.Options
	if err := errors.Join(o.TTFT.UnmarshalText([]byte("lognormal:60ms:0.3")), o.ITL.UnmarshalText([]byte("gamma:12ms:0.2"))); err != nil {
		return "", nil, fmt.Errorf("configure simulated server: %w", err)
	}
	o.ServedModels = []string{"demo-model"}
	o.Tokenizer = token.FromCodec(tokenizer.Builtin())
	server, err := mock.New(o)
	if err != nil {
		return "", nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the simulated server: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mock.Serve(ctx, ln, server, mock.ServeOptions{}) }()
	return "http://" + ln.Addr().String(), func() error { return errors.Join(<-ended, server.Close()) }, nil
}

// startDaemon serves the API on the asked port.
func (d *demo) startDaemon(ctx context.Context) (*service, func() error, error) {
	log := newLogger(os.Stderr, zerolog.WarnLevel, colored(os.Stderr))
	db, err := store.Open(ctx, d.dataDir)
	if err != nil {
		return nil, nil, err
	}
	ln, err := listen(ctx, "127.0.0.1", d.port, "")
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	s, err := newService(serviceOptions{
		store: db, listener: ln, host: "127.0.0.1", log: log,
		load: config.LoadOptions{Untrusted: true, MetricTags: engine.ObjectiveTags()},
	})
	if err != nil {
		return nil, nil, errors.Join(err, ln.Close(), db.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	return s, func() error { return errors.Join(<-ended, db.Close()) }, nil
}

// benchmark posts the demo's document, follows the run and prints its results.
func (d *demo) benchmark(ctx context.Context, s *service, target string) error {
	client := apiClient{base: s.url()}
	id, err := client.submit(ctx, fmt.Appendf(nil, demoDocument, target))
	if err != nil {
		return err
	}
	for {
		p, err := client.progress(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintln(d.out, p)
		if p.State.Terminal() {
			break
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	if err := d.results(ctx, s, id); err != nil {
		return err
	}
	if d.once {
		fmt.Fprintln(d.out, "\nwithout --once, the daemon keeps running: live page, API and Prometheus metrics")
		return nil
	}
	run := s.url() + "/api/runs/" + id
	fmt.Fprintln(d.out)
	for _, u := range []struct{ what, url string }{
		{"live page", s.url() + "/"}, {"run", run}, {"results", run + "/results"},
		{"files", run + "/results/list"}, {"Prometheus", s.url() + "/metrics"}, {"API", s.url() + "/docs"},
	} {
		fmt.Fprintf(d.out, "%-11s %s\n", u.what, u.url)
	}
	fmt.Fprintf(d.out, "%-11s %s\n", "folder", filepath.Join(d.dataDir, "runs", id))
	return nil
}

// results prints the headline of the results.
func (d *demo) results(ctx context.Context, s *service, id string) error {
	if _, err := s.engine.Wait(ctx, id); err != nil {
		return err
	}
	report := s.engine.Report(id)
	if report == nil {
		return errors.New("the run measured nothing")
	}
	return export.Console(d.out, report, export.ConsoleOptions{
		Width: columns(os.Stdout), Color: colored(os.Stdout), ASCII: asciiOnly(os.Getenv), Detail: export.Brief,
	})
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
