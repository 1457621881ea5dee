package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// loadServe reads a command line of serve and the environment, as the command does, with a
// file as --config. It checks only.
func loadServe(t *testing.T, file string, args ...string) (*serveFlags, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "serve.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	f := new(serveFlags)
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.add(fs)
	if err := fs.Parse(append([]string{"--check-config", "--config", path, "--data-dir", t.TempDir()}, args...)); err != nil {
		t.Fatal(err)
	}
	_, err := f.load(fs)
	if err != nil {
		err = &cleaned{strings.ReplaceAll(err.Error(), path, "FILE")}
	}
	return f, err
}

// cleaned is an error without the names of temporary files.
type cleaned struct{ text string }

func (c *cleaned) Error() string { return c.text }

// A flag beats its variable, which beats the file, which beats the default.
func TestServeConfigOrder(t *testing.T) {
	t.Setenv("AIPERFD_API_PORT", "2")
	t.Setenv("AIPERFD_MAX_RATE", "2.5")
	f, err := loadServe(t, `
# as in serve --help
api-port: 3
max_rate: 3.5
max-queued: 33
shutdown-grace: 3s
retain-age: 90d
allow-target: ["*.lab", "gw.lab:8000"]
allowed-host: perf.lab
allow-env: ["A,B"]
metrics-public: true
log-format: json
`, "--api-port", "1")
	if err != nil {
		t.Fatal(err)
	}
	if f.port != 1 || f.limits.limits.Caps.Rate != 2.5 || f.maxQueued != 33 || f.process.grace != 3*time.Second || f.process.timeout != 65*time.Second {
		t.Errorf("port %d, rate %v, queued %d, grace %v, timeout %v; want 1, 2.5, 33, 3s, 65s",
			f.port, f.limits.limits.Caps.Rate, f.maxQueued, f.process.grace, f.process.timeout)
	}
	lists := map[string][]string{"allow-target": f.targets.allow, "allowed-host": f.hosts, "allow-env": f.allowEnv}
	want := map[string][]string{"allow-target": {"*.lab", "gw.lab:8000"}, "allowed-host": {"perf.lab"}, "allow-env": {"A,B"}}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	if !f.access.metricsPublic || f.process.format != "json" || time.Duration(f.store.age) != 90*24*time.Hour {
		t.Errorf("metrics-public %v, log-format %s, retain-age %v", f.access.metricsPublic, f.process.format, f.store.age)
	}
}

// All problems of the file, the variables and the flags are reported at once.
func TestServeConfigProblems(t *testing.T) {
	t.Setenv("AIPERFD_MAX_QUEUED", "lots")
	_, err := loadServe(t, `api-prot: 1
max-body: many
tls-cert: [a, b]
max-duration: forever
max-rate: fast
metrics-public: perhaps
min-free-disk: 1gig
log-level:
log-format: xml
shutdown-grace: 80s
pprof-addr: 0.0.0.0:6060
config: other.yaml
log-format: json
data-root: {a: b}
`, "--api-port", "70000")
	want := `AIPERFD_MAX_QUEUED: invalid argument "lots" for "--max-queued" flag: strconv.ParseInt: parsing "lots": invalid syntax
FILE:13: log-format is also in line 9
FILE:1: unknown key "api-prot"; did you mean "api-port"?
FILE:2: max-body: "many" must be a whole number
FILE:3: tls-cert: must be one value, not a list
FILE:4: max-duration: "forever" must be a duration, such as 30s or 24h
FILE:5: max-rate: "fast" must be a number
FILE:6: metrics-public: "perhaps" must be true or false
FILE:7: min-free-disk: "1gig": must be a number of bytes, or one with a unit as 1GiB, 500MB or 0
FILE:8: log-level: has no value
FILE:12: unknown key "config"
FILE:14: data-root: must be a value, not an object
--log-format xml: must be text or json
--api-port 70000: must be from 0 to 65535
--shutdown-timeout 1m5s: must be greater than --shutdown-grace, 1m20s
--pprof-addr 0.0.0.0:6060: must be a loopback address, such as 127.0.0.1:6060: profiles show the memory of the process to everybody who can reach them`
	if err == nil {
		t.Fatal("load = nil, want the problems")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestServeConfigFile(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"nothing", "", ""},
		{"comments only", "# api-port: 1\n\n  # none\n", ""},
		{"not a mapping", "hello", "FILE:1: must have lines such as api-port: 9097, not a string"},
		{"syntax", "api-port: 1\nhosts: [", "FILE:2: "},
		{"several documents", "api-port: 1\n---\napi-port: 2\n", "FILE:"},
		{"too large", "# " + strings.Repeat("x", maxFlagFile), "FILE: must have at most 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadServe(t, tt.file)
			if tt.want == "" && err != nil {
				t.Errorf("load = %v, want nil", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("load = %v, want an error with %q", err, tt.want)
			}
		})
	}
}
