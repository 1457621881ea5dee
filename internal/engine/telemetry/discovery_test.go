package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/transport"
)

// discoverOptions returns options of a recorder without targets.
func discoverOptions(found ...Discovery) Options {
	clock := bench.NewClock()
	return Options{
		Discover: found, Transport: transport.Options{Clock: clock}, Clock: clock, Period: DefaultPeriod,
		Secrets: redact.NewSet("canary4711xyz"), Log: zerolog.Nop(),
	}
}

// TestDiscovery: pages that appear are read from the next look on, none twice, and what is wrong now is said.
func TestDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := memnet.Listen()
		web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { counting(w) })}
		var serving sync.WaitGroup
		serving.Go(func() { web.Serve(ln) })
		defer serving.Wait()
		defer web.Close()
		looks := 0
		o := discoverOptions(Discovery{
			Shown: "file_sd:pages.json", Every: 5 * time.Second, Look: func(context.Context, Lookup) ([]Target, error) {
				looks++
				all := []Target{
					{Given: true, Candidates: []*url.URL{{Scheme: "http", Host: "a:1", Path: "/metrics"}}},
					{Given: true, Candidates: []*url.URL{{Scheme: "http", Host: "b:1", Path: "/metrics"}}},
				}
				switch looks {
				case 1:
					return nil, errors.New("no file canary4711xyz")
				case 2:
					return all[:1], nil
				}
				return all, nil
			},
		})
		o.Transport.Dial = ln.DialContext
		r := Start(o)
		got := r.Report()
		if len(got.Targets) != 1 || got.Targets[0].URL != "file_sd:pages.json" || got.Targets[0].State != diagnose.Unreachable ||
			!strings.Contains(got.Targets[0].LastError, "no file") || strings.Contains(got.Targets[0].LastError, "canary") {
			t.Errorf("before there is a file: %+v", got.Targets)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		got = r.Report()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if looks != 7 {
			t.Errorf("%d looks in 30 s", looks)
		}
		if len(got.Targets) != 2 {
			t.Fatalf("targets: %+v", got.Targets)
		}
		first, second := got.Targets[0], got.Targets[1]
		if first.URL != "http://a:1/metrics" || second.URL != "http://b:1/metrics" || first.State != diagnose.OK || second.State != diagnose.OK {
			t.Errorf("targets: %+v", got.Targets)
		}
		if first.Fetches < 24 || first.Fetches > 27 || second.Fetches < 19 || second.Fetches > 22 {
			t.Errorf("%d and %d scrapes from 5 and 10 s to 30 s", first.Fetches, second.Fetches)
		}
	})
}

// TestDiscoveryLimit: a discovery of too many pages reads some and says so.
func TestDiscoveryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := discoverOptions(Discovery{
			Shown: "file_sd:many", Every: time.Hour, Look: func(context.Context, Lookup) (all []Target, _ error) {
				for i := range maxDiscovered + 7 {
					all = append(all, Target{Candidates: []*url.URL{{Scheme: "http", Host: fmt.Sprintf("h%d:1", i), Path: "/metrics"}}})
				}
				return all, nil
			},
		})
		o.Transport.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
		r := Start(o)
		got := r.Report().Targets
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if last := got[len(got)-1]; len(got) != maxDiscovered+1 || last.LastError != "207 pages; only the first 200 are read" {
			t.Errorf("%d targets, the last %+v", len(got), last)
		}
	})
}

// TestAtEachAddress: of a name with two addresses, both servers are read, each at its address.
func TestAtEachAddress(t *testing.T) {
	port := ""
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			t.Skip(err) // no second address of the loopback range, or the port is taken there
		}
		_, port, _ = net.SplitHostPort(ln.Addr().String())
		web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{host=%q,asked=%q} 3\n", host, r.Host)
		})}
		go web.Serve(ln)
		t.Cleanup(func() { web.Close() })
	}
	page := Target{Given: true, Apart: true, Candidates: []*url.URL{{Scheme: "http", Host: "replicas.test:" + port, Path: "/metrics"}}}
	o := discoverOptions(AtEachAddress(page, time.Hour))
	var asked []string
	o.Transport.Policy.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		asked = append(asked, host)
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}, nil
	}
	r := Start(o)
	r.Sync(t.Context())
	got := r.Report().Targets
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if len(asked) != 1 || asked[0] != "replicas.test" {
		t.Errorf("names that were looked up: %q", asked)
	}
	if len(got) != 2 {
		t.Fatalf("targets: %+v", got)
	}
	for i, host := range []string{"127.0.0.1", "127.0.0.2"} {
		if want := "http://" + host + ":" + port + "/metrics"; got[i].URL != want || got[i].State != diagnose.OK {
			t.Errorf("target %+v, want %s", got[i], want)
		}
		r.targets[i].mu.Lock()
		labels := r.targets[i].history.Families
		r.targets[i].mu.Unlock()
		if text := fmt.Sprintf("%+v", labels[0].Groups[0].Labels); !strings.Contains(text, host) || !strings.Contains(text, "replicas.test:"+port) {
			t.Errorf("labels %s, want those of the server at %s, asked by its name", text, host)
		}
	}
}
