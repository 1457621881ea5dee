package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Prometheus has the final values for one period, and then the series have ended. It needs the program prometheus.
func TestPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	_ = ln.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, []byte("global: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	server := exec.CommandContext(ctx, program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--web.enable-remote-write-receiver", "--log.level=error")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Wait() }()
	defer stop()
	base := "http://" + address
	await(ctx, t, base+"/-/ready")

	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	w := StartWriter(t.Context(), to, func(context.Context) ([]*dto.MetricFamily, error) { return families(t, exposition), nil })
	written := w.Close(ctx)
	if written.Payloads != 2 || written.Dropped != 0 || written.Err != nil {
		t.Fatalf("written %+v, want the final values and the stale markers", written)
	}
	now := time.Now()
	for query, want := range map[string]string{
		"a_total": "3", `b{job="aiperfd",zone="z"}`: "1.5", `c_seconds_bucket{le="+Inf"}`: "5", "c_seconds_count": "5",
	} {
		if got := value(ctx, t, base, query, now); got != want {
			t.Errorf("%s = %q, want %s", query, got, want)
		}
		if got := value(ctx, t, base, query, now.Add(2*Period)); got != "" {
			t.Errorf("%s = %q after the stale marker, want nothing", query, got)
		}
	}
}

// await waits until a URL answers 200.
func await(ctx context.Context, t *testing.T, at string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not answer", at)
		case <-tick.C:
		}
	}
}

// value returns the value of the only series of a query at a time; empty = there is none.
func value(ctx context.Context, t *testing.T, base, query string, at time.Time) string {
	t.Helper()
	form := url.Values{"query": {query}, "time": {fmt.Sprintf("%d.%03d", at.Unix(), at.UnixMilli()%1000)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/query", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Data.Result) == 0 {
		return ""
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}
