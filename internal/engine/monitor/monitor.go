package monitor

import (
	"cmp"
	"sync"
	"time"

	"aiperfd/internal/engine/verdict"
)

// DefaultStep is the pace of the ticks: 200 a second.
const DefaultStep = 5 * time.Millisecond

// Options say what a monitor watches. The zero value is this process in real
// time.
type Options struct {
	Host Host // nil = this process on this machine
	// Ticker makes the ticker of a monitor that starts; nil = the most precise
	// one of this system. [NewTimer] suits virtual time.
	Ticker func() Ticker
	Step   time.Duration // pace of the ticks; 0 = [DefaultStep]
}

// Monitor watches the process from Start to Stop. Its methods are safe for
// concurrent use.
type Monitor struct {
	opts   Options
	ticker Ticker
	ended  sync.WaitGroup

	mu    sync.Mutex
	pulse pulse        // guarded by mu
	gauge func() int64 // guarded by mu; nil = nothing is watched

	sampling sync.Mutex
	sums     sums // guarded by sampling
}

// pulse is what the ticks have seen.
type pulse struct {
	lag      verdict.Histogram
	inFlight time.Duration // the gauge, integrated
}

// Start begins to watch. Stop must be called.
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

// Stop ends the ticks and waits for that. What was seen stays readable.
func (m *Monitor) Stop() {
	m.ticker.Close()
	m.ended.Wait()
}

// Watch has the ticks integrate a gauge, the number of requests in flight for
// example, until the next call. nil ends it. gauge must not block, and must not
// call the monitor.
func (m *Monitor) Watch(gauge func() int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gauge = gauge
}

// tick asks to be woken at a steady pace, and notes how late that was. The pace
// is absolute: a tick that was slept through counts with the time by which it was
// missed, or else a long stop would count as a single late tick.
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
			m.pulse.lag.Add(now.Sub(due))
		}
		if m.gauge != nil {
			m.pulse.inFlight += time.Duration(m.gauge()) * now.Sub(last)
		}
		m.mu.Unlock()
		last = now
	}
}

// Mark is a state of a monitor; see [Monitor.Since].
type Mark struct {
	pulse pulse
	sums  sums
}

// Mark notes the present state as the beginning of a window.
func (m *Monitor) Mark() *Mark { return m.read() }

// Since returns what was seen since a mark. Each call also ends an interval over
// which the use of processors is judged: call it about once a second.
func (m *Monitor) Since(begin *Mark) verdict.Self {
	now := m.read()
	s := now.sums.since(&begin.sums)
	s.Ticks = now.pulse.lag.Since(&begin.pulse.lag)
	s.InFlight, s.Step = now.pulse.inFlight-begin.pulse.inFlight, m.opts.Step
	return s
}

// read takes a sample.
func (m *Monitor) read() *Mark {
	m.sampling.Lock()
	defer m.sampling.Unlock()
	m.sums.add(m.opts.Host.Read())
	out := &Mark{sums: m.sums}
	m.mu.Lock()
	out.pulse = m.pulse
	m.mu.Unlock()
	return out
}
