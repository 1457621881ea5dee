// Package lab starts the program under test and speaks to its API, for tests from outside.
package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startLimit is how long a program may take to listen, and stopLimit how long to end.
const (
	startLimit = 30 * time.Second
	stopLimit  = time.Minute
)

// Program is a command of the program under test that listens on a port.
type Program struct {
	Addr string // host:port
	Pid  int

	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended
	err    error         // why; valid once exited is closed
	client http.Client
}

// Start starts a command on a free port and waits until it listens. dir is for its port file.
func Start(bin, dir, command string, args ...string) (*Program, error) {
	portFile := filepath.Join(dir, command+".port")
	if err := os.RemoveAll(portFile); err != nil {
		return nil, err
	}
	p := &Program{exited: make(chan struct{})}
	p.client = http.Client{Timeout: 30 * time.Second, Transport: new(http.Transport)}
	p.cmd = exec.Command(bin, //nolint:noctx // the caller ends it
		append([]string{command, "--port-file", portFile}, args...)...)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command, err)
	}
	p.Pid = p.cmd.Process.Pid
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	for end := time.Now().Add(startLimit); time.Now().Before(end); {
		if port, err := os.ReadFile(portFile); err == nil && strings.HasSuffix(string(port), "\n") {
			p.Addr = "127.0.0.1:" + strings.TrimSpace(string(port))
			return p, nil
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s ended: %s", command, p.cmd.ProcessState)
		case <-time.After(20 * time.Millisecond):
		}
	}
	p.Kill()
	return nil, fmt.Errorf("%s does not listen after %v", command, startLimit)
}

// Kill kills the program.
func (p *Program) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
	p.client.CloseIdleConnections()
}

// Stop sends SIGTERM and waits. The error is how the program has ended.
func (p *Program) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.exited:
	case <-time.After(stopLimit):
		p.Kill()
	}
	return p.err
}

// Until waits for status 200 of a path.
func (p *Program) Until(ctx context.Context, path string) error {
	var last string
	for end := time.Now().Add(startLimit); time.Now().Before(end) && ctx.Err() == nil; Pause(ctx, 20*time.Millisecond) {
		status, _, err := p.Call(ctx, http.MethodGet, path, "")
		if status == http.StatusOK {
			return nil
		}
		last = fmt.Sprint(status, err)
	}
	return fmt.Errorf("GET %s: still %s after %v", path, last, startLimit)
}

// Call sends a request, whose body is YAML; status is 0 if there is no answer.
func (p *Program) Call(ctx context.Context, method, path, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.Addr+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/yaml")
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, answer, nil
}

// Get decodes a resource that must be there.
func (p *Program) Get(ctx context.Context, path string, into any) error {
	return p.Ask(ctx, http.MethodGet, path, "", http.StatusOK, into)
}

// Ask sends a request and decodes its response, which must have a status.
func (p *Program) Ask(ctx context.Context, method, path, body string, want int, into any) error {
	status, answer, err := p.Call(ctx, method, path, body)
	if err != nil {
		return err
	}
	if status != want {
		return fmt.Errorf("%s %s: %d %s, want %d", method, path, status, answer, want)
	}
	return json.Unmarshal(answer, into)
}

// Terminal reports whether a run in a state has ended.
func Terminal(state string) bool {
	return state == "completed" || state == "failed" || state == "cancelled"
}

// Pause waits, or returns when ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Memory reads a field of /proc/PID/status (proc(5)) such as VmRSS, in MiB.
func Memory(pid int, field string) (mib float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), field+":")
	value, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseFloat(value, 64)
	return kib / 1024, err
}
