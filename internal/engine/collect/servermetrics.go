package collect

import (
	"context"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/telemetry"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
)

// ServerMetricsOptions configure the observer of the servers' metrics.
type ServerMetricsOptions struct {
	To     *telemetry.Recorder
	Forced func() bool // nobody waits for the servers any more
	// Apart means that two prompts of the dataset are equal or have nothing in common, as far as it is known.
	Apart bool
	Paths *PathRecorder // nil = what the kernel counts is not read
	// Ended gets what is known of the servers and of the accelerators once no phase is performed any more.
	Ended func(*diagnose.Server, *gpu.Report)
}

// NewServerMetrics returns the observer that tells the recorder of the servers' metrics when phases begin
// and end, and what the client measured of them. Before a phase the servers are read; before the one after
// it, and at the end, until they have counted all that the phase made them do.
func NewServerMetrics(o ServerMetricsOptions) RunObserver {
	first := true
	ctx := context.Background() // each wait has a limit of its own
	phase := func(p *spec.Phase, set *measure.Set) Observer {
		switch {
		case p.Seamless:
			o.To.Mark()
		case first || o.Forced():
			o.To.Sync(ctx)
		default:
			o.To.Settle(ctx)
		}
		first = false
		sums := &clientSums{phase: p, apart: o.Apart}
		sums.client.Mixed = p.Seamless
		return Observer{
			Begin: func(l Load) {
				o.To.BeginPhase(telemetry.Phase{
					Index: p.Index, Name: p.Name, Kind: p.Kind, Seamless: p.Seamless, Excluded: p.Excluded,
				}, l.Start())
			},
			Observe: sums.add,
			Look: func(l *Look) {
				if l.Last {
					from := max(l.Stats.Start, l.Stats.Records.From)
					window := l.Stats.Measured(l.Stats.LastUpdate)
					o.To.Mark()
					sums.shared(set.Reuse())
					if o.Paths != nil {
						sums.client.RTT = o.Paths.Counted(p.Index).MinRTT.Seconds()
						sums.client.Path = o.Paths.Mean(p.Index).Seconds()
					}
					o.To.EndPhase(p.Index, from, from+window, sums.over(window.Seconds()))
				}
			},
		}
	}
	return RunObserver{Phase: phase, End: func(warn func(code, detail string)) {
		if !first && !o.Forced() {
			o.To.Settle(ctx)
		}
		o.Ended(o.To.Report(), o.To.Devices())
		if err := o.To.Close(); err != nil {
			warn("server-metrics-incomplete", "the lines of the metrics of servers or GPUs: "+err.Error())
		}
	}}
}

// clientSums adds up what the client measures of a phase.
type clientSums struct {
	phase  *spec.Phase
	apart  bool
	client diagnose.Client
	busy   float64 // seconds of all requests
	turns  bool    // some requests repeat what was said before
}

// add adds a record.
func (s *clientSums) add(rec *bench.Record) {
	c, at := &s.client, &rec.Stamps
	if s.phase.Leaves(rec) {
		c.Mixed = true
		return
	}
	if at.End > at.Start {
		s.busy += (at.End - at.Start).Seconds()
	}
	s.turns = s.turns || rec.Turn > 0
	if rec.Status != 0 {
		c.Heads++
	}
	if !rec.OK() {
		c.Failures++
		return
	}
	c.Successes++
	c.Choices = max(c.Choices, len(rec.Answer.Choices))
	if u := rec.Answer.Usage; u != nil && u.Input != nil && u.Output != nil {
		c.Counted++
		c.PromptTokens, c.OutputTokens = c.PromptTokens+int64(*u.Input), c.OutputTokens+int64(*u.Output)
	}
	if !rec.Answer.Streamed || !rec.Paced() {
		return
	}
	first := rec.Answer.Chunks[0].At
	connected, wrote := max(at.Start, at.Connected), max(at.Start, at.Connected, at.Wrote)
	c.Streams++
	c.Lag += (at.Start - at.Due).Seconds()
	c.Connect += (connected - at.Start).Seconds()
	c.Send += (wrote - connected).Seconds()
	c.Wait += (first - wrote).Seconds()
	c.Rest += (at.End - first).Seconds()
}

// shared sets how much of the prompts is common to several requests of the run, if that is known: of a trace by its
// blocks, otherwise by the prompts that were sent several times. What turns repeat of those before is not known.
func (s *clientSums) shared(r catalogue.Reuse) {
	switch {
	case s.turns || r.Input <= 0:
	case r.Blocks > 0:
		s.client.Shared = new(r.Hits / r.Blocks)
	case s.apart:
		s.client.Shared = new(1 - r.UniqueInput/r.Input)
	}
}

// over returns the sums of a phase of some length in seconds.
func (s *clientSums) over(seconds float64) diagnose.Client {
	if seconds > 0 {
		s.client.InFlight = s.busy / seconds
	}
	return s.client
}
