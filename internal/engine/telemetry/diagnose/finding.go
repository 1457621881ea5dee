package diagnose

import (
	"fmt"
	"math"
	"time"

	"aiperfd/internal/engine/telemetry/window"
	"aiperfd/internal/view"
)

// Finding is what the metrics say about the servers, in words. It never concerns the client.
type Finding struct {
	Code    string   `json:"code"`
	Level   string   `json:"level" enums:"info,notice"`
	Metric  string   `json:"metric,omitempty"`
	Value   *float64 `json:"value,omitempty"`
	Limit   *float64 `json:"limit,omitempty"`
	Share   *float64 `json:"share,omitempty"` // of the time of the phase
	Message string   `json:"message"`
}

// The levels of findings.
const (
	InfoLevel = "info"
	Notice    = "notice" // the numbers of the run depend on it
)

// rule makes a finding; ok = false if there is none.
type rule struct {
	code string
	find func(p *Picture, c *Client) (Finding, bool)
}

// rules are the findings that a picture shows, the most telling first.
func rules() []rule {
	return []rule{
		{"other-traffic", otherClients}, {PrefixWarm, prefixWarm}, {"queue-growing", queueGrowing}, {"kv-full", kvFull},
		{"batch-limit", batchLimit}, {"queueing", queueing}, {"preempting", preempting},
		{"replica-imbalance", replicaImbalance}, {"not-saturated", notSaturated}, {"server-restarted", restarted},
		{"behind-balancer", behindBalancer}, {"scrape-disturbs", scrapeDisturbs},
	}
}

// PrefixWarm is the finding that more was cached than the run repeats. With it, a result needs no warning that says so.
const PrefixWarm = "prefix-warm"

// budgetInconsistent is the finding that a time budget makes.
const budgetInconsistent = "time-budget-inconsistent"

// Codes returns the codes of all findings about servers.
func Codes() []string {
	var out []string
	for _, r := range rules() {
		out = append(out, r.code)
	}
	return append(out, budgetInconsistent)
}

// Examine says what the servers did in a phase. Without the sums of a client, as long as the phase goes on,
// it compares nothing with them.
func Examine(sources []Source, w window.Window, c *Client) Phase {
	if c == nil {
		c = &Client{Mixed: true}
	}
	p, values := Canonical(sources, w)
	p.balance(sources)
	out := Phase{Canonical: values, Findings: []Finding{}, Checks: checks(p, c)}
	for _, r := range rules() {
		if f, ok := r.find(p, c); ok {
			f.Code = r.code
			out.Findings = append(out.Findings, f)
		}
	}
	if _, foreign := others(p, c); !foreign && p.switches == 0 {
		out.Budget = budget(p, c)
	}
	if b := out.Budget; b != nil {
		if left, ok := b.Frontend(); ok && left < -leastContradiction {
			out.Findings = append(out.Findings, Finding{
				Code: budgetInconsistent, Level: Notice, Metric: "frontend", Value: &left,
				Message: fmt.Sprintf("the server says that first tokens took %s ms longer than the client saw: "+
					"their requests or their clocks differ", view.Figure(-left)),
			})
		}
	}
	return out
}

// The limits of the rules.
const (
	mostly   = 0.5  // of the time
	cacheTop = 0.95 // use of the key-value cache
	// leastContradiction is by how many milliseconds the server's first tokens must take longer than the client
	// saw. Stamps on a busy machine are late, and a smaller difference says no more than that.
	leastContradiction = 1.0
)

func positive(v float64) bool { return v > 0 }

func otherClients(p *Picture, c *Client) (Finding, bool) {
	n, ok := others(p, c)
	return Finding{
		Level: Notice, Metric: "requests", Value: &n,
		Message: fmt.Sprintf("the server answered %.0f more requests than this client sent: "+
			"its metrics are not those of this run alone", n),
	}, ok
}

// prefixWarm compares the hit rate with what the prompts of the run have in common. A chat template, which stands
// before every prompt, is not enough for it.
func prefixWarm(p *Picture, c *Client) (Finding, bool) {
	const beyond, template = 0.05, 64 // of the prompt tokens; tokens per request
	rate, ok := p.HitRate()
	if !ok || c.Shared == nil || c.Heads == 0 {
		return Finding{}, false
	}
	more := rate - *c.Shared
	cached := more * p.totals["prefix_queries"].Best() / float64(c.Heads)
	return Finding{
		Level: Notice, Metric: "prefix_hits", Value: &rate, Limit: new(*c.Shared + beyond),
		Message: fmt.Sprintf("%s of the prompt tokens came from the prefix cache, and the run repeats %s: what was "+
			"sent before it was cached, and it cannot be compared with a cold run: empty the cache first, or send "+
			"other prompts", view.Percent(rate), view.Percent(*c.Shared)),
	}, more >= beyond && cached >= template
}

func queueing(p *Picture, _ *Client) (Finding, bool) {
	waiting, ok := p.over("waiting")
	if !ok {
		return Finding{}, false
	}
	share, avg := waiting.Share(positive), waiting.Mean()
	return Finding{
		Level: Notice, Metric: "waiting", Value: &avg, Limit: new(1.0), Share: &share,
		Message: fmt.Sprintf("requests waited in the server's queue for %s of the time, %s on average",
			view.Percent(share), view.Figure(avg)),
	}, share > mostly && avg >= 1
}

// queueGrowing tests the slope of the queue over the second half of the phase, and whether the queue is longer at
// the end than at the beginning of the phase.
func queueGrowing(p *Picture, _ *Client) (Finding, bool) {
	const bins, critical = 10, 1.86 // of Student's t with 8 degrees of freedom, one-sided 95 %
	half := window.Window{From: p.window.From + (p.window.To-p.window.From)/2, To: p.window.To}
	length := (half.To - half.From) / bins
	var y []float64
	for i := range bins {
		from := half.From + time.Duration(i)*length
		part := window.Over(p.levels["waiting"], window.Window{From: from, To: from + length})
		if part.Empty() {
			return Finding{}, false
		}
		y = append(y, part.Mean())
	}
	mean, sxy, sxx := window.Mean(y), 0.0, 0.0
	for i, v := range y {
		x := float64(i) - (bins-1)/2.0
		sxy, sxx = sxy+x*(v-mean), sxx+x*x
	}
	slope, rss := sxy/sxx, 0.0
	for i, v := range y {
		e := v - mean - slope*(float64(i)-(bins-1)/2.0)
		rss += e * e
	}
	deviation := math.Sqrt(rss / (bins - 2) / sxx)
	first, last := y[0], y[bins-1]
	begin := window.Over(p.levels["waiting"], window.Window{From: p.window.From, To: p.window.From + length})
	if begin.Empty() {
		return Finding{}, false
	}
	return Finding{
		Level: Notice, Metric: "waiting", Value: &last,
		Message: fmt.Sprintf("the server's queue grew to the end, from %s to %s requests over the last half: "+
			"the load is above its capacity, and latencies depend on how long the run lasted",
			view.Figure(first), view.Figure(last)),
	}, slope > 0 && slope > critical*deviation && last > 2*begin.Mean() && last >= 2
}

func kvFull(p *Picture, _ *Client) (Finding, bool) {
	const often = 0.2
	kv, ok := p.over("kv_usage")
	if !ok {
		return Finding{}, false
	}
	share := kv.Share(func(v float64) bool { return v >= cacheTop })
	return Finding{
		Level: Notice, Metric: "kv_usage", Limit: new(cacheTop), Share: &share,
		Message: fmt.Sprintf("the key-value cache was full for %s of the time: memory limits the batch, not compute",
			view.Percent(share)),
	}, share > often
}

func preempting(p *Picture, c *Client) (Finding, bool) {
	n, ok := p.totals["preemptions"]
	if !ok || c.Heads == 0 {
		return Finding{}, false
	}
	rate := 100 * n.Best() / float64(c.Heads)
	return Finding{
		Level: Notice, Metric: "preemptions", Value: &rate,
		Message: fmt.Sprintf("%s preemptions per 100 requests: work was done twice", view.Figure(rate)),
	}, n.Best() > 0.5
}

func batchLimit(p *Picture, _ *Client) (Finding, bool) {
	const room = 0.9
	running, ok := p.over("running")
	waiting, queued := p.over("waiting")
	kv, known := p.over("kv_usage")
	if !ok || !queued || !known {
		return Finding{}, false
	}
	top := running.Max()
	share := running.Share(func(v float64) bool { return v == top })
	return Finding{
		Level: Notice, Metric: "running", Value: &top, Share: &share,
		Message: fmt.Sprintf("the number of sequences that the server runs at once (%.0f) is the limit, not memory", top),
	}, share > mostly && waiting.Share(positive) > mostly && kv.Max() < room
}

func notSaturated(p *Picture, _ *Client) (Finding, bool) {
	const nearly, room = 0.95, 0.8
	waiting, ok := p.over("waiting")
	running, serves := p.over("running")
	if !ok || !serves {
		return Finding{}, false
	}
	idle := 1 - waiting.Share(positive)
	if kv, known := p.over("kv_usage"); known && kv.Max() >= room || running.Max() == 0 {
		return Finding{}, false
	}
	return Finding{
		Level: InfoLevel, Metric: "waiting", Share: &idle,
		Message: "the server had room: this load does not show its limit",
	}, idle > nearly
}

// balance computes how unevenly the requests went to several targets.
func (p *Picture) balance(sources []Source) {
	p.variation = math.NaN()
	if len(sources) < 2 {
		return
	}
	var counts []float64
	for _, src := range sources {
		for i := range src.Servers {
			from, ok := src.Servers[i].Find(src.History, "requests")
			if !ok || src.Servers[i].Frontend {
				continue
			}
			n := 0.0
			for _, g := range from.Groups {
				if one, ok := src.History.Increase(g, p.window); ok {
					n += one.Best()
				}
			}
			counts = append(counts, n)
		}
	}
	mean := window.Mean(counts)
	if len(counts) < 2 || mean <= 0 {
		return
	}
	square := 0.0
	for _, n := range counts {
		square += (n - mean) * (n - mean)
		p.imbalance = max(p.imbalance, n/mean)
	}
	p.variation = math.Sqrt(square/float64(len(counts))) / mean
}

func replicaImbalance(p *Picture, c *Client) (Finding, bool) {
	const limit, enough = 0.2, 100
	return Finding{
		Level: Notice, Metric: "requests", Value: &p.imbalance, Limit: new(limit),
		Message: fmt.Sprintf("the busiest server got %s times the mean number of requests", view.Figure(p.imbalance)),
	}, p.variation > limit && c.Heads >= enough
}

func restarted(p *Picture, _ *Client) (Finding, bool) {
	n := 0
	for _, t := range p.totals {
		n = max(n, t.Resets)
	}
	return Finding{
		Level: Notice, Value: new(float64(n)),
		Message: "counters of the server began again during the phase: it was restarted, or several servers answer " +
			"at one address; its totals are lower bounds",
	}, n > 0 && p.switches == 0 // behind-balancer says it otherwise
}

// disturbing is the share of the time above which reading the metrics of a server can be felt there: many servers
// render them in the thread that delivers tokens.
const disturbing = 0.01

// scrapeDisturbs tells for how much of the time the metrics of a server were read, without the way to it and back.
func scrapeDisturbs(p *Picture, c *Client) (Finding, bool) {
	share := 0.0
	for _, r := range p.readings {
		share = max(share, (r.seconds-float64(r.times)*c.RTT)/p.window.Seconds())
	}
	return Finding{
		Level: Notice, Metric: "scrape_share", Value: &share, Limit: new(disturbing),
		Message: fmt.Sprintf("reading the metrics of a server took %s of the time, in which it may have delivered no "+
			"tokens: read them less often (--server-metrics-interval) or not at all (--no-server-metrics)",
			view.Percent(share)),
	}, share > disturbing && p.read >= leastReadings
}

// behindBalancer tells that several processes answer at one address.
func behindBalancer(p *Picture, _ *Client) (Finding, bool) {
	told := "those that were seen three times or more are told apart by their starts, the others are left out"
	if p.mixed {
		told = "what they say belongs to none of them alone, so that their counts are left out"
	}
	return Finding{
		Level: Notice, Value: new(float64(p.switches)),
		Message: fmt.Sprintf("several processes answer at one address: its metrics returned to one that had answered "+
			"before at least %s, and %s; name each with --server-metrics", view.Plural(p.switches, "time"), told),
	}, p.switches > 0
}
