package collect

import (
	"context"
	"time"

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
			Begin:   func(l Load) { beginPhase(o.To, p, l.Start()) },
			Observe: sums.add,
			Look: func(l *Look) {
				if l.Last {
					o.To.Mark()
					sums.shared(set.Reuse())
					if o.Paths != nil {
						sums.client.RTT = o.Paths.Counted(p.Index).MinRTT.Seconds()
						sums.client.Path = o.Paths.Mean(p.Index).Seconds()
					}
					sums.end(o.To, &l.Stats)
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

// beginPhase tells a recorder that a phase has begun.
func beginPhase(to *telemetry.Recorder, p *spec.Phase, at time.Duration) {
	to.BeginPhase(telemetry.Phase{
		Index: p.Index, Name: p.Name, Kind: p.Kind, Seamless: p.Seamless, Excluded: p.Excluded,
	}, at)
}

// FleetServers tells the recorder of the servers' metrics what several load generators make the servers do: while they
// do it, when phases begin and end, and after that what the clients have measured, which is in their records. Its
// methods are called one after the other.
type FleetServers struct {
	o    ServerMetricsOptions
	sums map[int]*clientSums // by phase
}

// NewFleetServers returns what tells the recorder of the options.
func NewFleetServers(o ServerMetricsOptions) *FleetServers {
	return &FleetServers{o: o, sums: map[int]*clientSums{}}
}

// Ready reads the servers before the first phase. It may take some seconds.
func (f *FleetServers) Ready(ctx context.Context) {
	if f != nil && len(f.sums) == 0 && !f.o.Forced() {
		f.o.To.Sync(ctx)
	}
}

// Begin says when a phase begins, which may be soon.
func (f *FleetServers) Begin(p *spec.Phase, at time.Duration) {
	if f == nil {
		return
	}
	f.sums[p.Index] = &clientSums{phase: p, apart: f.o.Apart}
	beginPhase(f.o.To, p, at)
}

// End says that a phase has ended, and reads the servers until they have counted all of it. It may take some seconds.
func (f *FleetServers) End(ctx context.Context, s *bench.PhaseStats) {
	if f == nil {
		return
	}
	f.o.To.Mark()
	// What the clients have measured is not known yet, so nothing can be compared with it.
	soFar := clientSums{client: diagnose.Client{Mixed: true}}
	soFar.end(f.o.To, s)
	if !f.o.Forced() {
		f.o.To.Settle(ctx)
	}
}

// Observe adds a record of a phase, after the run.
func (f *FleetServers) Observe(rec *bench.Record) {
	if f == nil {
		return
	}
	if sums := f.sums[rec.Phase]; sums != nil {
		sums.add(rec)
	}
}

// Conclude takes the final state of a phase, all records of which were observed; incomplete means that other requests
// were sent, too.
func (f *FleetServers) Conclude(s *bench.PhaseStats, incomplete bool) {
	if f == nil {
		return
	}
	if sums := f.sums[s.Index]; sums != nil && s.Start > 0 {
		sums.client.Mixed = sums.client.Mixed || incomplete
		sums.end(f.o.To, s)
	}
}

// Close ends the reading. What lines lack goes to warn.
func (f *FleetServers) Close(warn func(code, detail string)) {
	if f == nil {
		return
	}
	if err := f.o.To.Close(); err != nil {
		warn("server-metrics-incomplete", "the lines of the metrics of servers or GPUs: "+err.Error())
	}
}

// Reports returns what is known of the servers and of the accelerators.
func (f *FleetServers) Reports() (*diagnose.Server, *gpu.Report) {
	if f == nil {
		return nil, nil
	}
	return f.o.To.Report(), f.o.To.Devices()
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

// end tells a recorder that a phase has ended, with its sums.
func (s *clientSums) end(to *telemetry.Recorder, stats *bench.PhaseStats) {
	from, window := max(stats.Start, stats.Records.From), stats.Measured(stats.LastUpdate)
	if window > 0 {
		s.client.InFlight = s.busy / window.Seconds()
	}
	to.EndPhase(stats.Index, from, from+window, s.client)
}
