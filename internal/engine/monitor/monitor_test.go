package monitor

import (
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/verdict"
)

// script is a host that reports what a test sets.
type script struct{ totals []Totals }

func (s *script) Read() Totals {
	t := s.totals[0]
	if len(s.totals) > 1 {
		s.totals = s.totals[1:]
	}
	return t
}

// In virtual time nothing is ever late, and the gauge is integrated exactly.
func TestTicksInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Start(Options{Host: &script{totals: []Totals{{}}}, Ticker: NewTimer})
		mark := m.Mark()
		gauge := m.Watch(func() int64 { return 3 })
		time.Sleep(2*time.Second + time.Millisecond)
		s := m.Since(mark, gauge)
		m.Stop()
		if s.Ticks.Count() != 400 || s.Ticks.Max() != 0 {
			t.Errorf("%d ticks, the latest %v late; want 400 and 0", s.Ticks.Count(), s.Ticks.Max())
		}
		if s.InFlight != 6*time.Second || s.Step != DefaultStep {
			t.Errorf("in flight %v at steps of %v, want 6s and 5ms", s.InFlight, s.Step)
		}
		if s.CPU != nil || s.Machine != nil || s.RunQueue != nil || s.Cgroup != nil || s.Scheduler != nil {
			t.Errorf("a host that tells nothing yields %+v", s)
		}
	})
}

// sleepy is a ticker that wakes too late once.
type sleepy struct {
	Ticker
	at, length time.Duration
	began      time.Time
}

func (s *sleepy) Wait(until time.Time) bool {
	if s.length > 0 && until.Sub(s.began) >= s.at {
		until, s.length = until.Add(s.length), 0
	}
	return s.Ticker.Wait(until)
}

// A stop of 45 ms is nine missed ticks, not one late one: coordinated omission
// must not hide it.
func TestMissedTicksCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Start(Options{Host: &script{totals: []Totals{{}}}, Ticker: func() Ticker {
			return &sleepy{Ticker: NewTimer(), at: 100 * time.Millisecond, length: 45 * time.Millisecond, began: time.Now()}
		}})
		mark := m.Mark()
		time.Sleep(501 * time.Millisecond)
		s := m.Since(mark, nil)
		m.Stop()
		if s.Ticks.Count() != 100 {
			t.Errorf("%d ticks, want 100", s.Ticks.Count())
		}
		// Woken at 145 ms instead of 100: late by 45, 40 … 5 and 0 ms.
		if got := s.Ticks.Above(2 * time.Millisecond); got != 9 {
			t.Errorf("%d ticks were late, want 9", got)
		}
		if got := s.Ticks.Max(); got < 45*time.Millisecond || got > 48*time.Millisecond {
			t.Errorf("the latest tick was %v late, want 45ms", got)
		}
	})
}

// A stop of hours does not keep the monitor busy for hours afterwards.
func TestSleepOfTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Start(Options{Host: &script{totals: []Totals{{}}}, Ticker: func() Ticker {
			return &sleepy{Ticker: NewTimer(), length: 5 * time.Hour, began: time.Now()}
		}})
		mark := m.Mark()
		time.Sleep(5*time.Hour + 27*time.Millisecond)
		s := m.Since(mark, nil)
		m.Stop()
		if got := s.Ticks.Count(); got != 5 {
			t.Errorf("%d ticks, want one at the end of the sleep and 4 after it", got)
		}
	})
}

func TestSince(t *testing.T) {
	const sec = time.Second
	machine := func(busy, idle, steal time.Duration) *Machine {
		return &Machine{Cores: 2, Busy: busy, Idle: idle, Steal: steal}
	}
	var before, after verdict.Histogram
	before.Add(sec)
	after = before
	after.AddN(3*time.Millisecond, 2)
	host := &script{totals: []Totals{
		{At: 1 * sec, CPU: new(time.Duration(0)), Cores: 2}, // Start
		{At: 2 * sec, CPU: new(sec), Cores: 2, Machine: machine(2*sec, 2*sec, 0), RunQueue: &verdict.RunQueue{Wait: sec, Slices: 10}, Scheduler: &before, RSS: 1},                                                                                                                              // Mark
		{At: 3 * sec, CPU: new(2800 * time.Millisecond), Cores: 2, Machine: machine(3900*time.Millisecond, 2100*time.Millisecond, 0), Scheduler: &after},                                                                                                                                       // busy, crowded
		{At: 4 * sec, CPU: new(3300 * time.Millisecond), Cores: 2, Machine: machine(4900*time.Millisecond, 2600*time.Millisecond, 500*time.Millisecond)},                                                                                                                                       // neither
		{At: 4100 * time.Millisecond, CPU: new(3500 * time.Millisecond), Cores: 2, Machine: machine(5100*time.Millisecond, 2600*time.Millisecond, 500*time.Millisecond), RunQueue: &verdict.RunQueue{Wait: 3 * sec, Slices: 30}, Scheduler: &after, RSS: 7, Cgroup: &verdict.Cgroup{Quota: 2}}, // busy, too short to be crowded
	}}
	synctest.Test(t, func(t *testing.T) {
		m := Start(Options{Host: host, Ticker: NewTimer})
		defer m.Stop()
		mark := m.Mark()
		m.Since(mark, nil)
		m.Since(mark, nil)
		s := m.Since(mark, nil)
		if s.Window != 2100*time.Millisecond || s.RSS != 7 || s.Cgroup != nil {
			t.Errorf("window %v, RSS %d, cgroup %v; want 2.1s, 7, nil (it was unknown at the mark)", s.Window, s.RSS, s.Cgroup)
		}
		if want := (verdict.CPU{Used: 2500 * time.Millisecond, Cores: 2, Busy: 1100 * time.Millisecond}); *s.CPU != want {
			t.Errorf("CPU %+v, want %+v", *s.CPU, want)
		}
		if want := (verdict.Machine{Cores: 2, Idle: 600 * time.Millisecond, Others: 600 * time.Millisecond, Steal: 500 * time.Millisecond, Crowded: sec}); *s.Machine != want {
			t.Errorf("machine %+v, want %+v", *s.Machine, want)
		}
		if want := (verdict.RunQueue{Wait: 2 * sec, Slices: 20}); *s.RunQueue != want {
			t.Errorf("run queue %+v, want %+v", *s.RunQueue, want)
		}
		if s.Scheduler.Count() != 2 || s.Scheduler.Sum() != 6*time.Millisecond {
			t.Errorf("scheduler: %d waits, %v; want 2, 6ms", s.Scheduler.Count(), s.Scheduler.Sum())
		}
	})
}

// The process itself can be watched, and the precise ticker can be stopped.
func TestThisProcess(t *testing.T) {
	m := Start(Options{})
	mark := m.Mark()
	ticker := preciseTicker()
	for range 10 {
		if due := time.Now().Add(time.Millisecond); !ticker.Wait(due) || time.Now().Before(due) {
			t.Fatal("the ticker returned too early, or was closed")
		}
	}
	ticker.Close()
	if ticker.Wait(time.Now().Add(time.Hour)) {
		t.Error("a closed ticker ticks")
	}
	s := m.Since(mark, nil)
	m.Stop()
	if s.Window <= 0 || s.Scheduler == nil || s.Pauses == nil {
		t.Errorf("window %v, scheduler %v, pauses %v", s.Window, s.Scheduler, s.Pauses)
	}
}
