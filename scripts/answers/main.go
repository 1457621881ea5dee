// Command answers measures on real sockets how often answers are right, against a simulated server
// whose truth is known. It needs an idle machine.
//
//	go run ./scripts/answers -bin bin/aiperfd same     # 20 pairs of equal runs: at most 1 alarm
//	go run ./scripts/answers -bin bin/aiperfd slower   # 20 times 2 × 5 runs, steps 5 % longer: worse in 18
//	go run ./scripts/answers -bin bin/aiperfd killed   # a search for a capacity, killed at 30 moments
//
// It prints one line per trial and fails if the bound is missed.
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
	"strconv"
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
}

// measurement is a row of the table of what can be measured.
type measurement struct {
	name    string
	trials  int
	length  time.Duration
	perform func(*session, context.Context) error
}

func measurements() []measurement {
	return []measurement{
		{"same", 20, 40 * time.Second, (*session).same},
		{"slower", 20, 8 * time.Second, (*session).slower},
		{"killed", 30, 2 * time.Second, (*session).killed},
	}
}

func main() {
	s := &session{}
	flag.StringVar(&s.bin, "bin", "bin/aiperfd", "the `program` under test")
	flag.IntVar(&s.trials, "trials", 0, "how often (same and slower: 20, killed: 30)")
	flag.DurationVar(&s.length, "length", 0, "`time` of each run (same: 40s, slower: 8s, killed: 2s)")
	flag.Uint64Var(&s.seed, "seed", 1, "of the runs and of the moments")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := s.measure(ctx, flag.Arg(0))
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// measure performs the measurement with a name in a temporary folder.
func (s *session) measure(ctx context.Context, name string) (err error) {
	for _, m := range measurements() {
		if m.name != name {
			continue
		}
		if s.trials <= 0 {
			s.trials = m.trials
		}
		if s.length <= 0 {
			s.length = m.length
		}
		if s.bin, err = filepath.Abs(s.bin); err != nil {
			return err
		}
		if s.dir, err = os.MkdirTemp("", "aiperfd-answers-"); err != nil {
			return err
		}
		began := time.Now()
		if err := m.perform(s, ctx); err != nil {
			return fmt.Errorf("%w (files in %s)", err, s.dir)
		}
		fmt.Printf("%s passed in %s\n", name, time.Since(began).Round(time.Second))
		return os.RemoveAll(s.dir)
	}
	return fmt.Errorf("the measurement is same, slower or killed, not %q", name)
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

// server starts a simulated server. Each has a folder of its own for its port.
func (s *session) server(factor float64) (*lab.Program, error) {
	dir, err := os.MkdirTemp(s.dir, "server-")
	if err != nil {
		return nil, err
	}
	return lab.Start(s.bin, dir, "mock", steps(factor)...)
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
