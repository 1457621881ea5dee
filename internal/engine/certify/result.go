package certify

import (
	"errors"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/stat"
	"aiperfd/internal/engine/verdict"
)

// certificate compares the results with the truth. The driver has ended.
func (d *driver) certificate() (*verdict.Certificate, error) {
	var all findings
	for _, r := range d.results {
		all.add(r.record, r.truth)
		if d.opts.Rate > 0 {
			all.schedule = append(all.schedule, r.record.Stamps.Start-r.record.Stamps.Due)
		}
	}
	if len(all.ttft) == 0 {
		return nil, errors.New("certify: no request finished in the time available; increase it")
	}
	c := &verdict.Certificate{
		Requests: all.requests, Events: len(all.receive), Window: d.opts.Time.Seconds(),
		RequestBytes: len(d.body), ChunkBytes: len(event(1, d.opts.ChunkBytes)),
		ReferenceTTFT: ms(d.shape.ttft), ReferenceITL: ms(d.shape.itl),
		Send: lags(all.send), Receive: lags(all.receive), Schedule: lags(all.schedule),
		StampSource: "mixed", Transport: "event-loop",
	}
	if d.opts.Rate > 0 {
		c.Rate = &d.opts.Rate
	} else {
		streams := d.shape.streams
		c.Concurrency = &streams
		if streams < d.opts.Concurrency {
			c.Asked = &d.opts.Concurrency
		}
	}
	switch all.kernel {
	case 0:
		c.StampSource = "read"
	case all.requests:
		c.StampSource = "kernel"
	}
	if !d.client.Looped() {
		c.Transport = "net/http"
	}
	ttft, gap := newBound(all.ttft), newBound(all.gap)
	c.TTFT, c.InterChunk = describe(&ttft), describe(&gap)
	c.TTFTAdded, c.InterChunkAdded = ms(ttft.added), ms(gap.added)
	return c, nil
}

func describe(b *bound) verdict.Certified {
	return verdict.Certified{
		Count: b.count, Effective: b.effective, TrueP99: ms(b.truth), ReportedP99: ms(b.reported),
		ErrorP50: ms(b.p50), ErrorP99: ms(b.p99), ErrorMax: ms(b.max), Confidence: round(b.confidence), Extrapolated: b.extrapolated,
	}
}

// lags describes durations; nil if there are none. It sorts them in place.
func lags(d []time.Duration) *verdict.Lag {
	n := len(d)
	if n == 0 {
		return nil
	}
	slices.Sort(d)
	sum := time.Duration(0)
	for _, x := range d {
		sum += x
	}
	return &verdict.Lag{
		Count: int64(n), Mean: ms(sum / time.Duration(n)), P50: ms(d[stat.NearestRank(0.5, n)-1]), P99: ms(d[stat.NearestRank(tail, n)-1]), Max: ms(d[n-1]),
	}
}

// ms returns a duration in milliseconds, to the nanosecond.
func ms(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

func round(x float64) float64 { return math.Round(x*1e6) / 1e6 }
