package clock

import (
	"math/rand/v2"
	"testing"
	"time"
)

// machine is a simulated machine: what its clock shows, and how long messages take. The clock of the reference shows
// true time.
type machine struct {
	rand *rand.Rand
	// rates are the changes of its clock: from an instant of true time on it runs at a rate, after a step.
	rates        []rate
	there, back  time.Duration // the least delays
	jitter       time.Duration // the mean of what is added to each
	silent, till time.Duration // the network delays every message between these instants until the second one
}

// rate is how a clock runs from an instant on.
type rate struct {
	from time.Duration
	ppm  float64
	step time.Duration // at that instant
}

// shows returns what the clock of the machine shows at an instant.
func (m *machine) shows(at time.Duration) time.Duration {
	sum := 0.0
	for i, r := range m.rates {
		end := at
		if i+1 < len(m.rates) {
			end = min(at, m.rates[i+1].from)
		}
		if end < r.from {
			break
		}
		sum += float64(r.step) + float64(end-r.from)*(1+r.ppm*1e-6)
	}
	return time.Duration(sum)
}

// delay returns when a message arrives that is sent at an instant.
func (m *machine) delay(at, least time.Duration) time.Duration {
	arrives := at + least + time.Duration(m.rand.ExpFloat64()*float64(m.jitter))
	if at >= m.silent && at < m.till {
		arrives = max(arrives, m.till)
	}
	return arrives
}

// probe returns the probe that is sent at an instant.
func (m *machine) probe(at time.Duration) Probe {
	arrived := m.delay(at, m.there)
	answered := arrived + 20*time.Microsecond
	return Probe{Sent: m.shows(at), Arrived: arrived, Answered: answered, Returned: m.shows(m.delay(answered, m.back))}
}

// lan returns a machine in the same network whose clock is anywhere.
func lan(r *rand.Rand) *machine {
	return &machine{
		rand: r, there: 90 * time.Microsecond, back: 30 * time.Microsecond, jitter: 60 * time.Microsecond,
		rates: []rate{{ppm: 200*r.Float64() - 100, step: time.Duration(20e9*r.Float64() - 10e9)}},
	}
}

// The interval contains the truth, with any offset, drift and asymmetry, and after a step, a suspension or a slew once
// that has been seen: within three probes.
func TestBoundsHoldTheTruth(t *testing.T) {
	const length, unseen = 100 * time.Second, 3 * time.Second
	tests := []struct {
		name   string
		change func(m *machine, at time.Duration)
	}{
		{"steady", func(*machine, time.Duration) {}},
		{"very asymmetric", func(m *machine, _ time.Duration) { m.there, m.back = 20*time.Millisecond, 50*time.Microsecond }},
		{"far away", func(m *machine, _ time.Duration) {
			m.there, m.back, m.jitter = 40*time.Millisecond, 35*time.Millisecond, 5*time.Millisecond
		}},
		{"step", func(m *machine, at time.Duration) {
			m.rates = append(m.rates, rate{at, m.rates[0].ppm, time.Duration((m.rand.Float64() - 0.5) * 1e9)})
		}},
		{"suspended", func(m *machine, at time.Duration) {
			m.rates = append(m.rates, rate{at, -1e6, 0}, rate{at + 5*time.Second, m.rates[0].ppm, 0})
		}},
		{"slew", func(m *machine, at time.Duration) {
			m.rates = append(m.rates, rate{at, m.rates[0].ppm + 500, 0}, rate{at + 20*time.Second, m.rates[0].ppm, 0})
		}},
		{"messages held back", func(m *machine, at time.Duration) { m.silent, m.till = at, at+4*time.Second }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			draws, known := 0, 0
			for seed := range uint64(30) {
				r := rand.New(rand.NewPCG(1, seed))
				m := lan(r)
				tt.change(m, time.Duration(30e9+20e9*r.Float64()))
				var h History
				check := func(at time.Duration) {
					for _, c := range m.rates[1:] {
						if at >= c.from && at < c.from+unseen || c.ppm == -1e6 && at >= c.from && at < c.from+5*time.Second+unseen {
							return
						}
					}
					draws++
					shown := m.shows(at)
					o, ok := h.At(shown)
					if !ok {
						return
					}
					known++
					if truth := at - shown; (truth - o.Middle).Abs() > o.Bound {
						t.Errorf("seed %d at %v: the offset is %v, not within %v of %v", seed, at, truth, o.Bound, o.Middle)
					}
				}
				for at := time.Duration(0); at < length; at += time.Second {
					h.Add(m.probe(at))
					check(at + 300*time.Millisecond)
					check(at + 900*time.Millisecond)
					h.Forget(m.shows(at))
				}
			}
			if draws < 1000 || float64(known) < 0.5*float64(draws) {
				t.Errorf("the offset is known in %d of %d cases", known, draws)
			}
		})
	}
}

// The bound is about half of the least round trip, and a hole between probes widens it by little.
func TestBoundIsTight(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := lan(r)
	var h History
	for at := time.Duration(0); at < 60*time.Second; at += time.Second {
		h.Add(m.probe(at))
	}
	o, ok := h.At(m.shows(59 * time.Second))
	if !ok || o.Bound > 110*time.Microsecond || o.Bound < 60*time.Microsecond {
		t.Errorf("bound is %v, %v; want 60 to 110 µs: half of the least round trip of 120 µs, and some jitter", o.Bound, ok)
	}
	if ppm := -m.rates[0].ppm; o.DriftFrom*1e6 > ppm || o.DriftTo*1e6 < ppm {
		t.Errorf("the drift is %v ppm, not between %v and %v", ppm, o.DriftFrom*1e6, o.DriftTo*1e6)
	}
}

// Nothing is claimed with few probes, or right after a step.
func TestUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m := lan(r)
	m.rates = append(m.rates, rate{40 * time.Second, 0, 50 * time.Millisecond})
	var h History
	said := map[time.Duration]bool{}
	for at := time.Duration(0); at < 80*time.Second; at += time.Second {
		h.Add(m.probe(at))
		_, said[at] = h.At(m.shows(at))
	}
	for at, want := range map[time.Duration]bool{
		6 * time.Second: false, 7 * time.Second: true, 39 * time.Second: true,
		40 * time.Second: false, 44 * time.Second: false, 52 * time.Second: true,
	} {
		if said[at] != want {
			t.Errorf("after %v: known is %v, want %v", at, said[at], want)
		}
	}
}

// A probe that cannot have happened is left out.
func TestImpossibleProbes(t *testing.T) {
	var h History
	for _, p := range []Probe{
		{Sent: 10, Arrived: 5, Answered: 4, Returned: 20}, {Sent: 10, Arrived: 5, Answered: 6, Returned: 9},
		{Sent: 10, Arrived: 0, Answered: 100, Returned: 50},
	} {
		h.Add(p)
	}
	if len(h.probes) != 0 {
		t.Errorf("%d impossible probes were kept", len(h.probes))
	}
}

func BenchmarkAt(b *testing.B) {
	m := lan(rand.New(rand.NewPCG(1, 2)))
	var h History
	for at := time.Duration(0); at < 64*time.Second; at += time.Second {
		h.Add(m.probe(at))
	}
	now := m.shows(63 * time.Second)
	for b.Loop() {
		h.At(now)
	}
}
