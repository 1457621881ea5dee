package mock

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// rig is a server behind a network, with a client.
type rig struct {
	t      testing.TB
	server *Server
	client *http.Client
	base   string
	start  time.Time
	stop   func() // ends the server; the test's end does so too
	// virtual reports whether the rig is in a synctest bubble, so that tests can wait for
	// the server to finish a request after its answer.
	virtual bool
}

// newRig serves opt over an in-memory network until the test ends. It must be called
// in a synctest bubble.
func newRig(t testing.TB, opt options.Options) *rig {
	t.Helper()
	ln := memnet.Listen()
	r := serveRig(t, opt, ln, "http://mock.test", ln.DialContext)
	r.virtual = true
	return r
}

// newTCPRig is newRig over loopback, in real time.
func newTCPRig(t testing.TB, opt options.Options) *rig {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	return serveRig(t, opt, ln, "http://"+ln.Addr().String(), new(net.Dialer).DialContext)
}

func serveRig(t testing.TB, opt options.Options, ln net.Listener, base string,
	dial func(context.Context, string, string) (net.Conn, error),
) *rig {
	t.Helper()
	s, err := New(opt)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, ln, s, ServeOptions{}) }()
	transport := &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 1000}
	stop := sync.OnceFunc(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	t.Cleanup(stop)
	return &rig{t: t, stop: stop, server: s, client: &http.Client{Transport: transport}, base: base, start: time.Now()}
}

// send posts body and returns the response, whose body the caller reads.
func (r *rig) send(ctx context.Context, path, body string, header ...string) (*http.Response, error) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatalf("NewRequest: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return r.client.Do(req)
}

// reply is a response that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	at     time.Duration // of the end, since the rig started
	err    error         // of the exchange or of reading
}

func (r *rig) post(path, body string, header ...string) reply {
	r.t.Helper()
	resp, err := r.send(r.t.Context(), path, body, header...)
	return r.read(resp, err)
}

func (r *rig) get(path string) reply {
	r.t.Helper()
	resp, err := r.client.Get(r.base + path)
	return r.read(resp, err)
}

func (r *rig) read(resp *http.Response, err error) reply {
	r.t.Helper()
	if err != nil {
		return reply{err: err, at: time.Since(r.start)}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(b), time.Since(r.start), err}
}

// line is a line of a stream and when it arrived.
type line struct {
	text string
	at   time.Duration
}

// stream posts body and returns the non-empty lines of the answer with their
// times, and the error that ended it, if any.
func (r *rig) stream(path, body string) ([]line, error) {
	r.t.Helper()
	begin := time.Now()
	resp, err := r.send(r.t.Context(), path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var lines []line
	in := bufio.NewReader(resp.Body)
	for {
		text, err := in.ReadString('\n')
		if text = strings.TrimRight(text, "\r\n"); text != "" {
			lines = append(lines, line{text, time.Since(begin)})
		}
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}

// lastTruth returns the truth of the newest finished request.
func (r *rig) lastTruth() api.Truth {
	r.t.Helper()
	if r.virtual {
		synctest.Wait()
	}
	all := r.server.Truth()
	if len(all) == 0 {
		r.t.Fatalf("Truth() is empty")
	}
	return all[len(all)-1]
}

func mustDelay(t testing.TB, s string) random.Delay {
	t.Helper()
	d, err := random.ParseDelay(s)
	if err != nil {
		t.Fatalf("ParseDelay(%q): %v", s, err)
	}
	return d
}

func mustLength(t testing.TB, s string) random.Length {
	t.Helper()
	l, err := random.ParseLength(s)
	if err != nil {
		t.Fatalf("ParseLength(%q): %v", s, err)
	}
	return l
}

func mustFaults(t testing.TB, rules ...string) []options.Fault {
	t.Helper()
	var out []options.Fault
	for _, text := range rules {
		f, err := options.ParseFault(text)
		if err != nil {
			t.Fatalf("ParseFault(%q): %v", text, err)
		}
		out = append(out, f)
	}
	return out
}

const (
	chatPath       = "/v1/chat/completions"
	completionPath = "/v1/completions"
)
