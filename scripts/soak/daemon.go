package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// start starts a program that listens on a free port and returns its address. The program
// gets SIGTERM when ctx ends.
func start(ctx context.Context, dir, bin, command string, args ...string) (*process, error) {
	portFile := filepath.Join(dir, command+".port")
	p := &process{cmd: exec.CommandContext(ctx, bin, append([]string{command, "--port-file", portFile}, args...)...), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = os.Stderr, os.Stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = time.Minute
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	for range 100 {
		if port, err := os.ReadFile(portFile); err == nil {
			p.addr = "127.0.0.1:" + strings.TrimSpace(string(port))
			return p, nil
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s %s: %w", bin, command, p.err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil, fmt.Errorf("%s %s: no %s after 10 s", bin, command, portFile)
}

// process is a program under test.
type process struct {
	cmd    *exec.Cmd
	addr   string
	exited chan struct{} // closed when it has ended
	err    error         // why; valid once exited is closed
}

// watch keeps one WebSocket client connected until ctx ends. A client that does not read
// is cut by the daemon, and connects again.
func (p *process) watch(ctx context.Context, reads bool) {
	for ctx.Err() == nil {
		c, _, err := websocket.DefaultDialer.DialContext(ctx, "ws://"+p.addr+"/ws", nil) //nolint:bodyclose // there is no body after an upgrade
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if !reads {
			select {
			case <-ctx.Done():
			case <-time.After(30 * time.Second):
			}
		}
		for reads && ctx.Err() == nil && err == nil {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			_, _, err = c.ReadMessage()
		}
		_ = c.Close()
	}
}

// call sends a request to the API and decodes its response.
func (p *process) call(ctx context.Context, method, path, body string, status int, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/yaml")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != status {
		return fmt.Errorf("%s %s: %s, want %d", method, path, resp.Status, status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// perform submits a document and waits until its run has ended.
func (p *process) perform(ctx context.Context, document string) error {
	var run struct {
		ID, State string
		Error     any
	}
	if err := p.call(ctx, http.MethodPost, "/api/runs", document, http.StatusCreated, &run); err != nil {
		return err
	}
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if err := p.call(ctx, http.MethodGet, "/api/runs/"+run.ID, "", http.StatusOK, &run); err != nil {
			return err
		}
		switch run.State {
		case "completed":
			return nil
		case "failed", "cancelled":
			return fmt.Errorf("%s is %s: %v", run.ID, run.State, run.Error)
		}
	}
	return fmt.Errorf("%s is still %s after 2 minutes", run.ID, run.State)
}

// probe returns how long /healthz took.
func (p *process) probe(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/healthz", http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, errors.New("/healthz: " + resp.Status)
	}
	return time.Since(began), nil
}

// gauges returns what the daemon says about itself on /metrics.
func (p *process) gauges(ctx context.Context, names []string) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := make([]float64, len(names))
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if i := slices.Index(names, name); i >= 0 {
			if _, err := fmt.Sscan(value, &out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, lines.Err()
}
