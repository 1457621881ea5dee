//go:build !nobus

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"aiperfd/internal/api/access"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
)

// busCommands returns the programs of tests of the bus.
func busCommands() map[string]func() { return map[string]func(){"nats-server": runNATS} }

// runNATS is the program nats-server, with its command line.
func runNATS() {
	none := func() {}
	fs := flag.NewFlagSet("nats-server", flag.ExitOnError)
	o, err := server.ConfigureOptions(fs, os.Args[1:], none, none, none)
	if err == nil {
		var s *server.Server
		if s, err = server.NewServer(o); err == nil {
			err = server.Run(s)
			s.WaitForShutdown()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// existingNATS is a stand-alone nats-server with a controller and workers that may do what the guide says, and a user
// that hears everything.
type existingNATS struct {
	url                string
	controller, worker string // files of credentials
	mu                 sync.Mutex
	heard              map[string]int // messages by the last word of their subject
	bytes              bytes.Buffer   // of all payloads
}

func startNATS(t *testing.T) *existingNATS {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir, at := t.TempDir(), l.Addr().String()
	l.Close()
	n := &existingNATS{url: "nats://" + at, heard: map[string]int{}}
	seed := func(name string) (file, public string) {
		pair, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := pair.Seed()
		public, _ = pair.PublicKey()
		file = filepath.Join(dir, name)
		writeFile(t, file, string(text))
		return file, public
	}
	var controller, worker, tap string
	n.controller, controller = seed("controller.nk")
	n.worker, worker = seed("worker.nk")
	tapFile, tap := seed("tap.nk")
	conf := filepath.Join(dir, "nats.conf")
	writeFile(t, conf, fmt.Sprintf(`listen: %q
authorization { users: [
  {nkey: %s, permissions: {publish: ["team.a.aiperfd.>", "team.a._INBOX.>"], subscribe: ["team.a.aiperfd.>", "team.a._INBOX.>"]}}
  {nkey: %s, permissions: {
    publish: ["team.a.aiperfd.join", "team.a.aiperfd.clock", "team.a.aiperfd.v1.*.out.>"]
    subscribe: ["team.a.aiperfd.v1.*.in.>", "team.a._INBOX.>"], allow_responses: true}}
  {nkey: %s}
] }
`, at, controller, worker, tap))
	start(t, nil, "nats-server", "-c", conf)
	option, err := nats.NkeyOptionFromSeed(tapFile)
	if err != nil {
		t.Fatal(err)
	}
	c, err := nats.Connect(n.url, option, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Subscribe(">", func(m *nats.Msg) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.heard[m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]]++
		n.bytes.Write(m.Data)
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.FlushTimeout(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	return n
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts a program that is killed at the end of the test, and shows what it printed if that fails.
func start(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	out := &lockedBuffer{}
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it may have been waited for
		if t.Failed() {
			t.Logf("%s %s:\n%s", name, strings.Join(args, " "), out)
		}
	})
	return cmd
}

// Controller and load generators meet at an existing NATS, and who hears every message there reads no secret.
func TestExistingNATS(t *testing.T) {
	n := startNATS(t)
	simulated, err := mock.New(options.Options{APIKey: "sk-" + canary("apikey")})
	if err != nil {
		t.Fatal(err)
	}
	target := httptest.NewServer(simulated.Handler())
	t.Cleanup(target.Close)
	dir := t.TempDir()
	tokens, token, wrong := filepath.Join(dir, "tokens"), filepath.Join(dir, "token"), filepath.Join(dir, "wrong")
	made, text, err := access.NewToken("fleet", access.Worker)
	if err != nil {
		t.Fatal(err)
	}
	made.Most = 2
	if err := access.AddToken(tokens, made); err != nil {
		t.Fatal(err)
	}
	writeFile(t, token, text)
	writeFile(t, wrong, access.TokenPrefix+"WRONG")
	out := filepath.Join(dir, "out")
	controller := start(t, []string{"AIPERFD_API_KEY=sk-" + canary("apikey")}, "aiperfd", "profile", "--model", "m", "--url", target.URL,
		"--streaming", "--tokenizer", "builtin", "--isl", "16", "--osl", "4", "--request-rate", "20", "--request-count", "40",
		"--header", "X-Acme-Token: "+core("acmetoken"), "--ui", "simple", "--artifact-dir", out,
		"--workers", "2", "--bus-url", n.url, "--bus-creds", n.controller, "--bus-prefix", "team.a", "--bus-token-file", tokens)
	worker := func(name, token string) *exec.Cmd {
		return start(t, nil, "aiperfd", "worker", "--join", n.url, "--bus-creds", n.worker, "--bus-prefix", "team.a",
			"--token-file", token, "--name", name, "--once", "--data-dir", filepath.Join(dir, name))
	}
	if err := worker("stranger", wrong).Wait(); err == nil {
		t.Error("a load generator with a wrong token has ended without an error")
	}
	ended := []*exec.Cmd{worker("one", token), worker("two", token), controller}
	for _, cmd := range ended {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", cmd.Args, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Cluster struct {
			Workers      []struct{ Name string }
			Conservation struct {
				Holds bool
				Sent  int
			}
		}
	}
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	if c := result.Cluster; len(c.Workers) != 2 || !c.Conservation.Holds || c.Conservation.Sent != 40 {
		t.Errorf("cluster: %+v", c)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.heard["join"] < 3 || n.heard["prepare"] < 2 || n.heard["beat"] < 4 || n.heard["file"] < 4 {
		t.Errorf("messages: %v", n.heard)
	}
	t.Logf("%d bytes in %v", n.bytes.Len(), n.heard)
	sum := sha256.Sum256([]byte(text))
	for what, secret := range map[string]string{
		"the API key": core("apikey"), "a header": core("acmetoken"), "the token": text, "its hash": string(sum[:]),
		"its hash in hex": hex.EncodeToString(sum[:]),
	} {
		if bytes.Contains(n.bytes.Bytes(), []byte(secret)) {
			t.Errorf("%s has crossed the bus", what)
		}
	}
}
