package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
)

// TestMockHello checks that the simulator prints its address, its APIs and a command that
// works to a terminal.
func TestMockHello(t *testing.T) {
	for _, tt := range []struct {
		name    string
		flags   mockFlags
		address string
		want    []string // lines
	}{
		{"defaults", mockFlags{opt: options.Options{TTFT: mock.ConstDelay(20 * time.Millisecond), ITL: mock.ConstDelay(10 * time.Millisecond)}}, "http://127.0.0.1:8000", []string{
			"Simulated inference server, listening on http://127.0.0.1:8000", "  models:  every name is answered",
			"  timing:  first token after 20ms, then one every 10ms",
			"  aiperfd profile --model mock-model --url http://127.0.0.1:8000 --streaming --request-count 20",
		}},
		{"all", mockFlags{tls: mockTLS{selfSigned: "ca.pem"}, opt: options.Options{ServedModels: []string{"a", "b"}, APIKey: "secret", Fast: true}}, "https://127.0.0.1:8000", []string{
			"Simulated inference server, listening on https://127.0.0.1:8000", "  models:  a, b", "  timing:  as fast as possible",
			"  aiperfd profile --model a --url https://127.0.0.1:8000 --streaming --request-count 20 --tls-ca-file ca.pem --api-key KEY",
		}},
		{"socket", mockFlags{uds: "/tmp/m.sock", opt: options.Options{Fast: true}}, "unix:///tmp/m.sock", []string{
			"  aiperfd profile --model mock-model --url http://localhost --unix-socket /tmp/m.sock --streaming --request-count 20",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.flags.hello(tt.address)
			var got []string
			for line := range strings.Lines(text) {
				for _, want := range tt.want {
					if strings.TrimSuffix(line, "\n") == want {
						got = append(got, want)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s\nin\n%s", diff, text)
			}
			if strings.Contains(text, "secret") {
				t.Error("the key is shown")
			}
		})
	}
}

// TestMockTLS: the simulator speaks HTTPS with a certificate that it writes for its
// clients.
func TestMockTLS(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	cmd := newMockCommand()
	cmd.SetArgs([]string{"--port", "0", "--fast", "--tls-self-signed", ca})
	out, in := io.Pipe()
	cmd.SetOut(in)
	cmd.SetErr(io.Discard)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	var hello struct{ Listening string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &hello) != nil || !strings.HasPrefix(hello.Listening, "https://127.0.0.1:") {
		t.Fatalf("first line %q, error %v", line, err)
	}
	pool := x509.NewCertPool()
	if text, err := os.ReadFile(ca); err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatalf("certificate: %v", err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	resp, err := client.Post(hello.Listening+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"Hi","max_tokens":3}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"completion_tokens":3`) {
		t.Errorf("status %d, %s, error %v", resp.StatusCode, body, err)
	}
	resp.Body.Close()
	client.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("command: %v", err)
	}
}

func TestMockTLSErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--tls-cert c.pem", "--tls-cert needs --tls-key"},
		{"--tls-key k.pem", "--tls-key needs --tls-cert"},
		{"--tls-cert c.pem --tls-key k.pem --tls-self-signed x", "--tls-self-signed cannot be combined with --tls-cert and --tls-key"},
		{"--tls-cert missing.pem --tls-key k.pem", "load certificate: open missing.pem: no such file"},
	} {
		cmd := newMockCommand()
		cmd.SetArgs(strings.Fields("--port 0 " + tt.args))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want one with %q", tt.args, err, tt.want)
		}
	}
}
