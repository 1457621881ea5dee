package telemetry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/servermap"
)

// Probe reads each target once, all at the same time, and says what it is. A page that is slow, garbled or absent is
// a state of the target; whatever it answers, it takes at most ten seconds.
func Probe(ctx context.Context, o Options) []diagnose.Probed {
	r := newRecorder(o)
	defer r.client.Close()
	defer r.apart.Close()
	ctx, cancel := context.WithTimeout(ctx, firstTimeout)
	defer cancel()
	out := make([]diagnose.Probed, len(o.Targets))
	var reading sync.WaitGroup
	for i := range o.Targets {
		reading.Go(func() {
			t := newTarget(r, &o.Targets[i])
			t.scrape(ctx, false)
			out[i] = r.probed(t)
		})
	}
	reading.Wait()
	return out
}

// probed describes a target that was read once.
func (r *Recorder) probed(t *target) diagnose.Probed {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.history
	p := diagnose.Probed{
		URL: t.shown, State: t.state, Error: t.lastError,
		Servers: []string{}, GPUs: []string{}, Rows: []diagnose.Row{}, Lacking: []string{},
		Malformed: h.Malformed, NonFinite: h.NonFinite, Dropped: h.Dropped,
	}
	if len(h.Scrapes) == 0 {
		if p.Error == "" {
			p.Error = fmt.Sprintf("no answer within %v", firstTimeout)
		}
		return p
	}
	if h.Dropped > 0 {
		p.State = diagnose.TooLarge
	}
	p.ScrapeMS = float64(t.last) / float64(time.Millisecond)
	for _, f := range h.Families {
		p.Series += len(f.Groups)
	}
	p.GPUs = gpu.Vendors([]gpu.Page{{URL: t.shown, History: h}})
	known := r.detect(h)
	for i := range known {
		p.Servers = append(p.Servers, known[i].Title)
	}
	for _, m := range servermap.Metrics() {
		found := false
		for i := range known {
			if from, ok := known[i].Find(h, m.Name); ok {
				p.Rows = append(p.Rows, diagnose.Row{Metric: m.Name, Server: known[i].Title, Families: from.Families})
				found = true
			}
		}
		if !found && len(known) > 0 {
			p.Lacking = append(p.Lacking, m.Name)
		}
	}
	return p
}
