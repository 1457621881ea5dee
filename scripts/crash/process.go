package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is a program that listens on a port.
type process struct {
	cmd    *exec.Cmd
	addr   string
	exited chan struct{} // closed when it has ended
	client http.Client
}

// start starts a program on a free port.
func (t *test) start(command string, args ...string) (*process, error) {
	portFile := t.path(command + ".port")
	if err := os.RemoveAll(portFile); err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{}), client: http.Client{Timeout: 30 * time.Second, Transport: new(http.Transport)}}
	p.cmd = exec.Command(t.bin, //nolint:noctx // it is killed at a moment of the test
		append([]string{command, "--port-file", portFile}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = os.Stderr, os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // we kill it
	}()
	for range 600 {
		if port, err := os.ReadFile(portFile); err == nil && strings.HasSuffix(string(port), "\n") {
			p.addr = "127.0.0.1:" + strings.TrimSpace(string(port))
			return p, nil
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s ended: %s", command, p.cmd.ProcessState)
		case <-time.After(50 * time.Millisecond):
		}
	}
	p.kill()
	return nil, fmt.Errorf("%s does not listen after 30 s", command)
}

// kill kills the program.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
	p.client.CloseIdleConnections()
}

// until waits for status 200.
func (p *process) until(ctx context.Context, path string) error {
	var last string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		status, _, err := p.call(ctx, http.MethodGet, path, "")
		if status == http.StatusOK {
			return nil
		}
		last = fmt.Sprint(status, err)
	}
	return fmt.Errorf("GET %s: still %s after 30 s", path, last)
}

// call sends a request; status is 0 if there is no answer.
func (p *process) call(ctx context.Context, method, path, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, strings.NewReader(body))
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

// get decodes a resource that must be there.
func (p *process) get(ctx context.Context, path string, into any) error {
	status, answer, err := p.call(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s: %d %s", path, status, answer)
	}
	return json.Unmarshal(answer, into)
}

// tool runs another command of the program, which is killed when ctx ends.
func (t *test) tool(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, t.bin, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
