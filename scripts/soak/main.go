// Command soak keeps a daemon busy with short runs against the simulated server, with feed
// clients of which every second one does not read, and fails if the daemon grows, loses a
// run or does not answer its probe within a second.
//
//	go run ./scripts/soak -bin bin/aiperfd -for 1h
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"aiperfd/scripts/lab"
)

const document = `benchmark:
  models: [m]
  endpoint: {url: "http://%s", streaming: true}
  datasets: [{type: synthetic, entries: 20, prompts: {isl: 32, osl: 16}}]
  phases: [{name: profiling, type: constant, rate: 40, requests: 100}]
metadata: {name: soak %d}
`

func main() {
	bin := flag.String("bin", "bin/aiperfd", "the `program` under test")
	lasts := flag.Duration("for", time.Hour, "how long")
	clients := flag.Int("clients", 20, "WebSocket clients")
	growth := flag.Float64("growth", 0.15, "accepted growth of memory from the second quarter to the last, as a `share`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := soak(ctx, *bin, *lasts, *clients, *growth)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func soak(parent context.Context, bin string, lasts time.Duration, clients int, growth float64) error {
	dir, err := os.MkdirTemp("", "aiperfd-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	server, err := lab.Start(bin, dir, "mock", "--port", "0", "--ttft", "20ms", "--itl", "2ms")
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }() // its end tells nothing
	daemon, err := lab.Start(bin, dir, "serve", "--api-port", "0", "--data-dir", filepath.Join(dir, "data"),
		"--log-level", "error")
	if err != nil {
		return err
	}
	defer func() { _ = daemon.Stop() }() // the samples have judged it
	defer stop(nil)                      // before the daemon stops, or its end looks like a fault
	if err := daemon.Until(ctx, "/readyz"); err != nil {
		return err
	}
	for i := range clients {
		go watch(ctx, daemon.Addr, i%2 == 0)
	}
	go probes(ctx, daemon, stop)
	samples, err := runs(ctx, daemon, server.Addr, lasts)
	if cause := context.Cause(ctx); cause != nil {
		return cause // of which err is a consequence
	}
	return errors.Join(err, grown(samples, growth))
}

// probes asks for the daemon's health twice a second and ends ctx if it is bad.
func probes(ctx context.Context, daemon *lab.Program, stop context.CancelCauseFunc) {
	for ctx.Err() == nil {
		began := time.Now()
		status, _, err := daemon.Call(ctx, http.MethodGet, "/healthz", "")
		switch took := time.Since(began); {
		case ctx.Err() != nil:
		case err != nil:
			stop(err)
		case status != http.StatusOK:
			stop(fmt.Errorf("/healthz: status %d", status))
		case took > time.Second:
			stop(fmt.Errorf("/healthz took %v", took))
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// The gauges that must not grow, and by how much beyond the accepted share they may
// because the number at one moment varies.
func gauges() (names []string, slack []float64) {
	return []string{"process_resident_memory_bytes", "go_memstats_heap_inuse_bytes", "process_open_fds", "go_goroutines"},
		[]float64{8 << 20, 8 << 20, 30, 60}
}

// runs performs run after run and returns samples of the gauges.
func runs(ctx context.Context, daemon *lab.Program, target string, lasts time.Duration) (samples [][]float64, err error) {
	names, _ := gauges()
	fmt.Println(append([]string{"runs"}, names...))
	began := time.Now()
	for n := 0; time.Since(began) < lasts; n++ {
		if err := perform(ctx, daemon, fmt.Sprintf(document, target, n)); err != nil {
			return samples, fmt.Errorf("run %d: %w", n, err)
		}
		if time.Since(began) < time.Duration(len(samples))*lasts/120 {
			continue
		}
		now, err := readGauges(ctx, daemon, names)
		if err != nil {
			return samples, err
		}
		samples = append(samples, now)
		fmt.Println(n+1, now)
	}
	return samples, nil
}

// grown compares the medians of the second quarter and of the last: the first has caches
// that are being filled.
func grown(samples [][]float64, share float64) error {
	quarter := len(samples) / 4
	if quarter < 3 {
		return fmt.Errorf("%d samples are too few to compare", len(samples))
	}
	names, slack := gauges()
	var errs []error
	for i, name := range names {
		median := func(s [][]float64) float64 {
			var v []float64
			for _, one := range s {
				v = append(v, one[i])
			}
			slices.Sort(v)
			return v[len(v)/2]
		}
		before, after := median(samples[quarter:2*quarter]), median(samples[len(samples)-quarter:])
		fmt.Printf("%s: %.0f, then %.0f\n", name, before, after)
		if after > before*(1+share)+slack[i] {
			errs = append(errs, fmt.Errorf("%s grew from %.0f to %.0f", name, before, after))
		}
	}
	return errors.Join(errs...)
}
