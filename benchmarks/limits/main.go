//go:build linux

// Command limits measures the CPU cost of aiperfd and the error of its numbers. It
// builds the raw epoll client of benchmarks/epoll, and both measure the same simulated
// server in turn, in one run, so that other load of the machine affects both. Run it
// from the root of the repository:
//
//	go run ./benchmarks/limits --bin bin/aiperfd
//
// Every row goes to benchmarks/out as a line of JSON; the table has the medians.
// The exit code is 1 if a limit is missed or a run fails.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	binary   string
	out      string
	names    string // of scenarios, separated by commas; "" = all
	rounds   int
	markdown bool
	list     bool
}

// idleLoad is the load average up to which the machine counts as idle.
const idleLoad = 0.5

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "limits:", err)
		os.Exit(1)
	case !ok:
		os.Exit(1)
	}
}

// run performs the scenarios; ok is false if a limit is missed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (ok bool, err error) {
	s, err := parse(args, stderr)
	if err != nil {
		return false, err
	}
	chosen, err := choose(s.names)
	if err != nil {
		return false, err
	}
	if s.list {
		for _, sc := range chosen {
			fmt.Fprintf(stdout, "%-14s %s\n", sc.name, sc.about)
		}
		return true, nil
	}
	verdicts, err := measureAll(ctx, s, chosen, stderr)
	if err != nil {
		return false, err
	}
	failed := slices.ContainsFunc(verdicts, func(v verdict) bool { return v.word == "FAIL" })
	return !failed, printTable(stdout, verdicts, s.markdown)
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	fs := flag.NewFlagSet("limits", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&s.binary, "bin", filepath.Join("bin", "aiperfd"), "the `file` of aiperfd")
	fs.StringVar(&s.out, "out", filepath.Join("benchmarks", "out"), "`folder` for the rows")
	fs.StringVar(&s.names, "scenario", "", "run only these `loads`, separated by commas (default all)")
	fs.IntVar(&s.rounds, "rounds", 3, "how often the clients take turns, where a load does not say")
	fs.BoolVar(&s.markdown, "markdown", false, "print the table in Markdown")
	fs.BoolVar(&s.list, "list", false, "list the loads")
	if err := fs.Parse(args); err != nil {
		return s, err
	}
	if s.rounds < 1 || fs.NArg() > 0 {
		return s, fmt.Errorf("rounds is %d, want ≥ 1; arguments are %q, want none", s.rounds, fs.Args())
	}
	return s, nil
}

// choose returns the scenarios with the given names.
func choose(names string) ([]scenario, error) {
	all := scenarios()
	if names == "" {
		return all, nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(sc scenario) bool { return sc.name == name })
		if i < 0 {
			return nil, fmt.Errorf("choose load: %q is unknown; --list shows all", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// measureAll runs scenarios and returns their rows.
func measureAll(ctx context.Context, s settings, chosen []scenario, stderr io.Writer) (verdicts []verdict, err error) {
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	raw, err := buildRaw(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	file, err := os.Create(filepath.Join(s.out, time.Now().UTC().Format("limits-20060102T150405Z.jsonl")))
	if err != nil {
		return nil, fmt.Errorf("create rows: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	load := loadAverage()
	fmt.Fprintf(stderr, "%d cores, load average %.2f\n", runtime.NumCPU(), load)
	if load > idleLoad {
		fmt.Fprintln(stderr, "the machine is busy: ratios may hold, milliseconds will not")
	}
	r := runner{binary: s.binary, raw: raw, dir: dir, rounds: s.rounds, keep: func(x row) error { return json.NewEncoder(file).Encode(x) }}
	for i := range chosen {
		begin := time.Now()
		rows, err := r.run(ctx, &chosen[i])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "%s: %d runs in %.0f s\n", chosen[i].name, len(rows), time.Since(begin).Seconds())
		verdicts = append(verdicts, judge(&chosen[i], rows)...)
	}
	return verdicts, nil
}
