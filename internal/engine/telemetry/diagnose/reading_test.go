package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/telemetry/servermap"
	"aiperfd/internal/engine/telemetry/window"
)

// read returns what pages say that are read once a second, each for some time.
func read(pages []string, took time.Duration) []Source {
	h := window.NewHistory(strings.Clone)
	for i, page := range pages {
		at := time.Duration(i) * time.Second
		h.Add(window.Scrape{Sent: at, FirstByte: at + took, End: at + took}, []byte(page))
	}
	return []Source{{History: h, Servers: servermap.Detect(h)}}
}

// started returns a page with the start of a process.
func started(at float64, pod string) string {
	return fmt.Sprintf("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds{pod=%q} %v\n", pod, at)
}

func codes(p *Phase) []string {
	var out []string
	for _, f := range p.Findings {
		out = append(out, f.Code)
	}
	return out
}

// TestBehindBalancer: a page that returns to a process is one of several processes, and one that goes on to another
// process is of a server that was restarted.
func TestBehindBalancer(t *testing.T) {
	replica := func(requests float64) string { return state{running: 8, kv: 0.85, requests: requests}.page() }
	for _, tt := range []struct {
		name string
		page func(second int) string
		want []string
		says string
	}{
		{"one process", func(i int) string { return replica(float64(10*i)) + started(1000, "a") }, nil, ""},
		{"a restart", func(i int) string {
			if i < 10 {
				return replica(float64(10*i)) + started(1000, "a")
			}
			return replica(float64(i)) + started(1010, "a")
		}, []string{"server-restarted"}, "began again"},
		{"two processes", func(i int) string { return replica(float64(10*i+500*(i%2))) + started(float64(1000+i%2), "a") }, []string{"behind-balancer"}, "at least 19 times"},
		{"two processes with labels", func(i int) string {
			return replica(float64(10*i+500*(i%2))) + started(1000+float64(i/10%2), fmt.Sprint(i/10%2))
		}, []string{"behind-balancer"}, "at least 1 time,"},
		{"processes that do not say when they started", func(i int) string { return replica(float64(10*i + 500*(i%2))) }, []string{"behind-balancer"}, "at least 9 times"},
		{"one fall", func(i int) string {
			if i == 10 {
				return replica(0)
			}
			return replica(float64(i))
		}, []string{"server-restarted"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pages := make([]string, 22)
			for i := range pages {
				pages[i] = tt.page(i)
			}
			p := Examine(read(pages, 0), whole(), &Client{Heads: 190, Successes: 190, Streams: 190, Wait: 1, Choices: 1})
			if got := codes(&p); !slices.Equal(got, tt.want) {
				t.Fatalf("findings %v, want %v", got, tt.want)
			}
			if len(tt.want) > 0 && !strings.Contains(p.Findings[0].Message, tt.says) {
				t.Errorf("%q, want %q in it", p.Findings[0].Message, tt.says)
			}
			if slices.Contains(tt.want, "behind-balancer") && (len(p.Checks) > 0 || p.Budget != nil) {
				t.Errorf("checks %+v and budget %+v of several processes", p.Checks, p.Budget)
			}
		})
	}
}

// TestInstances: the counts of processes that answer in turn at one address add up, and those of one that was hardly
// seen are left out. Without their starts they cannot be told apart.
func TestInstances(t *testing.T) {
	page := func(requests float64, start string) string {
		return state{running: 4, kv: 0.5, requests: requests}.page() + start
	}
	for _, tt := range []struct {
		name    string
		page    func(second int) string
		want    float64 // requests in the window, which is of 19 s; 0 = they are not known
		running float64
	}{
		{"one process", func(i int) string { return page(float64(10*i), started(1000, "a")) }, 190, 4},
		{"two in turn", func(i int) string { return page(float64(10*i+5000*(i%2)), started(float64(1000+i%2), "a")) }, 380, 8},
		{"one that was seen twice", func(i int) string {
			if i == 5 || i == 15 {
				return page(9000+100*float64(i), started(2000, "b"))
			}
			return page(float64(10*i), started(1000, "a"))
		}, 190, 4},
		{"two that do not say when they started", func(i int) string { return page(float64(10*i+5000*(i%2)), "") }, 0, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pages := make([]string, 22)
			for i := range pages {
				pages[i] = tt.page(i)
			}
			var sources []Source
			for _, s := range read(pages, 0) {
				sources = append(sources, s.Split()...)
			}
			p := Examine(sources, whole(), &Client{})
			requests := 0.0
			if v := p.Value("requests"); v != nil {
				requests = *v.Total
			}
			if math.Abs(requests-tt.want) > 1e-9 {
				t.Errorf("%v requests, want %v", requests, tt.want)
			}
			if v := p.Value("running"); v == nil || math.Abs(*v.Avg-tt.running) > 1e-9 {
				t.Errorf("running %+v, want %v", v, tt.running)
			}
		})
	}
}

// TestScrapeDisturbs: reading that takes more than a hundredth of the time is told, unless the phase was too short
// to tell.
func TestScrapeDisturbs(t *testing.T) {
	pages := slices.Repeat([]string{state{running: 8, kv: 0.85}.page()}, 22)
	for _, tt := range []struct {
		name   string
		took   time.Duration
		window window.Window
		rtt    float64
		want   []string
	}{
		{"quick", 9 * time.Millisecond, whole(), 0, nil},
		{"slow", 25 * time.Millisecond, whole(), 0, []string{"scrape-disturbs"}},
		{"slow in a short phase", 25 * time.Millisecond, window.Window{From: time.Second, To: 2500 * time.Millisecond}, 0, nil},
		{"far away", 25 * time.Millisecond, whole(), 0.02, nil},
	} {
		p := Examine(read(pages, tt.took), tt.window, &Client{RTT: tt.rtt})
		if got := codes(&p); !slices.Equal(got, tt.want) {
			t.Errorf("%s: findings %v, want %v", tt.name, got, tt.want)
		} else if len(got) > 0 && !strings.Contains(p.Findings[0].Message, "took 2.5 % of the time") {
			t.Errorf("%s: %q", tt.name, p.Findings[0].Message)
		}
	}
}
