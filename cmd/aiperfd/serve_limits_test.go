package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// parseLimits reads flags and environment variables as serve does.
func parseLimits(t *testing.T, env map[string]string, args ...string) (*limitFlags, error) {
	t.Helper()
	f := new(limitFlags)
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.add(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f, apiFromEnv(fs, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
}

func TestLimitFlags(t *testing.T) {
	f, err := parseLimits(t, map[string]string{
		"AIPERF_API_SERVER_WEBSOCKET_MAX_CONNECTIONS": "7", "AIPERFD_MAX_RATE": "12.5", "AIPERFD_SUBMIT_RATE": "600",
	}, "--max-duration", "90m", "--max-body", "2000")
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.options()
	if err != nil {
		t.Fatal(err)
	}
	if l.WebSockets != 7 || l.Caps.Rate != 12.5 || l.Caps.Duration != 90*time.Minute || l.API.Body != 2000 {
		t.Errorf("limits = %+v", l)
	}
	if l.API.SubmitRate != 600 || !l.API.AnonymousRate {
		t.Errorf("a submit rate that is given does not hold for submissions without a token: %+v", l.API)
	}
	if l.API.Connections != 512 || l.API.Header != 16<<10 || l.API.HeaderTimeout != 10*time.Second || l.MetricsLinger != 10*time.Minute {
		t.Errorf("defaults = %+v", l)
	}
	if f, err = parseLimits(t, nil); err != nil {
		t.Fatal(err)
	}
	if l, err = f.options(); err != nil || l.API.AnonymousRate || l.API.SubmitRate != 20 || l.Caps.Concurrency != 10_000 {
		t.Errorf("limits without flags = %+v, %v", l, err)
	}
}

// Every flag that is wrong is named, with its value and what is accepted.
func TestLimitFlagsRefused(t *testing.T) {
	f, err := parseLimits(t, nil, "--max-body", "0", "--max-header", "100", "--header-timeout", "0s", "--body-timeout", "-1s",
		"--idle-timeout", "0s", "--metrics-linger", "0s", "--max-connections", "0", "--max-websockets", "-1", "--submit-rate", "-1",
		"--max-concurrency", "-1", "--max-rate", "NaN", "--max-duration", "-1s", "--max-requests", "-1", "--max-tokens", "-1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.options()
	if err == nil {
		t.Fatal("options = nil, want an error")
	}
	want := `--max-body 0: must be from 1 to 8388608 bytes
--max-header 100: must be from 1024 to 1048576 bytes
--header-timeout 0s: must be greater than 0
--body-timeout -1s: must be greater than 0
--idle-timeout 0s: must be greater than 0
--metrics-linger 0s: must be greater than 0
--max-connections 0: must be at least 1
--max-websockets -1: must be at least 1
--submit-rate -1: must be from 0 to 1000000
--max-concurrency -1: must be at least 0
--max-rate NaN: must be at least 0
--max-duration -1s: must be at least 0
--max-requests -1: must be at least 0
--max-tokens -1: must be at least 0`
	if got := strings.TrimSpace(err.Error()); got != want {
		t.Errorf("errors =\n%s\nwant\n%s", got, want)
	}
}
