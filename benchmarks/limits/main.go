//go:build linux

// Command limits measures the CPU cost of aiperfd and the error of its numbers. It
// builds the raw epoll client of benchmarks/epoll, and both measure the same simulated
// server in turn, in one run, so that other load of the machine affects both. With
// --against, another binary of aiperfd, usually the last release, takes turns with them.
// Run it from the root of the repository:
//
//	go run ./benchmarks/limits --bin bin/aiperfd --against ../aiperfd-0.1.0
//
// Every row goes to benchmarks/out as a line of JSON; the table has the medians.
// The exit code is 1 if a limit is missed, if a cost is more than 10 % above that of the
// other binary and above it in every round, or if a run fails.
package main

import (
	"cmp"
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
	against  string // another binary; "" = none
	out      string
	names    string // of scenarios, separated by commas; "" = all
	rounds   int
	markdown bool
	list     bool
}

// spareDescriptors are those of a process besides its connections.
const spareDescriptors = 200

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
	failed := slices.ContainsFunc(verdicts, func(v verdict) bool { return v.word == missed || v.word == worse })
	return !failed, printTable(stdout, verdicts, s.against != "", s.markdown)
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	fs := flag.NewFlagSet("limits", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&s.binary, "bin", filepath.Join("bin", "aiperfd"), "the `file` of aiperfd")
	fs.StringVar(&s.against, "against", "", "compare with another binary of aiperfd, this `file`, in the same run")
	fs.StringVar(&s.out, "out", filepath.Join("benchmarks", "out"), "`folder` for the rows")
	fs.StringVar(&s.names, "scenario", "", "run only these `loads`, separated by commas (default all)")
	fs.IntVar(&s.rounds, "rounds", 3,
		"how often the clients take turns, where a load does not say; at least 3 with --against")
	fs.BoolVar(&s.markdown, "markdown", false, "print the table in Markdown")
	fs.BoolVar(&s.list, "list", false, "list the loads")
	if err := fs.Parse(args); err != nil {
		return s, err
	}
	for _, binary := range []string{s.binary, s.against} {
		if _, err := os.Stat(cmp.Or(binary, s.binary)); err != nil {
			return s, fmt.Errorf("find binary: %w", err)
		}
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
	descriptors, err := descriptorLimit()
	if err != nil {
		return nil, err
	}
	r := runner{
		binary: s.binary, against: s.against, raw: raw, dir: dir, rounds: s.rounds,
		keep: func(x row) error { return json.NewEncoder(file).Encode(x) },
	}
	for i := range chosen {
		sc, begin := &chosen[i], time.Now()
		if need := sc.streams + spareDescriptors; need > descriptors {
			verdicts = append(verdicts, notRun(sc, need, descriptors))
			continue
		}
		rows, err := r.run(ctx, sc)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "%s: %d runs in %.0f s; p99 of lateness: a thread before them %s ms, the server %s ms\n",
			sc.name, len(rows), time.Since(begin).Seconds(),
			compact(medianOf(rows, wakeP99)), compact(medianOf(rows, mockLateP99)))
		verdicts = append(verdicts, judge(sc, rows)...)
	}
	return verdicts, nil
}
