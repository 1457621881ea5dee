//go:build !nobus

package broker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"

	"aiperfd/internal/cluster/bus"
)

// asServer makes the test binary a nats-server of its own, with the command line of that program.
const asServer = "AIPERFD_TEST_NATS_SERVER"

// atStart are the goroutines that exist before any test.
var atStart string

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		runServer()
		return
	}
	atStart = stacks()
	os.Exit(m.Run())
}

func runServer() {
	none := func() {}
	fs := flag.NewFlagSet("nats-server", flag.ExitOnError)
	s := must(server.NewServer(must(server.ConfigureOptions(fs, os.Args[1:], none, none, none))))
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		panic(err)
	}
	s.WaitForShutdown()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// stacks returns what all goroutines are doing.
func stacks() string {
	text := make([]byte, 1<<22)
	return string(text[:runtime.Stack(text, true)])
}

// The ids of two workers, and the token of both.
const (
	first, second = "0123456789abcdef", "fedcba9876543210"
	token         = "aiperfd_TOKEN"
	foreign       = "aiperfd_ANOTHER"
)

// authenticate knows two tokens.
func authenticate(text string) (name string, most int, ok bool) {
	switch text {
	case token:
		return "fleet", 2, true
	case foreign:
		return "other", 1, true
	}
	return "", 0, false
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within 30 s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// listen starts a server within the test.
func listen(t *testing.T, change func(*ServerOptions)) *Server {
	t.Helper()
	o := ServerOptions{Listen: "127.0.0.1:0", Authenticate: authenticate, Dir: t.TempDir(), Log: testLog(t)}
	if change != nil {
		change(&o)
	}
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func testLog(t *testing.T) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t))
}

// connected fails a test unless a connection was made, and closes it at its end.
func connected(t *testing.T) func(bus.Bus, error) bus.Bus {
	return func(b bus.Bus, err error) bus.Bus {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
}

// join connects a worker to a server of the test.
func join(t *testing.T, s *Server, id string) bus.Bus {
	t.Helper()
	return connected(t)(Connect(t.Context(), Options{URL: s.URL(), ID: id, Token: token}))
}

// process is a stand-alone nats-server with users whose seeds are in files.
type process struct {
	t          *testing.T
	addr       string
	config     string
	command    *exec.Cmd
	controller string // file of its seed
	worker     string
}

const prefix = "team.a"

// startProcess starts a nats-server.
func startProcess(t *testing.T) *process {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &process{t: t, addr: l.Addr().String(), config: filepath.Join(dir, "nats.conf")}
	l.Close()
	seed := func(name string) (file, public string) {
		pair := must(nkeys.CreateUser())
		file = filepath.Join(dir, name)
		if err := os.WriteFile(file, must(pair.Seed()), 0o600); err != nil {
			t.Fatal(err)
		}
		return file, must(pair.PublicKey())
	}
	var a, b string
	p.controller, a = seed("controller.nk")
	p.worker, b = seed("worker.nk")
	text := fmt.Sprintf(`listen: %q
jetstream { store_dir: %q }
authorization { users: [ {nkey: %s}, {nkey: %s, permissions: {
  publish: ["%[5]s.aiperfd.>", "$JS.API.DIRECT.GET.OBJ_team_a_aiperfd", "$JS.API.DIRECT.GET.OBJ_team_a_aiperfd.>"]
  subscribe: ["%[5]s.aiperfd.>", "%[5]s._INBOX.>"], allow_responses: true }} ] }
`, p.addr, filepath.Join(dir, "data"), a, b, prefix)
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.command = exec.Command(must(os.Executable()), "-c", p.config)
	p.command.Env = append(os.Environ(), asServer+"=1")
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) kill() {
	p.command.Process.Kill()
	p.command.Wait()
}

func (p *process) connect(o Options) bus.Bus {
	p.t.Helper()
	o.URL, o.Prefix, o.Log = "nats://"+p.addr, prefix, testLog(p.t)
	return connected(p.t)(Connect(p.t.Context(), o))
}

// backends are the buses, each with a controller and a worker whose id is first.
func backends() map[string]func(t *testing.T) (controller, worker bus.Bus) {
	return map[string]func(t *testing.T) (controller, worker bus.Bus){
		"memory": func(t *testing.T) (controller, worker bus.Bus) {
			m := &bus.Memory{}
			controller, worker = m.Connect("controller", bus.Everything()), m.Connect(first, bus.OfWorker(first))
			t.Cleanup(controller.Close)
			t.Cleanup(worker.Close)
			return controller, worker
		},
		"embedded": func(t *testing.T) (controller, worker bus.Bus) {
			s := listen(t, nil)
			return connected(t)(s.Connect(t.Context())), join(t, s, first)
		},
		"process": func(t *testing.T) (controller, worker bus.Bus) {
			p := startProcess(t)
			return p.connect(Options{Creds: p.controller, Controller: true}), p.connect(Options{Creds: p.worker, ID: first})
		},
	}
}

// Nothing of NATS runs before it is asked for, and nothing is left after it was closed.
func TestUnused(t *testing.T) {
	if strings.Contains(atStart, "nats-io") {
		t.Errorf("goroutines at the start of the process:\n%s", atStart)
	}
	s, err := Listen(t.Context(), ServerOptions{Listen: "127.0.0.1:0", Authenticate: authenticate, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Put(t.Context(), "data", strings.NewReader("text")); err != nil {
		t.Error(err)
	}
	c.Close()
	s.Close()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(stacks())
		}
	})
	eventually(t, "the goroutines of NATS end", func() bool { return !strings.Contains(stacks(), "nats-io") })
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
