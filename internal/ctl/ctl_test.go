package ctl

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/client"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

// Where server and token come from: flags, then variables, then the context, whose token
// goes to its own server only.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv(envServer, "")
	t.Setenv(envToken, "")
	t.Setenv("LAB_TOKEN", "of-lab")
	path := filepath.Join(dir, "flag.token")
	if err := os.WriteFile(path, []byte("of-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := &contextFile{Current: "lab", Contexts: map[string]Context{
		"lab": {Server: "http://lab", TokenEnv: "LAB_TOKEN"}, "cmd": {Server: "http://cmd", TokenCommand: "echo of-command"}, "none": {Server: "http://none"},
	}}
	if err := file.save(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "aiperfd", "contexts.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("contexts.yaml: %v, %v; want mode 0600", info, err)
	}
	for _, tt := range []struct {
		name                  string
		target                target
		envServer, envToken   string
		wantServer, wantToken string
	}{
		{"the current context", target{}, "", "", "http://lab", "of-lab"},
		{"a context by name", target{context: "cmd"}, "", "", "http://cmd", "of-command"},
		{"a context without token", target{context: "none"}, "", "", "http://none", ""},
		{"another server gets no token of a context", target{server: "http://x"}, "", "", "http://x", ""},
		{"nor does that of a variable", target{}, "http://y", "", "http://y", ""},
		{"a flag comes before a variable", target{server: "http://x", tokenFile: path}, "http://y", "of-env", "http://x", "of-file"},
		{"a context by name before a variable", target{context: "none"}, "http://y", "of-env", "http://none", "of-env"},
	} {
		t.Setenv(envServer, tt.envServer)
		t.Setenv(envToken, tt.envToken)
		from, err := tt.target.source()
		if err != nil {
			t.Fatal(err)
		}
		token, err := tt.target.token(t.Context(), from)
		if err != nil || from.Server != tt.wantServer || token != tt.wantToken {
			t.Errorf("%s: %q with %q (%v), want %q with %q", tt.name, from.Server, token, err, tt.wantServer, tt.wantToken)
		}
	}
}

// Files that cannot be trusted or read are errors, which contain no token.
func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	path := filepath.Join(dir, "aiperfd", "contexts.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{"contexts: {}", 0o622, "other users can write it"},
		{"contexts: {a: {server: x, token: abc}}", 0o600, "unknown field"},
		{strings.Repeat("#", maxContexts+1), 0o600, "more than"},
	} {
		if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := readContexts(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40s: %v, want %q", tt.text, err, tt.want)
		}
	}
	for text, want := range map[string]string{
		"": "has no token", " \n": "has no token", "ci:submit:abcdef": "hashes", "my secret": "one word", "sécret": "one word", strings.Repeat("x", maxToken): "one word",
	} {
		_, err := checkToken("--token-file", text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cret") {
			t.Errorf("checkToken(%.20q): %v, want %q", text, err, want)
		}
	}
}

// Name and labels are added to documents in all notations; what is there stays.
func TestAddMetadata(t *testing.T) {
	for _, tt := range []struct{ text, media, want string }{
		{"benchmark: {model: m, rate: 1.50}\n", mediaYAML, `{"benchmark":{"model":"m","rate":1.50},"metadata":{"name":"n","labels":{"a":"b=c"}}}`},
		{`{"metadata":{"name":"old","labels":{"a":"x","k":"v"},"notes":"t"}}`, mediaJSON, `{"metadata":{"name":"n","labels":{"a":"b=c","k":"v"},"notes":"t"}}`},
	} {
		got, media, err := addMetadata([]byte(tt.text), tt.media, "n", []string{"a=b=c"})
		if err != nil || media != mediaJSON {
			t.Fatalf("%s: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
	same, media, err := addMetadata([]byte("a: 1 # comment"), mediaYAML, "", nil)
	if err != nil || media != mediaYAML || string(same) != "a: 1 # comment" {
		t.Errorf("a document without changes becomes %q (%s, %v)", same, media, err)
	}
	for text, want := range map[string]string{
		"metadata: 1": "metadata in the document is not an object", "metadata: {labels: []}": "metadata.labels in the document is not an object",
		"a: 1\na: 2": "line 2: a is there twice, first in line 1", "- 1": "not an object", "a: [": "line",
	} {
		if _, _, err := addMetadata([]byte(text), mediaYAML, "n", []string{"a=b", "bad"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The table of runs at 80 columns and in full.
func TestTable(t *testing.T) {
	columns := []view.Column{{Title: "ID"}, {Title: "NAME", Weight: 2}, {Title: "REQ/S", Weight: 1, Number: true}, {Title: "MODEL", Weight: 3}}
	rows := [][]string{{"0199f1c2b7c8", "nightly", "7.00", "llama\x1b[31m"}, {"0199f1c2b7c9", "größer", "12.5", "m"}}
	for width, want := range map[int]string{
		0:  "ID            NAME     REQ/S  MODEL\n0199f1c2b7c8  nightly   7.00  llama[31m\n0199f1c2b7c9  größer    12.5  m\n",
		30: "ID            NAME     REQ/S\n0199f1c2b7c8  nightly   7.00\n0199f1c2b7c9  größer    12.5\n",
		20: "ID            REQ/S\n0199f1c2b7c8   7.00\n0199f1c2b7c9   12.5\n",
		10: "ID\n0199f1c...\n0199f1c...\n",
	} {
		var out bytes.Buffer
		if err := printTable(&out, width, columns, rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("at %d columns (-want +got):\n%s", width, diff)
		}
		for line := range strings.Lines(out.String()) {
			if n := view.Width(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("at %d columns a line has %d", width, n)
			}
		}
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		-time.Second: {"0s", "0.0s"}, 1300 * time.Millisecond: {"1s", "1.3s"}, 90 * time.Second: {"1m", "1m30s"},
		125 * time.Minute: {"2h", "2h05m"}, 47 * time.Hour: {"47h", "47h00m"}, 72 * time.Hour: {"3d", "72h00m"},
	} {
		if got := [2]string{age(d), length(d)}; got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Short ids are shown only if they tell the runs of the table apart.
func TestShortID(t *testing.T) {
	run := func(id string) *client.Run { r := &client.Run{}; r.ID = id; return r }
	a, b, c := run("01a205fb139c79b89b51052bd4bf911f"), run("01a205fb139c7aaaaaaaaaaaaaaaaaaa"), run("01a205fb139d79b89b51052bd4bf911f")
	if got := shortID([]*client.Run{a, c}); got != 12 {
		t.Errorf("shortID = %d, want 12", got)
	}
	if got := shortID([]*client.Run{a, b}); got != 32 {
		t.Errorf("shortID of runs of one millisecond = %d, want 32", got)
	}
}

// What a comparison says about each value, and what the configurations do not share.
func TestPrintComparison(t *testing.T) {
	const text = `{"baseline":"a","runs":[{"id":"a","state":"completed","name":"one","results":"final"},{"id":"b","state":"running","results":"live","reason":"It goes on","verdict":"fail","client":"suspect"}],
	"metrics":[{"tag":"x","header":"X","unit":"ms","statistics":[{"statistic":"avg","values":[{"run":"a","value":1},{"run":"b","value":2}]}]},
	{"tag":"request_latency","header":"Latency","unit":"ms","statistics":[
	 {"statistic":"p99","values":[{"run":"a","value":100,"unsupported":true},{"run":"b","value":null}]},
	 {"statistic":"p50","values":[{"run":"a","value":10},{"run":"b","value":9,"delta":-1,"delta_percent":-10}]}]}],
	"differences":[{"pointer":"/phases/0/rate","values":[{"run":"b","value":1.5}]},{"pointer":"/models/0","values":[{"run":"a","value":"m"},{"run":"b","value":null}]}]}`
	var c compare.Comparison
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	if err := printComparison(&session{globals: &globals{}, cmd: cmd, out: &out, err: &out}, &c, false); err != nil {
		t.Fatal(err)
	}
	want := `A  a  completed  one  baseline
B  b  running  live results, It goes on, objectives: fail, client suspect

METRIC                A     B  CHANGE
Latency (ms)  p50  10.0  9.00  -10.0%
Latency (ms)  p99  100*     -
* too few independent requests for this percentile

CONFIGURATION  A     B
phases/0/rate  -   1.5
models/0       m  null
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
}

// TestGetFields: what is said of a run is broken between words, and said once.
func TestGetFields(t *testing.T) {
	const reason = "the load generator was short of CPU: its timers fired late, off by up to 59 ms (limit 1.0 ms): time_to_first_token"
	r := &client.Run{Run: wire.Run{
		ID: "01a2", Client: &run.ClientVerdict{Verdict: verdict.Suspect, Reasons: []verdict.Reason{
			{Level: verdict.Suspect, Message: reason}, {Level: verdict.Invalid, Message: "a number of the files", Unreported: true},
		}},
		Summary: &run.Summary{
			Requests: 40, TTFTP50: new(9.0), TTFTP99: new(20.0), Unsupported: []string{"time_to_first_token_p99_ms"},
		},
		Warnings: []bench.Warning{
			{Code: "client-suspect", Detail: reason}, {Code: "http2", Detail: "another"}, {Code: "output-length", Detail: "a third"},
		},
	}}
	var out bytes.Buffer
	if err := printFields(&out, 60, describe(r, time.Now())); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for line := range strings.Lines(text) {
		if len(line) > 61 {
			t.Errorf("a line of %d columns: %s", len(line)-1, line)
		}
	}
	if flat := strings.Join(strings.Fields(text), " "); strings.Count(flat, reason) != 1 || !strings.Contains(flat, "Note http2: another") || !strings.Contains(flat, "Warning output-length: a third") {
		t.Errorf("the reason is not there once, between words:\n%s", text)
	}
	if want := "TTFT p50 9.00 ms, p99 20.0* ms * too few independent requests"; !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
		t.Errorf("there is no %q:\n%s", want, text)
	}
}

// The load in the document of a study is that of one of its runs.
func TestGetStudy(t *testing.T) {
	for kind, want := range map[run.Kind]string{run.KindRun: "concurrency 4", run.KindSweep: ""} {
		r := &client.Run{Run: wire.Run{Kind: kind}}
		r.Concurrency = new(4)
		if got := loadOf(r); got != want {
			t.Errorf("the load of a %s is %q, want %q", kind, got, want)
		}
	}
	r := &client.Run{Run: wire.Run{Kind: run.KindRun, Loads: []run.PhaseLoad{{Phase: "first", Load: "4 concurrent"}, {Phase: "second", Load: "3 req/s"}}}}
	if got, want := loadOf(r), "first: 4 concurrent\nsecond: 3 req/s"; got != want {
		t.Errorf("the load of two phases is %q, want %q", got, want)
	}
}
