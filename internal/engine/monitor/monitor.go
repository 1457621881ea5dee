package monitor

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/engine/verdict"
)

// DefaultStep is the interval of the ticks: 200 per second.
const DefaultStep = 5 * time.Millisecond

// Options configure a [Monitor]. The zero value observes this process in real time.
type Options struct {
	Host Host // nil = this process on this machine
	// Ticker returns a new ticker; nil = the most precise one of this system. Use
	// [NewTimer] in virtual time.
	Ticker func() Ticker
	Step   time.Duration // interval of the ticks; 0 = [DefaultStep]
}

// Monitor observes the process from Start to Stop. Its methods are safe for
// concurrent use.
type Monitor struct {
	opts   Options
	ticker Ticker
	ended  sync.WaitGroup

	mu     sync.Mutex
	lag    verdict.Histogram // guarded by mu
	gauges []*Gauge          // guarded by mu

	sampling sync.Mutex
	sums     sums // guarded by sampling
}

// Gauge is a number that the ticks integrate.
type Gauge struct {
	read func() int64
	sum  time.Duration // guarded by Monitor.mu
}

// Start starts a monitor. The caller must call Stop.
func Start(o Options) *Monitor {
	o.Step = cmp.Or(o.Step, DefaultStep)
	if o.Host == nil {
		o.Host = newHost()
	}
	if o.Ticker == nil {
		o.Ticker = preciseTicker
	}
	m := &Monitor{opts: o, ticker: o.Ticker()}
	m.sums.last = o.Host.Read()
	m.ended.Go(m.tick)
	return m
}

// Stop stops the ticks and waits for their goroutine. Observations remain readable.
func (m *Monitor) Stop() {
	m.ticker.Close()
	m.ended.Wait()
}

// Watch makes the ticks integrate a number, such as the requests in flight, until Unwatch.
// read must not block or call the monitor.
func (m *Monitor) Watch(read func() int64) *Gauge {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := &Gauge{read: read}
	m.gauges = append(m.gauges, g)
	return g
}

// Unwatch ends the integration of a gauge. A second call does nothing.
func (m *Monitor) Unwatch(g *Gauge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gauges = slices.DeleteFunc(m.gauges, func(h *Gauge) bool { return g == h })
}

// tick wakes at regular instants and records how late each wake-up was. Instants
// that passed during a stop count too, each with the time by which it was missed;
// otherwise a long stop would be a single late tick.
func (m *Monitor) tick() {
	const most = 1 << 14 // ticks in one go: more were missed because the machine slept
	step := m.opts.Step
	last := time.Now()
	for due := last.Add(step); m.ticker.Wait(due); {
		now := time.Now()
		if now.Before(due) {
			continue
		}
		if now.Sub(due) > most*step {
			due = now
		}
		m.mu.Lock()
		for ; !due.After(now); due = due.Add(step) {
			m.lag.Add(now.Sub(due))
		}
		for _, g := range m.gauges {
			g.sum += time.Duration(g.read()) * now.Sub(last)
		}
		m.mu.Unlock()
		last = now
	}
}

// Mark is a state of a monitor; see [Monitor.Since].
type Mark struct {
	lag  verdict.Histogram
	sums sums
}

// Mark returns the present state, the beginning of a window.
func (m *Monitor) Mark() *Mark { return m.read() }

// Since returns the observations since a mark, with the integral of a gauge; nil for none.
// Each call also ends an interval over
// which the use of processors is evaluated: call it about once per second.
func (m *Monitor) Since(begin *Mark, g *Gauge) verdict.Self {
	now := m.read()
	s := now.sums.since(&begin.sums)
	s.Ticks, s.Step = now.lag.Since(&begin.lag), m.opts.Step
	if g != nil {
		m.mu.Lock()
		s.InFlight = g.sum
		m.mu.Unlock()
	}
	return s
}

// read takes a sample.
func (m *Monitor) read() *Mark {
	m.sampling.Lock()
	defer m.sampling.Unlock()
	m.sums.add(m.opts.Host.Read())
	out := &Mark{sums: m.sums}
	m.mu.Lock()
	out.lag = m.lag
	m.mu.Unlock()
	return out
}
