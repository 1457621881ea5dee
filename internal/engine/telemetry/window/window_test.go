package window

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

const second = time.Second

// at returns a scrape whose values are of an instant.
func at(t time.Duration) Scrape {
	return Scrape{Sent: t - time.Millisecond, FirstByte: t + time.Millisecond, End: t + 2*time.Millisecond}
}

// history is a history that reads a page at each time.
func history(t *testing.T, page func(at time.Duration) string, times ...time.Duration) *History {
	t.Helper()
	h := NewHistory(func(s string) string { return s })
	for _, when := range times {
		if h.Add(at(when), []byte(page(when))) == 0 {
			t.Fatalf("the page of %v has no values", when)
		}
	}
	return h
}

// every returns the times from 0 to an end in steps, the first one shifted.
func every(step, shift, end time.Duration) (out []time.Duration) {
	for when := shift; when <= end; when += step {
		out = append(out, when)
	}
	return out
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestCounter: linear counters are exact, stepped ones within the stated bound.
func TestCounter(t *testing.T) {
	for _, length := range []time.Duration{3 * second, 6 * second, 60 * second} {
		for _, shift := range []time.Duration{0, 130 * time.Millisecond, 910 * time.Millisecond} {
			from := 2*second + 300*time.Millisecond
			w := Window{From: from, To: from + length}
			times := every(second, shift, w.To+3*second)
			linear := func(when time.Duration) float64 { return 271.5 * when.Seconds() }
			stepped := func(when time.Duration) float64 { return 400 * math.Floor(when.Seconds()/0.7) }
			for name, truth := range map[string]func(time.Duration) float64{"linear": linear, "stepped": stepped} {
				h := history(t, func(when time.Duration) string {
					return fmt.Sprintf("# TYPE a_total counter\na_total %v\n", truth(when))
				}, times...)
				n, ok := h.Increase(h.Family("a").Groups[0], w)
				want := truth(w.To) - truth(w.From)
				if !ok || n.Partial || n.Resets != 0 {
					t.Fatalf("%s, %v: %+v", name, length, n)
				}
				tolerance := 1e-9 * want
				if name == "stepped" {
					tolerance = n.Error
				}
				near(t, fmt.Sprintf("%s over %v, scrapes shifted by %v", name, length, shift), n.Total, want, tolerance)
			}
		}
	}
}

// TestExactRate: the window ends with the phase, not with the scrapes after it.
func TestExactRate(t *testing.T) {
	const rate, end = 269.5, 5944 * time.Millisecond
	h := history(t, func(when time.Duration) string {
		return fmt.Sprintf("# TYPE tokens_total counter\ntokens_total %v\n", rate*min(when, end+second).Seconds())
	}, append(every(333*time.Millisecond, second, end+second), every(333*time.Millisecond, end+second, end+4*second)...)...)
	w := Window{From: second, To: end + second}
	got := h.Reduce(w, 0)[0].Series[0].Stats
	v, _ := got.Get("rate")
	near(t, "rate", v, rate, 0.01)
}

func TestReset(t *testing.T) {
	values := []float64{100, 150, 20, 60, 60}
	page := func(when time.Duration) string {
		return fmt.Sprintf("# TYPE a counter\na %v\n", values[int(when/second)])
	}
	h := history(t, page, every(second, 0, 4*second)...)
	n, _ := h.Increase(h.Family("a").Groups[0], Window{From: 0, To: 4 * second, Settled: 4 * second})
	if n.Total != 110 || n.Settled != 110 || n.Resets != 1 || !n.Partial {
		t.Errorf("with a reset: %+v, want 50 + 20 + 40", n)
	}
	// A restart after which the counter has the same value again shows in the start of the process.
	starts := []float64{7, 7, 9, 9}
	h = history(t, func(when time.Duration) string {
		i := int(when / second)
		return fmt.Sprintf("# TYPE a counter\na 50\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %v\nx %d\n", starts[i], i)
	}, every(second, 0, 3*second)...)
	n, _ = h.Increase(h.Family("a").Groups[0], Window{From: 0, To: 3 * second})
	if n.Total != 50 || n.Resets != 1 {
		t.Errorf("with an equal value after a restart: %+v, want 50 and one reset", n)
	}
}

// TestLate: what a server counts after the end belongs to the settled total, and not to the rate.
func TestLate(t *testing.T) {
	counts := []float64{0, 10, 20, 24, 30, 30}
	h := history(t, func(when time.Duration) string {
		return fmt.Sprintf("# TYPE a counter\na %v\nx %v\n", counts[int(when/second)], when.Seconds())
	}, every(second, 0, 5*second)...)
	n, _ := h.Increase(h.Family("a").Groups[0], Window{From: second / 2, To: 3 * second, Settled: 5 * second})
	if n.Total != 19 || n.Settled != 30 || n.Error != 5 {
		t.Errorf("%+v, want 19 within 5, and 30 settled", n)
	}
}

// TestFirstSeen: a counter that appears during a phase was zero before.
func TestFirstSeen(t *testing.T) {
	h := history(t, func(when time.Duration) string {
		text := fmt.Sprintf("x %v\n", when.Seconds())
		if when >= 2*second {
			text += fmt.Sprintf("# TYPE a counter\na{reason=\"abort\"} %v\n", 3+when.Seconds())
		}
		return text
	}, every(second, 0, 5*second)...)
	n, _ := h.Increase(h.Family("a").Groups[0], Window{From: second, To: 4 * second})
	if n.Total != 7 || n.Partial {
		t.Errorf("%+v, want 7", n)
	}
}

func TestGauge(t *testing.T) {
	values := []float64{4, 0, 8, 8, 2}
	h := history(t, func(when time.Duration) string {
		return fmt.Sprintf("# TYPE a gauge\na %v\n", values[int(when/second)])
	},
		0, second, 2*second, 4*second)
	w := Window{From: second / 2, To: 5 * second}
	s := h.Reduce(w, 0)[0].Series[0].Stats
	// 0 from the start for 1.5 s, 8 for 2 s, 2 for 1 s; the 4 was read before the start.
	want := map[string]float64{"avg": (0 + 16 + 2) / 4.5, "min": 0, "max": 8, "p1": 0, "p25": 0, "p50": 2, "p75": 8, "p99": 8}
	for name, v := range want {
		got, _ := s.Get(name)
		near(t, name, got, v, 1e-12)
	}
}

// TestWithin: a window begins with the first value that was read in it, be it the same as before or another.
func TestWithin(t *testing.T) {
	values := []float64{0, 0, 16, 16, 5}
	h := history(t, func(when time.Duration) string {
		return fmt.Sprintf("# TYPE a gauge\na %v\n", values[int(when/second)])
	}, 0, second, 2*second, 3*second, 4*second)
	g := h.Family("a").Groups[0]
	for _, tt := range []struct {
		name     string
		from, to time.Duration
		want     []Step
	}{
		{"another value", second, 4 * second, []Step{{second, 16}, {4 * second, 5}}},
		{"the same value", second / 2, 4 * second, []Step{{second / 2, 0}, {2 * second, 16}, {4 * second, 5}}},
		{"the same value again", 2 * second, 4 * second, []Step{{2 * second, 16}, {4 * second, 5}}},
		{"no reading", 2*second + 1, 3*second - 1, []Step{{0, 0}, {2 * second, 16}, {4 * second, 5}}},
		{"after the last reading", 5 * second, 6 * second, []Step{{0, 0}, {2 * second, 16}, {4 * second, 5}}},
		{"before the first reading", -second, second, []Step{{-second, 0}, {2 * second, 16}, {4 * second, 5}}},
	} {
		if got := h.Within(g, Window{From: tt.from, To: tt.to}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// observe returns the page of a histogram with the observations of values.
func observe(values ...float64) string {
	var b strings.Builder
	b.WriteString("# TYPE h histogram\n")
	sum := 0.0
	for _, bound := range []float64{0.1, 0.25, math.Inf(1)} {
		n := 0
		for _, v := range values {
			if v <= bound {
				n++
			}
		}
		fmt.Fprintf(&b, "h_bucket{le=\"%v\"} %d\n", bound, n)
	}
	for _, v := range values {
		sum += v
	}
	fmt.Fprintf(&b, "h_sum %v\nh_count %d\n", sum, len(values))
	return b.String()
}

func TestHistogram(t *testing.T) {
	var seen []float64
	h := NewHistory(strings.Clone)
	for i := range 6 {
		h.Add(at(time.Duration(i)*second), []byte(observe(seen...)))
		for range 10 {
			seen = append(seen, 0.2005) // always the same: the buckets alone would say 0.175
		}
	}
	w := Window{From: 0, To: 5 * second}
	s := h.Reduce(w, 0)[0].Series[0]
	for name, want := range map[string]float64{"count": 50, "sum": 50 * 0.2005, "avg": 0.2005, "count_rate": 10, "p50_estimate": 0.2005} {
		got, ok := s.Stats.Get(name)
		if !ok {
			t.Errorf("%s is missing", name)
		}
		near(t, name, got, want, 0.051)
	}
	if b := s.Own.Bounds[4]; b.Name != "p50" || b.Lower != 0.1 || *b.Upper != 0.25 {
		t.Errorf("the bucket of the median is %+v", b)
	}
	data, err := json.Marshal(s.Buckets)
	if err != nil || string(data) != `{"0.1":0,"0.25":50,"+Inf":50}` {
		t.Errorf("buckets are %s, %v", data, err)
	}
	// One bucket that falls resets all.
	h.Add(at(6*second), []byte(observe(0.2)))
	s = h.Reduce(Window{From: 0, To: 6 * second}, 0)[0].Series[0]
	if n, _ := s.Stats.Get("count"); n != 51 || s.Own.Resets != 1 || s.Buckets != nil {
		t.Errorf("with a reset: %v, %+v, %v", n, s.Own, s.Buckets)
	}
}

// TestRows: the last row of each series has the total of the summary.
func TestRows(t *testing.T) {
	h := history(t, func(when time.Duration) string { return fmt.Sprintf("# TYPE a counter\na %v\n", 7*when.Seconds()) },
		every(second, 0, 9*second)...)
	w := Window{From: 1500 * time.Millisecond, To: 7200 * time.Millisecond}
	last := 0.0
	h.Rows(w, func(r *Row) { last = r.Value })
	total, _ := h.Reduce(w, 0)[0].Series[0].Stats.Get("total")
	near(t, "the last row", last, total, 1e-12)
}

// TestThin: forgetting scrapes keeps totals and the scrapes at bounds.
func TestThin(t *testing.T) {
	h := NewHistory(strings.Clone)
	for i := range 101 {
		h.Add(at(time.Duration(i)*second), fmt.Appendf(nil, "# TYPE a counter\na %d\n# TYPE g gauge\ng %d\n", 3*i, i%2))
		if i == 50 {
			h.Pin()
		}
	}
	h.thin()
	if n := len(h.Scrapes); n > 53 || n < 50 {
		t.Errorf("%d scrapes are left", n)
	}
	n, _ := h.Increase(h.Family("a").Groups[0], Window{From: 10 * second, To: 90 * second})
	near(t, "the increase", n.Total, 240, 1e-9)
	pinned := 0
	for _, s := range h.Scrapes {
		if s.Pinned {
			pinned++
			near(t, "the pinned scrape", s.At().Seconds(), 50, 0)
		}
	}
	if pinned != 1 {
		t.Errorf("%d scrapes are pinned", pinned)
	}
}

func TestLimits(t *testing.T) {
	h := NewHistory(strings.Clone)
	var b strings.Builder
	for i := range MaxSeries + 10 {
		fmt.Fprintf(&b, "a{i=\"%d\"} 1\n", i)
	}
	fmt.Fprintf(&b, "b NaN\n")
	if n := h.Add(at(0), []byte(b.String())); n != MaxSeries || h.Dropped < 10 {
		t.Errorf("%d values, %d dropped", n, h.Dropped)
	}
	if h.Add(at(1), []byte("hello\n")) != 0 || len(h.Scrapes) != 1 {
		t.Error("a page without values is a scrape")
	}
}

func TestUnit(t *testing.T) {
	for _, tt := range []struct{ name, help, want string }{
		{"vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", "ratio"},
		{"vllm:kv_cache_usage_perc", "Share of the key-value cache in use, 0 to 1.", "ratio"},
		{"vllm:request_success", "Requests that succeeded.", "requests"},
		{"vllm:num_requests_running", "Number of requests running.", "requests"},
		{"vllm:generation_tokens", "Generation tokens.", "tokens"},
		{"x_total", "Time in milliseconds", "milliseconds"},
		{"a_seconds", "", "seconds"},
		{"what", "", ""},
	} {
		if got := unitOf(tt.name, tt.help); got != tt.want {
			t.Errorf("unitOf(%q, %q) = %q, want %q", tt.name, tt.help, got, tt.want)
		}
	}
}

func TestSummaryAndInfo(t *testing.T) {
	h := history(t, func(when time.Duration) string {
		return fmt.Sprintf("# TYPE s summary\ns{quantile=\"0.5\"} 3\ns_sum %v\ns_count %v\n# TYPE c_info gauge\nc_info{v=\"1\"} 1\n",
			2*when.Seconds(), when.Seconds())
	}, every(second, 0, 3*second)...)
	var names []string
	for _, m := range h.Reduce(Window{From: 0, To: 2 * second}, 0) {
		names = append(names, fmt.Sprintf("%s %s %v", m.Name, m.Kind, m.Info))
	}
	if got, want := strings.Join(names, "; "), "s gauge false; s_sum counter false; s_count counter false; c_info gauge true"; got != want {
		t.Errorf("families: %s, want %s", got, want)
	}
}
