package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"aiperfd/internal/engine/transport/testcert"
)

// patience bounds every wait of a script. It is generous, because a busy machine is
// not a failure.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	commands := map[string]func(){
		"aiperfd": main,
		"exits":   func() { os.Exit(runExits(os.Args[1:])) },
	}
	maps.Copy(commands, busCommands())
	testscript.Main(m, commands)
}

// TestScript drives the program as users do: by its command line, signals and
// HTTP. The scripts are in testdata/script. Under the race detector those run in which
// something happens to a program while it runs: it is in the background, gets requests or
// signals. A command that runs alone from its start to its end does what the tests of
// packages do under the detector.
func TestScript(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	made := testcert.New(t, "127.0.0.1")
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("AIPERF_API_SERVER_POST_COMPLETE_GRACE", "0")
			e.Setenv("TOKENIZERS", filepath.Join(here, "..", "..", "internal", "engine", "tokenizer", "testdata"))
			for name, value := range map[string]string{"CA": made.CAFile, "CERT": made.CertFile, "KEY": made.KeyFile} {
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"address":  scriptAddress,
			"http":     scriptHTTP,
			"signal":   scriptSignal,
			"ends":     scriptEnds,
			"json":     scriptJSON,
			"capture":  scriptCapture,
			"grown":    scriptGrown,
			"envsubst": scriptEnvsubst,
			"word":     scriptWord,
		},
	})
}

// inBackground matches the line of a script that runs a program other than the simulator in the
// background.
var inBackground = regexp.MustCompile(`(?m)\baiperfd (?:[a-ln-z]|m[a-np-z]).*&\w*&?$`)

// scripts returns the scripts to run.
func scripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	if !raceEnabled {
		return all
	}
	return slices.DeleteFunc(all, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return !inBackground.Match(text)
	})
}

// runExits is the command "exits CODE COMMAND ARGUMENT…": it runs a command,
// hands signals on to it, and succeeds if the command ends with that code.
func runExits(args []string) int {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "exits: first argument must be a number")
		return 1
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "exits:", err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may just have ended
		}
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "exits:", err)
		return 1
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		fmt.Fprintf(os.Stderr, "exits: %s ended with %d, want %d\n", args[1], got, want)
		return 1
	}
	return 0
}

// scriptAddress is "address NAME FILE": wait for a port file, then set the
// variable NAME to the address that it means and NAME_PORT to the port.
func scriptAddress(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: address NAME FILE")
	}
	file := ts.MkAbs(args[1])
	var port string
	poll(ts, "port file "+args[1], patience, func() bool {
		data, err := os.ReadFile(file)
		port = strings.TrimSpace(string(data))
		return err == nil && strings.HasSuffix(string(data), "\n")
	})
	ts.Setenv(args[0], "http://127.0.0.1:"+port)
	ts.Setenv(args[0]+"_PORT", port)
}

// scriptHTTP is "http [-code N] [-until REGEXP] [-token TOKEN] METHOD URL [FILE]": one
// request, or with -until requests until the response matches. The body of the
// answer becomes the standard output. FILE is the body of the request.
func scriptHTTP(ts *testscript.TestScript, neg bool, args []string) {
	code, until := http.StatusOK, (*regexp.Regexp)(nil)
	var err error
	token := ""
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-code":
			code, err = strconv.Atoi(args[1])
		case "-until":
			until, err = regexp.Compile(args[1])
		case "-token":
			token = args[1]
		default:
			ts.Fatalf("http: unknown option %s", args[0])
		}
		ts.Check(err)
		args = args[2:]
	}
	if len(args) < 2 || len(args) > 3 || neg {
		ts.Fatalf("usage: http [-code N] [-until REGEXP] [-token TOKEN] METHOD URL [FILE]")
	}
	var body []byte
	if len(args) == 3 {
		body = []byte(ts.ReadFile(args[2]))
	}
	var got string
	poll(ts, args[1], patience, func() bool {
		status, answer, err := exchange(args[0], args[1], token, body)
		if err != nil && until != nil {
			return false // the server may be starting
		}
		ts.Check(err)
		got = answer
		if until == nil && status != code {
			ts.Fatalf("%s %s: status %d, want %d\n%s", args[0], args[1], status, code, answer)
		}
		return status == code && (until == nil || until.MatchString(answer))
	})
	_, err = io.WriteString(ts.Stdout(), got)
	ts.Check(err)
}

func exchange(method, url, token string, body []byte) (status int, answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/yaml")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// poll calls done until it returns true.
func poll(ts *testscript.TestScript, what string, limit time.Duration, done func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%s: not within %s", what, limit)
		}
	}
}

// scriptSignal is "signal WORD INT|TERM|HUP|KILL": it signals the one background
// command that has the word in its command line.
func scriptSignal(ts *testscript.TestScript, _ bool, args []string) {
	known := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
	if len(args) != 2 || known[args[1]] == 0 {
		ts.Fatalf("usage: signal WORD INT|TERM|HUP|KILL")
	}
	ts.Check(background(ts, args[0]).Signal(known[args[1]]))
}

// scriptEnds is "ends WORD DURATION": the background command with the word in
// its command line has ended by then.
func scriptEnds(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: ends WORD DURATION")
	}
	limit, err := time.ParseDuration(args[1])
	ts.Check(err)
	process := background(ts, args[0])
	poll(ts, args[0]+" has ended", limit, func() bool {
		return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
	})
}

func background(ts *testscript.TestScript, word string) *os.Process {
	var found []*os.Process
	for _, cmd := range ts.BackgroundCmds() {
		if strings.Contains(strings.Join(cmd.Args, " "), word) {
			found = append(found, cmd.Process)
		}
	}
	if len(found) != 1 {
		ts.Fatalf("%d background commands have %q in their command line, want 1", len(found), word)
	}
	return found[0]
}

// scriptJSON is "json FILE PATH REGEXP": the value at a path of a JSON file (or
// of stdout), a/0/b from the top, matches when it is written as JSON; a text is
// taken without its quotation marks. With ! it does not match or is not there.
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] json FILE PATH REGEXP")
	}
	want, err := regexp.Compile("^(?:" + args[2] + ")$")
	ts.Check(err)
	got, err := jsonAt(ts.ReadFile(args[0]), args[1])
	switch matches := err == nil && want.MatchString(got); {
	case !matches && !neg:
		ts.Fatalf("%s in %s is %s (error %v), want %s", args[1], args[0], got, err, args[2])
	case matches && neg:
		ts.Fatalf("%s in %s is %s", args[1], args[0], got)
	}
}

// scriptCapture is "capture NAME FILE PATH": it sets a variable to a value of a
// JSON file.
func scriptCapture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: capture NAME FILE PATH")
	}
	value, err := jsonAt(ts.ReadFile(args[1]), args[2])
	ts.Check(err)
	ts.Setenv(args[0], value)
}

func jsonAt(text, path string) (string, error) {
	var at any
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return text, err
	}
	for name := range strings.SplitSeq(path, "/") {
		next, ok := any(nil), false
		switch in := at.(type) {
		case map[string]any:
			next, ok = in[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(in) {
				next, ok = in[i], true
			}
		}
		if !ok {
			return "", fmt.Errorf("nothing at %q", name)
		}
		at = next
	}
	if text, ok := at.(string); ok {
		return text, nil
	}
	out, err := json.Marshal(at)
	return string(out), err
}

// scriptGrown is "grown FILE BYTES": wait until a file has that size.
func scriptGrown(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: grown FILE BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	poll(ts, args[0]+" has grown", patience, func() bool {
		info, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil && info.Size() >= size
	})
}

// scriptEnvsubst is "envsubst FILE": variables in the file become their values.
func scriptEnvsubst(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: envsubst FILE")
	}
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// scriptWord is "word NAME": it sets a variable to the standard output, which is one
// word.
func scriptWord(ts *testscript.TestScript, _ bool, args []string) {
	words := strings.Fields(ts.ReadFile("stdout"))
	if len(args) != 1 || len(words) != 1 {
		ts.Fatalf("usage: word NAME, with one word on the standard output, not %q", words)
	}
	ts.Setenv(args[0], words[0])
}
