// Command answers measures on real sockets how often answers are right, against a simulated server
// whose truth is known. It needs an idle machine.
//
//	go run ./scripts/answers -bin bin/aiperfd          # same and slower, in about 20 minutes
//	go run ./scripts/answers -bin bin/aiperfd same     # 20 pairs of equal runs: at most 1 alarm
//	go run ./scripts/answers -bin bin/aiperfd slower   # 20 times 2 × 5 runs, steps 5 % longer: worse in 18
//	go run ./scripts/answers -bin bin/aiperfd capacity # 3 searches for a capacity that is known: held in all
//	go run ./scripts/answers -bin bin/aiperfd killed   # a search for a capacity, killed at 30 moments
//	go run ./scripts/answers -bin bin/aiperfd -trials 2  # whether it works at all
//
// It prints one line per trial and one per measurement at the end, and fails if a bound is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"aiperfd/scripts/lab"
)

// session is one measurement.
type session struct {
	bin, dir string
	trials   int           // 0 = the number of the measurement
	length   time.Duration // of a run; 0 = that of the measurement
	seed     uint64
	parallel int // trials at a time, each with servers of its own

	mutex   sync.Mutex
	servers map[string]*lab.Program // that run, by worker and factor; under mutex
}

// measurement is a row of the table of what can be measured.
type measurement struct {
	name    string
	trials  int
	length  time.Duration
	bound   string
	perform func(*session, context.Context) (result string, err error)
}

func measurements() []measurement {
	return []measurement{
		{"same", 20, 40 * time.Second, "at most 1 alarm in 20 pairs", (*session).same},
		{"slower", 20, 8 * time.Second, "worse in 9 of 10", (*session).slower},
		{"capacity", 3, 20 * time.Second, "held in all", (*session).capacity},
		{"killed", 30, 2 * time.Second, "no probe lost, the same answer", (*session).killed},
	}
}

func main() {
	s := session{}
	flag.StringVar(&s.bin, "bin", "bin/aiperfd", "the `program` under test")
	flag.IntVar(&s.trials, "trials", 0, "how often (same and slower: 20, capacity: 3, killed: 30)")
	flag.DurationVar(&s.length, "length", 0,
		"`time` of each run or probe (same: 40s, slower: 8s, capacity: 20s, killed: 2s)")
	flag.Uint64Var(&s.seed, "seed", 1, "of the runs and of the moments")
	flag.IntVar(&s.parallel, "parallel", 3, "trials at a `time`")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = []string{"same", "slower"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := measureAll(ctx, &s, names)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// measureAll performs measurements by name, one after the other, and says how each has ended.
func measureAll(ctx context.Context, options *session, names []string) error {
	var rows []measurement
	for _, name := range names {
		i := slices.IndexFunc(measurements(), func(m measurement) bool { return m.name == name })
		if i < 0 {
			return fmt.Errorf("the measurement is same, slower, capacity or killed, not %q", name)
		}
		rows = append(rows, measurements()[i])
	}
	if options.parallel < 1 {
		return fmt.Errorf("-parallel is %d, want at least 1", options.parallel)
	}
	bin, err := filepath.Abs(options.bin)
	if err != nil {
		return err
	}
	var summary []string
	var failures []error
	for _, m := range rows {
		s := &session{
			bin: bin, trials: options.trials, length: options.length, seed: options.seed, parallel: options.parallel,
		}
		began := time.Now()
		result, err := s.measure(ctx, &m)
		ended := "passed"
		if err != nil {
			ended = "FAILED"
			failures = append(failures, fmt.Errorf("%s: %w", m.name, err))
		}
		took := time.Since(began).Round(time.Second)
		summary = append(summary, fmt.Sprintf("%s: %s in %s; %s; want: %s", m.name, ended, took, result, m.bound))
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Println()
	for _, line := range summary {
		fmt.Println(line)
	}
	return errors.Join(failures...)
}

// measure performs one measurement in a temporary folder, which stays if it fails.
func (s *session) measure(ctx context.Context, m *measurement) (result string, err error) {
	if s.trials <= 0 {
		s.trials = m.trials
	}
	if s.length <= 0 {
		s.length = m.length
	}
	if s.dir, err = os.MkdirTemp("", "aiperfd-answers-"); err != nil {
		return "", err
	}
	s.servers = map[string]*lab.Program{}
	defer func() {
		for _, server := range s.servers {
			server.Kill()
		}
	}()
	if result, err = m.perform(s, ctx); err != nil {
		return result, fmt.Errorf("%w (files in %s)", err, s.dir)
	}
	return result, os.RemoveAll(s.dir)
}

// steps returns the arguments of a simulated server, the times of whose steps are those of the preset
// tiny times a factor. With tenfold ones a step takes over 10 ms, beside which the noise of loopback is small.
func steps(factor float64) []string {
	args := []string{"--port", "0", "--preset", "tiny"}
	for name, milliseconds := range map[string]float64{
		"--step-base": 1, "--step-prefill": 0.004, "--step-decode": 0.010, "--step-context": 0.000005,
	} {
		args = append(args, name, strconv.FormatFloat(factor*milliseconds, 'g', -1, 64))
	}
	return args
}

// server returns the simulated server of a worker, which it starts if need be. Each has a folder of its own
// for its port.
func (s *session) server(worker int, factor float64) (*lab.Program, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	key := fmt.Sprint(worker, factor)
	if server := s.servers[key]; server != nil {
		return server, nil
	}
	dir, err := os.MkdirTemp(s.dir, "server-")
	if err != nil {
		return nil, err
	}
	server, err := lab.Start(s.bin, dir, "mock", steps(factor)...)
	if err == nil {
		s.servers[key] = server
	}
	return server, err
}

// run runs the program; codes are its exit codes that are no error.
func (s *session) run(ctx context.Context, codes []int, args ...string) (stdout []byte, err error) {
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.Dir = s.dir
	stdout, err = cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		for _, code := range codes {
			if exit.ExitCode() == code {
				return stdout, nil
			}
		}
		return nil, fmt.Errorf("%s: %w\n%s", args[0], err, exit.Stderr)
	}
	return stdout, err
}
