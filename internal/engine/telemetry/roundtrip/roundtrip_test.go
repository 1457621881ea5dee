package roundtrip

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

const ms = time.Millisecond

// fake is a server whose connections take some time in turn, the last one again and again.
type fake struct {
	address string
	takes   []time.Duration
	err     error // after that time
	asked   int
}

func (f *fake) Address() string { return f.address }

func (f *fake) Connect(ctx context.Context) (time.Duration, error) {
	took := f.takes[min(f.asked, len(f.takes)-1)]
	f.asked++
	select {
	case <-time.After(took):
		return took, f.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// file is a file in memory.
type file struct {
	bytes.Buffer
	closed bool
}

func (f *file) Close() error {
	f.closed = true
	return nil
}

// prober returns a prober of servers, and its lines.
func prober(servers ...*fake) (*Prober, *file) {
	lines := &file{}
	o := Options{Interval: time.Second, Clock: bench.NewClock(), Lines: lines, Redact: func(text string) string {
		return strings.ReplaceAll(text, "secret", "<redacted>")
	}}
	for _, f := range servers {
		o.Servers = append(o.Servers, Server{Probe: f, URL: "http://" + f.address})
	}
	return New(o), lines
}

// during performs phases of a length, one after the other, and returns how long the end took.
func during(t *testing.T, p *Prober, more bool, phases ...time.Duration) time.Duration {
	t.Helper()
	for _, length := range phases {
		p.Begin()
		<-time.After(length)
		p.End()
	}
	end := time.Now()
	if err := p.Close(more); err != nil {
		t.Error(err)
	}
	return time.Since(end)
}

func TestProber(t *testing.T) {
	tests := []struct {
		name   string
		server fake
		phases []time.Duration
		forced bool
		want   Result
		probes int
		ends   time.Duration // the least and the most that the end takes
	}{
		{
			"the first probe does not count", fake{takes: []time.Duration{9 * ms, 3 * ms, 2 * ms, 4 * ms}}, []time.Duration{5500 * ms}, false,
			Result{Trips: []time.Duration{3 * ms, 2 * ms, 4 * ms, 4 * ms, 4 * ms}}, 6, 0,
		},
		{
			"a short phase is made up for", fake{takes: []time.Duration{9 * ms, 3 * ms}}, []time.Duration{500 * ms}, false,
			Result{Trips: []time.Duration{3 * ms, 3 * ms, 3 * ms, 3 * ms}}, 5, 12 * ms,
		},
		{
			"nobody waits any more", fake{takes: []time.Duration{9 * ms, 3 * ms}}, []time.Duration{500 * ms}, true,
			Result{Trips: []time.Duration{9 * ms}}, 1, 0,
		},
		{
			"two phases", fake{takes: []time.Duration{ms}}, []time.Duration{2500 * ms, 2500 * ms}, false,
			Result{Trips: []time.Duration{ms, ms, ms, ms, ms}}, 6, 0,
		},
		{
			"a slow server is not waited for longer than three seconds", fake{takes: []time.Duration{800 * ms}}, []time.Duration{900 * ms}, false,
			Result{Trips: []time.Duration{800 * ms, 800 * ms, 800 * ms}}, 5, 3 * time.Second,
		},
		{
			"no connection within the limit", fake{takes: []time.Duration{time.Hour}}, []time.Duration{5500 * ms}, false,
			Result{Failed: 1, LastError: "no connection within 5s"}, 2, 0,
		},
		{
			"refused", fake{takes: []time.Duration{0}, err: errors.New("secret: refused")}, []time.Duration{1500 * ms}, false,
			Result{Failed: 2, LastError: "<redacted>: refused"}, 2, 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.server.address = "h:80"
				test.want.Address = "h:80"
				p, lines := prober(&test.server)
				took := during(t, p, !test.forced, test.phases...)
				if diff := cmp.Diff([]Result{test.want}, p.Results()); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if test.server.asked != test.probes {
					t.Errorf("%d probes, want %d", test.server.asked, test.probes)
				}
				if took != test.ends {
					t.Errorf("the end took %v, want %v", took, test.ends)
				}
				if !lines.closed {
					t.Error("the lines are not closed")
				}
			})
		})
	}
}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {

		good, bad := &fake{address: "a:80", takes: []time.Duration{2 * ms}}, &fake{address: "[::1]:81", takes: []time.Duration{3 * ms}, err: errors.New("refused")}
		p, lines := prober(good, bad)
		during(t, p, false, 500*ms)
		const want = `{"timestamp_ns":946684800000000000,"target_url":"http://a:80","target_host":"a","target_port":80,"probe_type":"tcp_connect","rtt_ns":2000000,"success":true}
{"timestamp_ns":946684800000000000,"target_url":"http://[::1]:81","target_host":"::1","target_port":81,"probe_type":"tcp_connect","success":false,"error":{"type":"ConnectionError","message":"refused"}}
`
		if diff := cmp.Diff(want, lines.String()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

// A disk that is full ends the lines, not the probes.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fake{address: "h:80", takes: []time.Duration{ms}}
		p := New(Options{
			Servers: []Server{{Probe: server}}, Interval: time.Second, Clock: bench.NewClock(), Lines: full{}, Redact: func(s string) string { return s },
		})
		p.Begin()
		time.Sleep(100 * time.Second)
		p.End()
		if err := p.Close(true); err == nil {
			t.Error("no error")
		}
		if got := len(p.Results()[0].Trips); got != 99 {
			t.Errorf("%d round trips, want 99", got)
		}
	})
}

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
func (full) Close() error              { return nil }
