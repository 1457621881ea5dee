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

// state is what a server of the tests says at one time.
type state struct {
	waiting, running, kv             float64
	requests, preemptions            float64
	queueSum, prefillSum, times      float64
	e2eSum                           float64
	hits, queries, prompt, generated float64
}

// page returns the page of vLLM.
func (s state) page() string {
	var b strings.Builder
	put := func(kind, name string, v float64) {
		fmt.Fprintf(&b, "# TYPE vllm:%s %s\nvllm:%s %v\n", name, kind, name, v)
	}
	put("gauge", "num_requests_waiting", s.waiting)
	put("gauge", "num_requests_running", s.running)
	put("gauge", "kv_cache_usage_perc", s.kv)
	put("counter", "request_success_total", s.requests)
	put("counter", "num_preemptions_total", s.preemptions)
	put("counter", "prompt_tokens_total", s.prompt)
	put("counter", "generation_tokens_total", s.generated)
	put("counter", "prefix_cache_hits_total", s.hits)
	put("counter", "prefix_cache_queries_total", s.queries)
	for name, sum := range map[string]float64{"request_queue_time_seconds": s.queueSum, "request_prefill_time_seconds": s.prefillSum, "e2e_request_latency_seconds": s.e2eSum} {
		fmt.Fprintf(&b, "# TYPE vllm:%s histogram\nvllm:%s_bucket{le=\"+Inf\"} %v\nvllm:%s_sum %v\nvllm:%s_count %v\n",
			name, name, s.times, name, sum, name, s.times)
	}
	return b.String()
}

// run returns what a server said in 20 s, once a second.
func run(states func(second int) state) []Source {
	h := window.NewHistory(strings.Clone)
	for i := range 22 {
		at := time.Duration(i) * time.Second
		h.Add(window.Scrape{Sent: at, FirstByte: at, End: at}, []byte(states(i).page()))
	}
	return []Source{{URL: "http://h/metrics", History: h, Servers: servermap.Detect(h)}}
}

func whole() window.Window {
	return window.Window{From: time.Second, To: 20 * time.Second, Settled: 21 * time.Second}
}

// TestFindings: each way to be slow gives its finding and no other.
func TestFindings(t *testing.T) {
	busy := func(i int) state {
		n := 10 * float64(min(max(i-1, 0), 19))
		return state{running: 8, kv: 0.5, requests: n, times: n, queueSum: n / 100, prefillSum: n / 50}
	}
	for _, tt := range []struct {
		name   string
		states func(int) state
		want   []string
	}{
		{"room", busy, []string{"not-saturated"}},
		{"near the limit", func(i int) state { s := busy(i); s.kv = 0.85; return s }, nil},
		{"the queue", func(i int) state { s := busy(i); s.waiting, s.running, s.kv = 5, 8+float64(i%2), 0.92; return s }, []string{"queueing"}},
		{"the batch", func(i int) state { s := busy(i); s.waiting = 5; return s }, []string{"batch-limit", "queueing"}},
		{"the cache", func(i int) state { s := busy(i); s.kv, s.running = 0.97, float64(7+i%3); return s }, []string{"kv-full"}},
		{"growth", func(i int) state {
			s := busy(i)
			s.waiting, s.running, s.kv = float64(i*i), float64(8+i%2), 0.92
			return s
		}, []string{"queue-growing", "queueing"}},
		{"steady growth", func(i int) state {
			s := busy(i)
			s.waiting, s.running, s.kv = float64(5*i), float64(8+i%2), 0.92
			return s
		}, []string{"queue-growing", "queueing"}},
		{"a queue that stays", func(i int) state {
			s := busy(i)
			s.waiting, s.running, s.kv = float64(20+i%3), float64(8+i%2), 0.92
			return s
		}, []string{"queueing"}},
		{"preemption", func(i int) state { s := busy(i); s.kv, s.preemptions = 0.85, float64(i/5); return s }, []string{"preempting"}},
		{"a restart", func(i int) state {
			s := busy(i)
			if i > 10 {
				s.requests, s.times = float64(i), float64(i)
			}
			s.kv = 0.85
			return s
		}, []string{"server-restarted"}},
		{"other clients", func(i int) state { s := busy(i); s.requests, s.kv = 2*s.requests, 0.85; return s }, []string{"other-traffic"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Examine(run(tt.states), whole(), &Client{Heads: 190, Successes: 190, Choices: 1})
			var got []string
			for _, f := range p.Findings {
				got = append(got, f.Code)
				if f.Message == "" || strings.Contains(f.Message, "NaN") {
					t.Errorf("%s: %q", f.Code, f.Message)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("findings %v, want %v", got, tt.want)
			}
		})
	}
}

// TestPrefixWarm: what was cached counts beyond what the run repeats, and beyond what a chat template explains.
func TestPrefixWarm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		shared *float64
		hits   float64 // of 100 prompt tokens
		length float64 // of a prompt
		want   bool
	}{
		{"cold", new(0.0), 0, 500, false}, {"warm", new(0.0), 38, 500, true}, {"as much as the run repeats", new(0.38), 40, 500, false},
		{"not known", nil, 38, 500, false}, {"a chat template of 20 tokens", new(0.0), 20, 100, false},
	} {
		sources := run(func(i int) state {
			n := 10 * float64(min(max(i-1, 0), 19))
			return state{kv: 0.85, requests: n, queries: n * tt.length, hits: n * tt.length * tt.hits / 100}
		})
		p := Examine(sources, whole(), &Client{Heads: 190, Successes: 190, Choices: 1, Shared: tt.shared})
		if got := len(p.Findings) == 1 && p.Findings[0].Code == "prefix-warm"; got != tt.want || len(p.Findings) > 1 {
			t.Errorf("%s: %+v", tt.name, p.Findings)
		}
	}
}

func TestBudget(t *testing.T) {
	sources := run(func(i int) state {
		n := 10 * float64(min(max(i-1, 0), 19))
		return state{requests: n, times: n, queueSum: n * 0.590, prefillSum: n * 0.185}
	})
	c := Client{Heads: 190, Successes: 190, Streams: 190, Choices: 1, Lag: 190 * 0.001, Connect: 190 * 0.0005, Send: 190 * 0.0005, Wait: 190 * 0.810}
	p := Examine(sources, whole(), &c)
	b := p.Budget
	if b == nil {
		t.Fatal("there is no budget")
	}
	sum := 0.0
	for _, s := range b.Segments {
		sum += s.MS
	}
	if math.Abs(sum-b.TTFT) > 1e-9 || math.Abs(b.TTFT-812) > 1e-9 {
		t.Errorf("the segments add up to %v of %v ms", sum, b.TTFT)
	}
	if got, want := b.Line(), "TTFT 812 ms on average: client 2.00, network and frontend 35.0, queue 590, prefill 185"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	c.Path = 0.001
	b = Examine(sources, whole(), &c).Budget
	sum = 0
	for _, s := range b.Segments {
		sum += s.MS
	}
	if math.Abs(sum-b.TTFT) > 1e-9 {
		t.Errorf("with the network, the segments add up to %v of %v ms", sum, b.TTFT)
	}
	if got, want := b.Line(), "TTFT 812 ms on average: client 2.00, network 1.00, frontend 34.0, queue 590, prefill 185"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	c.Path = 0
	for name, c := range map[string]Client{
		"other requests": {Heads: 190, Successes: 190, Streams: 100, Wait: 1}, "no stream": {Heads: 190, Successes: 190},
	} {
		if p := Examine(sources, whole(), &c); p.Budget != nil {
			t.Errorf("%s: there is a budget", name)
		}
	}
	c.Wait = 190 * 0.7745
	if p := Examine(sources, whole(), &c); len(p.Findings) != 0 {
		t.Errorf("half a millisecond: %+v", p.Findings)
	}
	c.Wait = 190 * 0.5
	if p := Examine(sources, whole(), &c); len(p.Findings) != 1 || p.Findings[0].Code != "time-budget-inconsistent" {
		t.Errorf("a server that takes longer than the client waits: %+v", p.Findings)
	}
}

func TestChecks(t *testing.T) {
	sources := run(func(i int) state {
		n := 10 * float64(min(max(i-1, 0), 19))
		return state{requests: n, prompt: 7 * n, generated: 3 * n}
	})
	c := Client{Heads: 190, Successes: 190, Counted: 190, Choices: 1, PromptTokens: 7 * 190, OutputTokens: 3*190 + 300}
	var got []string
	for _, k := range Examine(sources, whole(), &c).Checks {
		got = append(got, fmt.Sprintf("%s %v", k.Code, k.Holds))
	}
	if want := []string{"server-requests true", "server-prompt-tokens true", "server-generation-tokens false"}; !slices.Equal(got, want) {
		t.Errorf("checks %v, want %v", got, want)
	}
}

// TestRequestsAtWork: the server's levels agree with what the client saw and with the server's own times, or not.
func TestRequestsAtWork(t *testing.T) {
	for _, tt := range []struct {
		name   string
		client float64 // mean number of requests that it saw at work
		rtt    float64
		e2e    float64 // seconds per request
		want   []string
	}{
		{"both", 10.4, 0, 1, []string{"server-inflight true", "server-littles-law true"}},
		{"a client that waits elsewhere", 12, 0, 1, []string{"server-inflight false", "server-littles-law true"}},
		{"a client that is far away", 12, 0.1, 1, []string{"server-inflight true", "server-littles-law true"}},
		{"times that do not fit", 10, 0, 1.2, []string{"server-inflight true", "server-littles-law false"}},
		{"no client", 0, 0, 1, []string{"server-littles-law true"}},
	} {
		// The server has 8 requests at work and 2 in its queue, and answers ten per second.
		sources := run(func(i int) state {
			n := 10 * float64(min(max(i-1, 0), 19))
			return state{running: 8, waiting: 2, e2eSum: n * tt.e2e, times: n}
		})
		var got []string
		for _, k := range Examine(sources, whole(), &Client{Heads: 190, Successes: 190, InFlight: tt.client, RTT: tt.rtt}).Checks {
			if k.Unit == "requests" && k.Code != "server-requests" {
				got = append(got, fmt.Sprintf("%s %v", k.Code, k.Holds))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: checks %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestFewReadings: a phase of seconds has one reading of its end, and is not compared.
func TestFewReadings(t *testing.T) {
	sources := run(func(i int) state {
		n := 10 * float64(i)
		return state{running: 8, e2eSum: n, times: n, requests: n}
	})
	for seconds, want := range map[int]int{9: 0, 10: 2} {
		w := window.Window{From: time.Second, To: time.Duration(seconds+1) * time.Second}
		n := 0
		for _, k := range Examine(sources, w, &Client{Heads: 100, Successes: 100, InFlight: 20}).Checks {
			if k.Code == "server-inflight" || k.Code == "server-littles-law" {
				n++
			}
		}
		if n != want {
			t.Errorf("%d readings: %d checks, want %d", seconds, n, want)
		}
	}
}

func TestLine(t *testing.T) {
	p := Examine(run(func(int) state { return state{running: 14, waiting: 3, kv: 0.41, requests: 1} }), whole(), &Client{})
	const want = "running 14.0 on average, 14.0 at most; waiting 3.00 on average, 3.00 at most; KV cache 41 %, 41 % at most"
	if got := p.Line(); got != want {
		t.Errorf("line %q, want %q", got, want)
	}
}

// TestRareReadings: levels that were read less than three times within a window are not known.
func TestRareReadings(t *testing.T) {
	sources := run(func(i int) state { return state{running: 8, requests: float64(i)} })
	for _, tt := range []struct {
		seconds float64
		known   bool
	}{{0.9, false}, {2.9, false}, {3, true}} {
		_, values := Canonical(sources, window.Window{From: time.Second, To: time.Second + time.Duration(tt.seconds*float64(time.Second))})
		p := Phase{Canonical: values}
		if known := p.Value("running") != nil; known != tt.known || p.Value("requests") == nil {
			t.Errorf("%v s: running is known: %t, want %t; requests: %v", tt.seconds, known, tt.known, p.Value("requests"))
		}
		if says := strings.Contains(p.Line(), "running"); says != tt.known {
			t.Errorf("%v s: %q", tt.seconds, p.Line())
		}
	}
}
