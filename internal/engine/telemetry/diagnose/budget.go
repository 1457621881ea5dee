package diagnose

import (
	"fmt"
	"math"
	"strings"

	"aiperfd/internal/view"
)

// Segment is a part of the time to the first token.
type Segment struct {
	Name string  `json:"name" enums:"client,connect,send,path,frontend,queue,prefill,engine,server"`
	MS   float64 `json:"ms"` // the mean over the requests of the phase
	By   string  `json:"measured_by" enums:"client,kernel,server,residual"`
}

// Budget says where the time to the first token went. It is an identity of means over the same requests: the
// segments add up to the mean corrected time to the first token.
type Budget struct {
	TTFT     float64   `json:"corrected_ttft_ms"`
	Requests int64     `json:"requests"`
	Segments []Segment `json:"segments"`
	// After is from the first content to the end of the response, in ms; Decode is the server's part.
	After  float64  `json:"after_first_token_ms"`
	Decode *float64 `json:"server_decode_ms,omitempty"`
}

// sameRequests is how far server and client may differ in the number of requests for their means to be
// taken as those of the same ones.
const sameRequests = 0.01

// budget draws up the time budget of a phase; nil = there is nothing to draw it up from.
func budget(p *Picture, c *Client) *Budget {
	n := float64(c.Streams)
	if n == 0 || c.Mixed {
		return nil
	}
	const ms = 1e3
	b := &Budget{
		TTFT: (c.Lag + c.Connect + c.Send + c.Wait) / n * ms, Requests: c.Streams, After: c.Rest / n * ms,
		Segments: []Segment{
			{"client", c.Lag / n * ms, "client"},
			{"connect", c.Connect / n * ms, "client"},
			{"send", c.Send / n * ms, "client"},
		},
	}
	wait := c.Wait / n * ms
	if c.Path > 0 {
		b.Segments = append(b.Segments, Segment{"path", c.Path * ms, "kernel"})
		wait -= c.Path * ms
	}
	same := func(count float64) bool { return math.Abs(count-n) <= sameRequests*n }
	queue, queued, hasQueue := p.mean("queue_time")
	prefill, prefilled, hasPrefill := p.mean("prefill_time")
	ttft, first, hasTTFT := p.mean("ttft")
	switch {
	case hasQueue && hasPrefill && same(queued) && same(prefilled):
		b.Segments = append(b.Segments, Segment{"frontend", wait - (queue+prefill)*ms, "residual"},
			Segment{"queue", queue * ms, "server"}, Segment{"prefill", prefill * ms, "server"})
	case hasTTFT && hasQueue && same(first) && same(queued):
		b.Segments = append(b.Segments, Segment{"frontend", wait - ttft*ms, "residual"},
			Segment{"queue", queue * ms, "server"}, Segment{"prefill", (ttft - queue) * ms, "server"})
	case hasTTFT && same(first):
		b.Segments = append(b.Segments, Segment{"frontend", wait - ttft*ms, "residual"},
			Segment{"engine", ttft * ms, "server"})
	default:
		return nil
	}
	if decode, count, ok := p.mean("decode_time"); ok && same(count) {
		b.Decode = new(decode * ms)
	}
	return b
}

// Frontend returns what is left between client and server; ok = false if there is no such segment.
func (b *Budget) Frontend() (ms float64, ok bool) {
	for _, s := range b.Segments {
		if s.Name == "frontend" {
			return s.MS, true
		}
	}
	return 0, false
}

// Part is a part of the time to the first token as people read it.
type Part struct {
	Name string
	MS   float64
}

// Parts returns the segments as they are shown: the client's lag, the connection and the writing of requests are
// one, and so are the network and the frontend of the server if the round trip is not known. They add up to the time to
// the first token.
func (b *Budget) Parts() []Part {
	parts := []Part{{Name: "client"}}
	frontend := "network and frontend"
	for _, s := range b.Segments {
		switch s.Name {
		case "client", "connect", "send":
			parts[0].MS += s.MS
		case "path":
			parts, frontend = append(parts, Part{"network", s.MS}), "frontend"
		case "frontend":
			parts = append(parts, Part{frontend, s.MS})
		default:
			parts = append(parts, Part{s.Name, s.MS})
		}
	}
	return parts
}

// Line is the budget in one line, such as "TTFT 812 ms: client 2, network 1, frontend 34, queue 590, prefill 185".
func (b *Budget) Line() string {
	var parts []string
	for _, p := range b.Parts() {
		parts = append(parts, p.Name+" "+view.Figure(p.MS))
	}
	return fmt.Sprintf("TTFT %s ms on average: %s", view.Figure(b.TTFT), strings.Join(parts, ", "))
}
