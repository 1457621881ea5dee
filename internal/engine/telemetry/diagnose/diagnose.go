// Package diagnose says what the metrics of servers mean for a phase: the canonical values, whether server and
// client agree, where the time to the first token went, and findings in words. It is pure.
package diagnose

import (
	"cmp"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/telemetry/servermap"
	"aiperfd/internal/engine/telemetry/window"
)

// Server is what is known of the servers under test; result.json and the API have it.
type Server struct {
	Targets []Target `json:"targets"`
	Phases  []Phase  `json:"phases"`           // those that ended, in order
	Curves  *Curves  `json:"curves,omitempty"` // over the time of all phases; nil = there are too few readings
	Pages   *Pages   `json:"-"`                // nil = no target answered, or the report was read from a file
}

// State is how a target answered.
type State string

// The states.
const (
	OK            State = "ok"
	Partial       State = "partial" // some scrapes failed
	Unreachable   State = "unreachable"
	NotPrometheus State = "not-prometheus" // what answers is no page of metrics
	TooLarge      State = "too-large"      // series beyond the limits were dropped
)

// Target is one page of metrics.
type Target struct {
	URL         string   `json:"url"` // redacted
	Given       bool     `json:"given"`
	Servers     []string `json:"servers"` // vLLM and others, as their families tell; empty = unknown
	State       State    `json:"state" enums:"ok,partial,unreachable,not-prometheus,too-large"`
	Fetches     int      `json:"fetches"`
	Failures    int      `json:"failures"`
	LastError   string   `json:"last_error,omitempty"` // redacted
	Series      int      `json:"series"`
	Up          bool     `json:"up"`   // the last scrape had values
	Gaps        int      `json:"gaps"` // times longer than three periods without a scrape, in the phases
	ScrapeP50   float64  `json:"scrape_p50_ms"`
	ScrapeMax   float64  `json:"scrape_max_ms"`
	ScrapeLast  float64  `json:"scrape_last_ms"`
	ScrapeShare float64  `json:"scrape_share"`         // of the time of the run during which the server answered scrapes
	NonFinite   int      `json:"non_finite,omitempty"` // samples that were dropped
	Dropped     int      `json:"dropped,omitempty"`    // series that were dropped
	Malformed   int      `json:"malformed,omitempty"`  // lines that could not be read
	// Mistyped are families that the page calls counters and that fell while the server went on; they are gauges here.
	Mistyped []string `json:"mistyped_counters,omitempty"`
	Latest   *Latest  `json:"latest,omitempty"` // what it said last; nil = it is not known what it says
}

// Phase is a phase seen by the servers.
type Phase struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Start     time.Time `json:"start_time"`
	End       time.Time `json:"end_time"`
	Canonical []Value   `json:"canonical"` // empty = no server is known
	Findings  []Finding `json:"findings"`
	Checks    []Check   `json:"checks"`                // between server and client
	Budget    *Budget   `json:"time_budget,omitempty"` // nil = it cannot be drawn up
}

// Value is a canonical metric of all servers together.
type Value struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`
	Families []string `json:"families"` // the server's names

	Avg *float64 `json:"avg,omitempty"` // of a level over time, or of the values of a histogram
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	P50 *float64 `json:"p50,omitempty"`
	P90 *float64 `json:"p90,omitempty"`
	P99 *float64 `json:"p99,omitempty"`

	Total        *float64 `json:"total,omitempty"` // of a counter, between the exact bounds of the phase
	TotalSettled *float64 `json:"total_settled,omitempty"`
	Rate         *float64 `json:"rate,omitempty"`
	ErrorBound   *float64 `json:"error_bound,omitempty"`
	Count        *float64 `json:"count,omitempty"` // of the values of a histogram
	Partial      bool     `json:"partial,omitempty"`
}

// Source is what was read of one target, or of one of several processes that answer at its address.
type Source struct {
	URL     string
	History *window.History
	Servers []servermap.Server
	Page    *window.History // all that was read of the target; nil = History
}

// Split returns the processes that answer at the address of a source, each as a source; the source itself if it shows
// none.
func (s Source) Split() []Source {
	instances := s.History.Instances()
	if instances == nil {
		return []Source{s}
	}
	var out []Source
	for _, h := range instances {
		out = append(out, Source{URL: s.URL, History: h, Servers: s.Servers, Page: s.History})
	}
	return out
}

// often returns the sources that were read often enough in a window: of a process behind a balancer, fewer readings
// tell nothing.
func often(sources []Source, w window.Window) []Source {
	var out []Source
	for _, s := range sources {
		if s.Page == nil || s.History.Readings(w) >= leastReadings {
			out = append(out, s)
		}
	}
	return out
}

// Client is what the client measured of a phase. Times are sums over the successes that were streamed, in
// seconds.
type Client struct {
	Heads     int64 // requests with the head of a response
	Successes int64
	Streams   int64 // successes with a time to the first token
	Failures  int64 // requests that failed or were cancelled
	Choices   int   // answers per request
	// Mixed means that the servers' counters have requests that are not among these: those of ramps, or of
	// phases that overlap. Then the two are not compared.
	Mixed bool

	PromptTokens, OutputTokens int64 // of usage blocks; 0 = unknown
	Counted                    int64 // successes with a usage block

	// Shared is the share of the prompts of the phase that its requests have in common with others of the run, 0 to
	// 1; nil = unknown.
	Shared *float64

	Lag, Connect, Send, Wait, Rest float64 // due → start → connected → written → first content → end
	InFlight                       float64 // mean number of requests at work
	RTT                            float64 // the shortest round trip to a server, in seconds; 0 = unknown
	// Path is the shortest round trip to the server of each request, on average, in seconds; 0 = unknown.
	Path float64
}

// Canonical returns the canonical metrics of all sources in a window, and the levels over time that findings
// need.
func Canonical(sources []Source, w window.Window) (*Picture, []Value) {
	p := &Picture{
		window: w, levels: map[string][]window.Step{}, totals: map[string]window.Increase{},
		times: map[string]window.Observations{},
	}
	var pages []*window.History
	for _, src := range sources {
		page := cmp.Or(src.Page, src.History)
		if slices.Contains(pages, page) {
			continue // of another process
		}
		pages = append(pages, page)
		if n := page.Readings(w); len(src.Servers) > 0 {
			p.rare = p.rare || n < leastReadings
			if p.read == 0 || n < p.read {
				p.read = n
			}
		}
		p.readings = append(p.readings, readings(page, w))
		n := returns(page, src.Servers, w)
		p.switches = max(p.switches, n)
		p.mixed = p.mixed || n > 0 && src.Page == nil
	}
	sources = often(sources, w)
	out := []Value{}
	for _, m := range servermap.Metrics() {
		for _, frontend := range []bool{false, true} {
			if v, ok := p.add(m, sources, frontend); ok {
				out = append(out, v)
			}
		}
	}
	return p, out
}

// Picture is the canonical metrics of a phase by name.
type Picture struct {
	window   window.Window
	rare     bool      // too few readings to know levels
	read     int       // how often the page that was read least was
	readings []reading // of each page
	mixed    bool      // several processes answer at one address and cannot be told apart
	switches int       // how often a page came back to a process that had answered before another one
	levels   map[string][]window.Step
	totals   map[string]window.Increase
	times    map[string]window.Observations
	// share is the largest share of the requests that one of several targets got, times their number.
	imbalance float64
	variation float64 // of the requests of several targets; NaN = one target
}

// leastReadings is how often a page must be read within a window: fewer readings do not tell what the levels of
// the server were between them.
const leastReadings = 3

// add adds one metric of the engines or of the frontends.
func (p *Picture) add(m servermap.Metric, sources []Source, frontend bool) (Value, bool) {
	name := m.Name
	if frontend && anyEngine(sources) {
		name += "@frontend"
	}
	v := Value{Name: name, Unit: m.Unit, Families: []string{}}
	var levels [][]window.Step
	var total window.Increase
	var seen window.Observations
	found := false
	for _, src := range sources {
		for i := range src.Servers {
			s := &src.Servers[i]
			if s.Frontend != frontend {
				continue
			}
			from, ok := s.Find(src.History, m.Name)
			if !ok {
				continue
			}
			v.Families = appendNew(v.Families, from.Families...)
			for _, g := range from.Groups {
				switch m.Form {
				case servermap.Level, servermap.Share:
					if steps := src.History.Within(g, p.window); steps != nil && !p.rare {
						levels, found = append(levels, steps), true
					}
				case servermap.Total:
					if n, ok := src.History.Increase(g, p.window); ok {
						total, found = total.Plus(n), true
					}
				case servermap.Times:
					if o, ok := src.History.Observed(g, p.window); ok {
						seen = window.Observations{Count: seen.Count.Plus(o.Count), Sum: seen.Sum.Plus(o.Sum)}
						found = true
					}
				}
			}
		}
	}
	if !found || p.mixed && (m.Form == servermap.Total || m.Form == servermap.Times) { // each fall would count from 0
		return v, false
	}
	switch m.Form {
	case servermap.Level, servermap.Share:
		of := window.Sum
		if m.Form == servermap.Share {
			of = window.Mean
		}
		p.levels[name] = window.Combine(of, levels...)
		return v, v.level(p.levels[name], p.window)
	case servermap.Total:
		p.totals[name] = total
		v.total(total, p.window)
	case servermap.Times:
		p.times[name] = seen
		v.times(seen)
	}
	return v, true
}

// level sets the statistics of a level; false = it has none in the window.
func (v *Value) level(steps []window.Step, w window.Window) bool {
	over := window.Over(steps, w)
	if over.Empty() {
		return false
	}
	v.Avg, v.Min, v.Max = new(over.Mean()), new(over.Min()), new(over.Max())
	v.P50, v.P90, v.P99 = new(over.Quantile(0.5)), new(over.Quantile(0.9)), new(over.Quantile(0.99))
	return true
}

// total sets the statistics of a counter.
func (v *Value) total(n window.Increase, w window.Window) {
	v.Total, v.ErrorBound, v.Partial = new(n.Total), new(n.Error), n.Partial
	if !math.IsNaN(n.Settled) {
		v.TotalSettled = new(n.Settled)
	}
	if w.To > w.From {
		v.Rate = new(n.Total / w.Seconds())
	}
}

// times sets the statistics of a histogram.
func (v *Value) times(o window.Observations) {
	v.Count, v.Partial = new(o.Count.Best()), o.Count.Partial
	if mean, ok := o.Mean(); ok {
		v.Avg = new(mean)
	}
}

// anyEngine reports whether a page has families of an engine.
func anyEngine(sources []Source) bool {
	for _, src := range sources {
		for i := range src.Servers {
			if !src.Servers[i].Frontend {
				return true
			}
		}
	}
	return false
}

func appendNew(list []string, more ...string) []string {
	for _, m := range more {
		known := false
		for _, l := range list {
			known = known || l == m
		}
		if !known {
			list = append(list, m)
		}
	}
	return list
}

// mean returns the mean of a histogram in seconds, and how many values it has.
func (p *Picture) mean(name string) (mean, count float64, ok bool) {
	o, known := p.times[name]
	if !known {
		return 0, 0, false
	}
	mean, ok = o.Mean()
	return mean, o.Count.Best(), ok
}

// over returns the distribution of a level; ok = false if the servers do not have it.
func (p *Picture) over(name string) (window.Levels, bool) {
	l := window.Over(p.levels[name], p.window)
	return l, !l.Empty()
}

// HitRate returns the share of the prompt tokens that the prefix cache had.
func (p *Picture) HitRate() (float64, bool) {
	hits, ok := p.totals["prefix_hits"]
	queries, known := p.totals["prefix_queries"]
	if !ok || !known || !(queries.Best() > 0) {
		return 0, false
	}
	return hits.Best() / queries.Best(), true
}

// Waiting returns how many requests waited in the queues of the engines over time; nil = unknown.
func Waiting(sources []Source, w window.Window) []window.Step {
	var levels [][]window.Step
	for _, src := range sources {
		for i := range src.Servers {
			from, ok := src.Servers[i].Find(src.History, "waiting")
			if !ok || src.Servers[i].Frontend {
				continue
			}
			for _, g := range from.Groups {
				levels = append(levels, src.History.Within(g, w))
			}
		}
	}
	if len(levels) == 0 {
		return nil
	}
	return window.Combine(window.Sum, levels...)
}
