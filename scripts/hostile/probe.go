package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"aiperfd/scripts/lab"
)

// probe asks for the health of the daemon, and looks at its memory.
type probe struct {
	addr        string
	pid, maxRSS int
	counts      *counts

	slow    []string // answers that took longer than answerLimit
	slowest time.Duration
	rss     int // MiB, the largest
	first   int // MiB, after the first minute
}

// answerLimit is the time that /healthz has.
const answerLimit = time.Second

// run probes five times per second until ctx ends. The error is what the daemon failed.
func (p *probe) run(ctx context.Context) error {
	ask := client(10 * time.Second)
	began := time.Now()
	said := began
	for ctx.Err() == nil {
		if err := p.health(ctx, ask); err != nil {
			return err
		}
		if err := p.memory(); err != nil {
			return err
		}
		if p.first == 0 && time.Since(began) > time.Minute {
			p.first = p.rss
		}
		if time.Since(said) > time.Minute {
			said = time.Now()
			log.Print(p)
		}
		lab.Pause(ctx, 200*time.Millisecond)
	}
	if len(p.slow) > 0 {
		return fmt.Errorf("/healthz answered late %d times: %q", len(p.slow), p.slow)
	}
	return nil
}

func (p *probe) health(ctx context.Context, ask *http.Client) error {
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, "http://"+p.addr+"/healthz", nil)
	if err != nil {
		return err
	}
	began := time.Now()
	answer, err := ask.Do(r)
	if err != nil {
		return fmt.Errorf("/healthz: %w", err)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	took := time.Since(began)
	p.slowest = max(p.slowest, took)
	p.counts.add("probe " + strconv.Itoa(answer.StatusCode))
	switch {
	case err != nil:
		return fmt.Errorf("/healthz: %w", err)
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("/healthz: status %d", answer.StatusCode)
	case took > answerLimit:
		load, err := os.ReadFile("/proc/loadavg") // the machine may be busy with something else
		if err != nil {
			return fmt.Errorf("read load: %w", err)
		}
		p.slow = append(p.slow, fmt.Sprintf("%v (load %s)", took, strings.TrimSpace(string(load))))
		log.Print("/healthz answered after ", p.slow[len(p.slow)-1])
	}
	return nil
}

// memory reads the memory of the process. It is an error if that is too much, or the
// process has ended.
func (p *probe) memory() error {
	if p.pid == 0 {
		return nil
	}
	mib, err := lab.Memory(p.pid, "VmRSS")
	if err != nil {
		return fmt.Errorf("the process has ended: %w", err)
	}
	if p.rss = max(p.rss, int(mib)); p.maxRSS > 0 && int(mib) > p.maxRSS {
		return fmt.Errorf("the process takes %d MiB", int(mib))
	}
	return nil
}

// String says what was measured.
func (p *probe) String() string {
	return fmt.Sprintf("slowest /healthz %v, largest memory %d MiB, of the first minute %d MiB",
		p.slowest.Round(time.Millisecond), p.rss, p.first)
}
