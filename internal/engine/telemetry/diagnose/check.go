package diagnose

import "math"

// Check is a relation between what the servers and what the client counted.
type Check struct {
	Code      string  `json:"code"`
	Client    float64 `json:"client"`
	Server    float64 `json:"server"`
	Tolerance float64 `json:"tolerance"`
	Unit      string  `json:"unit"`
	Holds     bool    `json:"holds"`
}

// otherTraffic is how much more a server must have counted than the client for other clients to be likely.
const (
	otherTraffic      = 0.02
	otherTrafficLeast = 10
)

// others returns how many requests of other clients the servers answered; ok = false if it is not clear that
// there were any.
func others(p *Picture, c *Client) (n float64, ok bool) {
	r, known := p.totals["requests"]
	if !known || r.Partial || c.Mixed {
		return 0, false
	}
	n = r.Best() - float64(c.Heads)
	return n, n > otherTraffic*float64(c.Heads) && n > otherTrafficLeast
}

// inFlight compares how many requests were at work: as the servers say, as the client saw, and as their rate times
// their time gives. Levels are read now and then, so the tolerance has the margin of their mean. A few readings do not
// tell that: one of them may be of the beginning or of the end, when hardly anything is at work.
func (p *Picture) inFlight(c *Client, add func(code, unit string, client, server, tolerance float64)) {
	const share, enough = 0.05, 10
	const student = 2.26 // its quantile for 95 % and that many readings
	running, ok := p.over("running")
	waiting, known := p.over("waiting")
	if !ok || !known || p.read < enough {
		return
	}
	server := running.Mean() + waiting.Mean()
	deviation := running.Deviation() + waiting.Deviation() // at most: the two may move together
	sampling := student * deviation / math.Sqrt(float64(p.read-1))
	length := p.window.Seconds()
	if c.InFlight > 0 {
		transit := 2 * c.RTT * float64(c.Heads) / length
		add("server-inflight", "requests", c.InFlight, server, share*c.InFlight+transit+sampling)
	}
	if e2e, n, ok := p.mean("e2e"); ok && n > 0 {
		law := n / length * e2e
		add("server-littles-law", "requests", law, server, share*law+sampling)
	}
}

// checks compares server and client. With failures or cancellations, a server may have counted anything
// between the successes and all requests; counters of several processes at one address compare with nothing.
func checks(p *Picture, c *Client) []Check {
	out := []Check{}
	add := func(code, unit string, client, server, tolerance float64) {
		out = append(out, Check{code, client, server, tolerance, unit, math.Abs(client-server) <= tolerance})
	}
	if _, ok := others(p, c); ok || c.Mixed || p.switches > 0 {
		return out
	}
	if r, ok := p.totals["requests"]; ok && !r.Partial && !math.IsNaN(r.Settled) {
		add("server-requests", "requests", float64(c.Heads), r.Settled, float64(c.Failures))
	}
	if c.Failures > 0 {
		return out
	}
	tokens := func(code, metric string, client int64) {
		n, ok := p.totals[metric]
		if !ok || n.Partial || math.IsNaN(n.Settled) || c.Counted != c.Successes || client == 0 {
			return
		}
		add(code, "tokens", float64(client), n.Settled, max(0.01*float64(client), float64(c.Successes)))
	}
	if c.Choices == 1 {
		tokens("server-prompt-tokens", "prompt_tokens", c.PromptTokens)
	}
	tokens("server-generation-tokens", "generation_tokens", c.OutputTokens)
	p.inFlight(c, add)
	if ttft, n, ok := p.mean("ttft"); ok && c.Streams > 0 && n == float64(c.Streams) {
		const rounding = 1e-6
		client := (c.Connect + c.Send + c.Wait) / n
		out = append(out, Check{"server-ttft-below-client", client, ttft, rounding, "s", ttft <= client+rounding})
	}
	return out
}
