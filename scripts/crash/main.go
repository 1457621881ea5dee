// Command crash kills a daemon with SIGKILL again and again, at random moments and while it
// replaces files, during submits, runs, cancels, deletes, exports, imports and backups. After
// every restart it fails if an accepted run is lost or a deleted one is back, a run or a
// sweep goes on whose cancel was answered, a sweep does not go on that nobody has cancelled,
// a file of a run that is ready is not complete, the database is not sound, something
// temporary is left, or the queue stands still.
//
//	go run ./scripts/crash -bin bin/aiperfd -kills 100 -seed 7
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"aiperfd/scripts/lab"
)

func main() {
	bin := flag.String("bin", "bin/aiperfd", "the `program` under test")
	kills := flag.Int("kills", 100, "how often the daemon is killed")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of what happens, and of the moments")
	more := flag.String("serve", "", "more `arguments` of serve, with blanks between")
	keep := flag.Bool("keep", false, "keep the data folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := crash(ctx, *bin, *kills, *seed, strings.Fields(*more), *keep)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// test is one test of a daemon.
type test struct {
	bin, dir string // dir has the data folder and everything else
	serve    []string
	target   string // address of the simulated server
	random   *rand.Rand
	runs     ledger
	count    counts
	daemon   *lab.Program
	// work is what the workers of a round do, which stop ends.
	work sync.WaitGroup
	stop context.CancelFunc
}

// counts say what happened.
type counts struct {
	mu                                                   sync.Mutex
	kills, inWindow, killedTools                         int
	submits, deletes, backups, imports, exports, checked int
	cancels                                              int           // that were answered
	slowest                                              time.Duration // until the daemon was ready
}

// add adds to a number.
func (c *counts) add(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

func crash(ctx context.Context, bin string, kills int, seed uint64, serve []string, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "aiperfd-crash-")
	if err != nil {
		return err
	}
	fmt.Printf("seed %d, folder %s\n", seed, dir)
	defer func() {
		if !keep && err == nil {
			err = os.RemoveAll(dir)
		}
	}()
	t := &test{bin: bin, dir: dir, serve: serve, runs: newLedger(), stop: func() {}}
	t.random = rand.New(rand.NewPCG(seed, 1))
	for _, folder := range []string{"out", "moved"} {
		if err := os.Mkdir(t.path(folder), 0o700); err != nil {
			return err
		}
	}
	server, err := lab.Start(t.bin, t.dir, "mock", "--port", "0", "--ttft", "5ms", "--itl", "1ms")
	if err != nil {
		return err
	}
	defer server.Kill()
	t.target = server.Addr
	began := time.Now()
	for t.count.kills < kills && ctx.Err() == nil {
		if err := t.round(ctx); err != nil {
			return fmt.Errorf("after %d kills: %w", t.count.kills, err)
		}
		if t.count.kills%10 == 0 {
			fmt.Printf("%d kills, %d submits, %s\n", t.count.kills, t.count.submits, time.Since(began).Round(time.Second))
		}
	}
	if err := errors.Join(ctx.Err(), t.last(ctx)); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	c := &t.count
	fmt.Printf("%d kills (%d while a file was replaced, %d with a tool) in %s: %d submits, %d cancels, %d deletes, "+
		"%d exports, %d imports, %d backups; %d runs checked; ready after at most %s\n",
		c.kills, c.inWindow, c.killedTools, time.Since(began).Round(time.Second), c.submits, c.cancels, c.deletes,
		c.exports, c.imports, c.backups, c.checked, c.slowest.Round(time.Millisecond))
	return nil
}

func (t *test) path(name ...string) string { return filepath.Join(append([]string{t.dir}, name...)...) }

// round starts the daemon, checks what is there, works and kills it. Tools of the round
// before may still be at work when the daemon starts.
func (t *test) round(ctx context.Context) error {
	if err := t.restart(ctx); err != nil {
		return err
	}
	defer t.daemon.Kill()
	t.finish()
	if err := t.check(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tools, stopTools := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	t.stop = stopTools
	for _, one := range []func(_, _ context.Context, _ *rand.Rand){t.submit, t.cancel, t.remove, t.backup, t.move} {
		random := rand.New(rand.NewPCG(t.random.Uint64(), 1))
		t.work.Go(func() { one(ctx, tools, random) })
	}
	t.wait(ctx)
	t.daemon.Kill()
	t.count.kills++
	if t.random.IntN(2) == 0 {
		// A tool that died after the start of the next daemon would leave what that daemon
		// removes when it starts.
		stop()
		stopTools()
		t.work.Wait()
		t.count.killedTools++
	}
	return nil
}

// finish waits for the tools of the last round.
func (t *test) finish() {
	t.work.Wait()
	t.stop()
}

// restart starts the daemon and waits until it is ready.
func (t *test) restart(ctx context.Context) (err error) {
	began := time.Now()
	args := append([]string{"--api-port", "0", "--data-dir", t.path("data"), "--log-level", "error"}, t.serve...)
	if t.daemon, err = lab.Start(t.bin, t.dir, "serve", args...); err != nil {
		return err
	}
	if err := t.daemon.Until(ctx, "/readyz"); err != nil {
		t.daemon.Kill()
		return err
	}
	t.count.slowest = max(t.count.slowest, time.Since(began))
	return nil
}

// wait returns at the moment of the kill: after a random time, or as soon as a file is
// being replaced after that.
func (t *test) wait(ctx context.Context) {
	lab.Pause(ctx, time.Duration(20+t.random.IntN(1000))*time.Millisecond)
	if t.random.IntN(3) == 0 {
		return
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end) && ctx.Err() == nil; {
		if left := temporary(t.path("data")); len(left) > 0 {
			t.count.inWindow++
			return
		}
	}
}

// last lets the daemon finish everything.
func (t *test) last(ctx context.Context) error {
	if err := t.restart(ctx); err != nil {
		return err
	}
	defer func() { t.daemon.Kill() }()
	t.finish()
	if err := t.check(ctx); err != nil {
		return err
	}
	if err := t.drained(ctx); err != nil {
		return err
	}
	if err := t.check(ctx); err != nil {
		return err
	}
	return t.archives(ctx)
}

// dataTool runs another command on the data folder; see tool.
func (t *test) dataTool(ctx context.Context, args ...string) error {
	return t.tool(ctx, append(args, "--data-dir", t.path("data"))...)
}

// tool runs another command of the program, which is killed when ctx ends.
func (t *test) tool(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, t.bin, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
