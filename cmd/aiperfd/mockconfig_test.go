package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mockOutput runs the command with a configuration file and returns what it
// prints.
func mockOutput(t *testing.T, config string, args ...string) (string, error) {
	t.Helper()
	if config != "" {
		path := filepath.Join(t.TempDir(), "mock.yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	cmd := newMockCommand()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// TestMockConfigOrder checks the precedence: command line, environment, file, defaults.
// The printed configuration has the same meaning.
func TestMockConfigOrder(t *testing.T) {
	t.Setenv("AIPERFD_MOCK_ITL", "7ms")
	t.Setenv("AIPERFD_MOCK_TTFT", "8ms")
	config := `
# vLLM's own file can hold its names
max_model_len: 4096
served-model-name: [a, "b"]
api-key: hush-hush
enable-request-id-headers: true
ttft: 1ms
itl: 2ms
prefill-per-token: 3us
fault:
  - status:503,first=1
  - reset:after_tokens:5
`
	first, err := mockOutput(t, config, "--ttft", "9ms", "--print-config")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"max-model-len: \"4096\"\n", "served-model-name:\n- a\n- b\n", "api-key: <redacted>\n",
		"enable-request-id-headers: true\n", "ttft: 9ms\n", "itl: 7ms\n", "prefill-per-token: 3µs\n", "seed: \"0\"\n",
		"- status:503,first=1\n- reset:after_tokens:5\n",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("configuration lacks %q:\n%s", want, first)
		}
	}
	if strings.Contains(first, "hush") {
		t.Errorf("configuration tells the key:\n%s", first)
	}
	second, err := mockOutput(t, first, "--print-config")
	if err != nil || second != strings.Replace(first, "ttft: 9ms", "ttft: 8ms", 1) {
		t.Errorf("printed configuration, read again: error %v\n%s", err, second)
	}
}

func TestMockConfigErrors(t *testing.T) {
	for _, tt := range []struct{ name, config, want string }{
		{"unknown key", "gpu-memory-utilization: 0.9\nmodle: x\n", `mock.yaml:1: unknown key "gpu-memory-utilization"`},
		{"every problem", "gpu-memory-utilization: 0.9\nmodle: x\n", `mock.yaml:2: unknown key "modle"`},
		{"itself", "config: other.yaml", `unknown key "config"`},
		{"value", "ttft: soon", `"soon" is not a duration ≥ 0`},
		{"list", "ttft: [1ms, 2ms]", `ttft: must be one value, not a list`},
		{"mapping", "served-model-name: {a: b}", "served-model-name: must be a value, not an object"},
		{"null", "seed:", "seed: has no value"},
		{"syntax", "a: [", "mock.yaml:1: "},
		{"needs a preset", "max-num-seqs: 4", "--max-num-seqs needs --preset (one of h100-8b"},
		{"excluded by a preset", "preset: tiny\nfast: true", "--fast cannot be combined with --preset"},
		{"preset", "preset: b200", `preset is "b200", want one of h100-8b`},
		{"checked by the model", "preset: tiny\nblock-size: -1", "block size is -1, want ≥ 1"},
		{"socket and port", "uds: x.sock\nport: 8000", "--port cannot be combined with --uds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := mockOutput(t, tt.config); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := mockOutput(t, "", "--config", filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "--config: open ") {
		t.Errorf("missing file: %v", err)
	}
}

// TestMockBatchOverSocket: a preset with changes, over a Unix socket that a killed
// process has left.
func TestMockBatchOverSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "uds") // t.TempDir may be too long for an address
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	old, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = old.Close()

	cmd := newMockCommand()
	cmd.SetArgs([]string{
		"--uds", path, "--preset", "tiny", "--num-gpu-blocks-override", "64", "--max-num-seqs", "2",
		"--step-base", "0.1", "--tokenizer", "words",
	})
	out, in := io.Pipe()
	cmd.SetOut(in)
	cmd.SetErr(io.Discard)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	var hello struct{ Listening string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &hello) != nil || hello.Listening != "unix://"+path {
		t.Fatalf("first line %q, error %v", line, err)
	}
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	get := func(path, body string) string {
		t.Helper()
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		req, err := http.NewRequestWithContext(ctx, method, "http://mock"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := get("/v1/completions", `{"prompt":"Hi there","max_tokens":3}`); !strings.Contains(text, `"cached_tokens":0`) {
		t.Errorf("answer %s", text)
	}
	if text := get("/v1/models", ""); !strings.Contains(text, `"max_model_len":1024`) {
		t.Errorf("models %s, want a length of 64 blocks of 16", text)
	}
	if text := get("/metrics", ""); !strings.Contains(text, `num_gpu_blocks="64"`) {
		t.Errorf("metrics lack the number of blocks:\n%s", text)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("command: %v", err)
	}
}
