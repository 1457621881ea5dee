package engine_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/transport/frame"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
)

// recorded returns the response vectors of package endpoint whose types exist and
// that are one answer to one request.
func recorded(t testing.TB) []mock.Case {
	t.Helper()
	files, err := filepath.Glob("endpoint/testdata/streams*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var all []mock.Case
	for _, name := range files {
		some, err := options.LoadCases(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range some {
			if _, ok := endpoint.Lookup(c.Type); ok && !c.Polled {
				all = append(all, c)
			}
		}
	}
	if len(all) < 29 {
		t.Fatalf("only %d vectors", len(all))
	}
	return all
}

// stallTimeout is the client's timeout for recorded answers that stall.
const stallTimeout = 5 * time.Second

// exchange requests a case from a simulated server at base and decodes the response.
func exchange(t testing.TB, client *transport.Client, base string, c *mock.Case, scale string) (bench.Answer, time.Duration) {
	t.Helper()
	kind, _ := endpoint.Lookup(c.Type)
	target, err := url.Parse(base + kind.DefaultPath(c.Streaming))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "X-Mock-Case": {c.ID}, "X-Mock-Time-Scale": {scale}}
	x := client.Do(t.Context(), &transport.Request{URL: target, Header: header, Body: []byte("{}"), Streaming: c.Streaming})
	defer x.Release()
	return kind.Decode(x.Response, c.Streaming), x.Stamps.Start
}

// expected is what the codec makes of a case without a network: package
// endpoint's tests hold it against what the vectors demand.
func expected(t testing.TB, c *mock.Case) bench.Answer {
	t.Helper()
	kind, _ := endpoint.Lookup(c.Type)
	header := http.Header{}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	var f frame.Framer
	f.Reset(frame.Head{
		Status: c.Status, Streaming: c.Streaming,
		ContentType: header.Get("Content-Type"), ContentEncoding: header.Get("Content-Encoding"),
	})
	for i := range c.Reads {
		data, err := c.Reads[i].Bytes()
		if err != nil {
			t.Fatal(err)
		}
		f.Feed(millis(c.Reads[i].At), data)
	}
	end := map[string]bench.End{options.EndEOF: bench.EndEOF, options.EndReset: bench.EndReset, options.EndStall: bench.EndTimeout}[c.End.How]
	f.Finish(millis(c.End.At), end)
	resp := f.Response()
	resp.Header = header
	if c.End.How == options.EndStall {
		resp.Failure = &bench.Failure{Class: bench.TimeoutIdle, Step: bench.StepBody, Status: c.Status}
	}
	return kind.Decode(resp, c.Streaming)
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// texts ignores messages that differ between transports.
func texts() cmp.Option { return cmpopts.IgnoreFields(bench.Failure{}, "Message", "Code", "Step") }

// TestReplayedVectors: over real sockets and with both transports, the client decodes
// every recorded answer like the codec alone.
func TestReplayedVectors(t *testing.T) {
	all := recorded(t)
	server, err := mock.New(mock.Options{Cases: all})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := mock.Serve(ctx, ln, server, mock.ServeOptions{}); err != nil {
			t.Errorf("mock: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
		if err := server.Close(); err != nil {
			t.Errorf("close mock: %v", err)
		}
	})
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"loop": nil, "net": new(net.Dialer).DialContext,
	} {
		o := transport.Options{Clock: bench.NewClock(), Dial: dial, TotalTimeout: time.Minute, Streaming: true}
		patient := transport.New(o)
		t.Cleanup(patient.Close)
		o.IdleTimeout = 200 * time.Millisecond
		hasty := transport.New(o)
		t.Cleanup(hasty.Close)
		for i := range all {
			c := &all[i]
			t.Run(name+"/"+c.ID, func(t *testing.T) {
				client := patient
				if c.End.How == options.EndStall {
					client = hasty
				}
				got, _ := exchange(t, client, "http://"+ln.Addr().String(), c, "0")
				want := expected(t, c)
				if diff := cmp.Diff(want, got, texts(), cmpopts.EquateNaNs(), cmpopts.IgnoreFields(bench.Chunk{}, "At", "Read"),
					cmpopts.IgnoreFields(bench.Answer{}, "FirstEvent")); diff != "" {
					t.Errorf("answer (-codec alone +over a socket):\n%s", diff)
				}
			})
		}
	}
}

// TestReplayedVectorTimes: in virtual time, the stamps of all content are those of the
// recording.
func TestReplayedVectorTimes(t *testing.T) {
	for _, c := range recorded(t) {
		t.Run(c.ID, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, err := mock.New(mock.Options{Cases: []mock.Case{c}})
				if err != nil {
					t.Fatal(err)
				}
				ln := memnet.Listen()
				web := &http.Server{Handler: server.Handler()}
				var group sync.WaitGroup
				group.Go(func() { _ = web.Serve(ln) })
				o := transport.Options{Clock: bench.NewClock(), Dial: ln.DialContext, Streaming: true}
				if c.End.How == options.EndStall {
					o.IdleTimeout = stallTimeout
				}
				client := transport.New(o)
				got, start := exchange(t, client, "http://mock.test", &c, "1")
				for i := range got.Chunks {
					got.Chunks[i].At -= start
				}
				if got.FirstEvent > 0 {
					got.FirstEvent -= start
				}
				if diff := cmp.Diff(expected(t, &c), got, texts(), cmpopts.EquateNaNs(), cmpopts.IgnoreFields(bench.Chunk{}, "Read")); diff != "" {
					t.Errorf("answer (-codec alone +over a network):\n%s", diff)
				}
				client.Close()
				_ = web.Close()
				group.Wait()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
