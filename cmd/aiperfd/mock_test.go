package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMockCommand(t *testing.T) {
	dir := t.TempDir()
	portFile, truthFile := filepath.Join(dir, "port"), filepath.Join(dir, "truth.jsonl")
	t.Setenv("AIPERFD_MOCK_FAST", "true")
	t.Setenv("AIPERFD_MOCK_SERVED_MODEL_NAME", "a\nb")
	t.Setenv("AIPERFD_MOCK_FAULT", "status:503,requests=2")
	cmd := newMockCommand()
	cmd.SetArgs([]string{"--port", "0", "--port-file", portFile, "--truth", truthFile, "--tokenizer", "builtin"})
	out, in := io.Pipe()
	cmd.SetOut(in)
	cmd.SetErr(io.Discard)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	var hello struct{ Listening string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &hello) != nil {
		t.Fatalf("first line %q, error %v", line, err)
	}
	port, err := os.ReadFile(portFile)
	if err != nil || !strings.HasSuffix(hello.Listening, ":"+strings.TrimSpace(string(port))) {
		t.Errorf("port file says %q, the line %q, error %v", port, hello.Listening, err)
	}
	for i, want := range []int{200, 503, 404} {
		model := []string{"a", "b", "c"}[i]
		resp, err := http.Post(hello.Listening+"/v1/completions", "application/json",
			strings.NewReader(`{"model":"`+model+`","prompt":"Hi","max_tokens":3}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("request %d: status %d, want %d", i+1, resp.StatusCode, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("command: %v", err)
	}
	truth, err := os.ReadFile(truthFile)
	if n := strings.Count(string(truth), "\n"); err != nil || n != 3 {
		t.Errorf("%d truths, error %v, want 3", n, err)
	}
}

func TestMockCommandErrors(t *testing.T) {
	tests := []struct {
		name string
		args []string
		env  string // AIPERFD_MOCK_ITL
		want string
	}{
		{"flag", []string{"--ttft", "soon"}, "", `"soon" is not a duration ≥ 0`},
		{"fault", []string{"--fault", "boom"}, "", `unknown action "boom", accepted: status, reset`},
		{"environment", nil, "later", `AIPERFD_MOCK_ITL: `},
		{"option", []string{"--role-chunk", "loud"}, "", `role-chunk is "loud", want one of separate`},
		{"tokenizer", []string{"--tokenizer", "org/model"}, "", `load tokenizer: `},
		{"port", []string{"--port", "99999"}, "", `listen: `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv("AIPERFD_MOCK_ITL", tt.env)
			}
			cmd := newMockCommand()
			cmd.SetArgs(tt.args)
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}
