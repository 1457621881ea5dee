package verdict

import (
	"math"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/view"
)

// demand is an open loop of n requests at a constant rate; took returns how long
// request i takes since it was due.
func demand(n int, rate float64, took func(i int) time.Duration) *Demand {
	d := &Demand{Rate: rate, Smoothness: 1, Stats: &bench.PhaseStats{Name: "profiling", Start: time.Second}, Tally: new(Tally)}
	due := func(i int) time.Duration { return time.Second + time.Duration(float64(i)/rate*float64(time.Second)) }
	s := d.Stats
	for i := range n {
		waiting := int64(1)
		for j := range i {
			if due(j)+took(j) > due(i) {
				waiting++
			}
		}
		s.Arrivals.Add(due(i), waiting)
		end := due(i) + took(i)
		d.Tally.Observe(&bench.Record{
			Stamps: bench.Stamps{Due: due(i), Permit: due(i), Start: due(i), Wrote: due(i), End: end},
			Answer: bench.Answer{Chunks: []bench.Chunk{{At: end}}},
		})
		s.RequestsEnd = max(s.RequestsEnd, end)
	}
	s.Sent, s.Completed = int64(n), int64(n)
	load := d.Tally.Load(Asked{Open: true})
	d.Load = &load
	return d
}

// The queue of a server that keeps up grows with a rate that rises. One that does not
// keep up has a longer one.
func TestSaturateARisingRate(t *testing.T) {
	const n = 400 // arrivals of a rate that rises with the square of the time, from 0 to 30 per second in 40 s
	due := func(i int) time.Duration { return time.Second + time.Duration(math.Cbrt(float64(i)/n)*40e9) }
	tests := []struct {
		name   string
		took   func(i int) time.Duration
		rising float64
		want   bool
	}{
		{"latencies of 4 s", func(int) time.Duration { return 4 * time.Second }, 3, false},
		{"the same, if the rate were constant", func(int) time.Duration { return 4 * time.Second }, 1, true},
		{"5 requests per second", func(i int) time.Duration {
			return max(200*msec, time.Second+200*msec*time.Duration(i+1)-due(i))
		}, 3, true},
	}
	for _, tt := range tests {
		d := &Demand{Rate: 10, Rising: tt.rising, Smoothness: 1, Stats: &bench.PhaseStats{Start: time.Second}, Tally: new(Tally)}
		for i := range n {
			waiting := int64(1)
			for j := range i {
				if due(j)+tt.took(j) > due(i) {
					waiting++
				}
			}
			d.Stats.Arrivals.Add(due(i), waiting)
			end := due(i) + tt.took(i)
			d.Tally.Observe(&bench.Record{
				Stamps: bench.Stamps{Due: due(i), Permit: due(i), Start: due(i), Wrote: due(i), End: end},
				Answer: bench.Answer{Chunks: []bench.Chunk{{At: end}}},
			})
		}
		d.Stats.Sent, d.Stats.Completed, d.Stats.RequestsEnd = n, n, due(n)+time.Minute
		load := d.Tally.Load(Asked{Open: true})
		d.Load = &load
		if got := Saturate(d).Saturated; got != tt.want {
			t.Errorf("%s: saturated %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestSaturate(t *testing.T) {
	const sec = time.Second
	constant := func(took time.Duration) func(int) time.Duration { return func(int) time.Duration { return took } }
	// A server that takes 100 ms for one request after the other.
	queue := func(rate float64) func(int) time.Duration {
		return func(i int) time.Duration {
			return max(100*msec, 100*msec*time.Duration(i+1)-time.Duration(float64(i)/rate*float64(sec)))
		}
	}
	tests := []struct {
		name   string
		demand *Demand
		change func(*Demand)
		want   bool
	}{
		{"twice the capacity", demand(300, 20, queue(20)), nil, true},
		{"half of the capacity", demand(300, 5, queue(5)), nil, false},
		{"long latencies", demand(300, 20, constant(10*sec)), nil, false},
		{"latencies longer than the load", demand(300, 20, constant(60*sec)), nil, false},
		{"a server that gets warm: twice as slow once its batch is full", demand(300, 20, func(i int) time.Duration {
			return min(2*sec, sec+time.Duration(i)*50*msec)
		}), nil, false},
		{"the same at the end of a short load", demand(30, 20, func(i int) time.Duration {
			return min(2*sec, sec+time.Duration(i)*50*msec)
		}), nil, false},
		{"a pause of ten seconds in the middle", demand(600, 20, func(i int) time.Duration {
			if i < 200 || i > 400 {
				return 100 * msec
			}
			return max(100*msec, 10*sec-time.Duration(i-200)*50*msec)
		}), nil, false},
		{"one request hangs", demand(100, 20, func(i int) time.Duration {
			if i == 50 {
				return 60 * sec
			}
			return 500 * msec
		}), nil, false},
		{"cut, and all were as slow", demand(300, 20, constant(30*sec)), func(d *Demand) { d.Stats.Cancelled = 300 }, false},
		{"cut: the first came back", demand(300, 20, func(i int) time.Duration {
			return min(10*sec+time.Duration(i)*500*msec, 45*sec-time.Duration(i)*50*msec)
		}), func(d *Demand) { d.Stats.Cancelled = 220 }, true},
		{"the same while it goes on", demand(300, 20, func(i int) time.Duration {
			return min(10*sec+time.Duration(i)*500*msec, 45*sec-time.Duration(i)*50*msec)
		}), func(d *Demand) { d.Stats.RequestsEnd, d.Stats.LastUpdate = 0, 20*sec }, false},
		{"twice the capacity, while it goes on", demand(300, 20, queue(20)), func(d *Demand) { d.Stats.RequestsEnd, d.Stats.LastUpdate = 0, 20*sec }, true},
		{"bursts excuse more", demand(300, 20, queue(11)), nil, true},
		{"bursts excuse more: smoothness 0.01", demand(300, 20, queue(20)), func(d *Demand) { d.Smoothness = 0.01 }, false},
		{"too few to say", demand(9, 1000, queue(1000)), nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.change != nil {
				tt.change(tt.demand)
			}
			s := Saturate(tt.demand)
			if s.Saturated != tt.want || s.Message == "" || s.LimitedBy == "" == tt.want {
				t.Errorf("%+v, want %v; first %v, last %v, arrivals %+v",
					s, tt.want, tt.demand.Tally.first.mean(), tt.demand.Tally.last.mean(), tt.demand.Stats.Arrivals)
			}
		})
	}
}

// A client that sends late does not make the server saturated.
func TestSaturateClient(t *testing.T) {
	d := demand(300, 20, func(int) time.Duration { return time.Second })
	d.Load.Offered, d.Load.Delivered, d.Load.Late = 20, 15, 5*time.Second
	if s := Saturate(d); s.Saturated || s.LimitedBy != "client" || s.Message != "asked 20/s, sent 15/s: the load generator was late, so the server had less to do" {
		t.Errorf("%+v", s)
	}
}

// What is said of a load that did not saturate the server is true of a short one, of one that was cut off
// and of one whose requests failed.
func TestSaturateInWords(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Demand)
		want   string
	}{
		"all succeeded": {func(*Demand) {}, "no sign that the server fell behind"},
		"some failed":   {func(d *Demand) { d.Stats.Errors = 26 }, "no sign that the server fell behind; 26 requests failed"},
		"one dropped":   {func(d *Demand) { d.Stats.Arrivals.Dropped = 1 }, "no sign that the server fell behind; 1 request dropped"},
		"all failed":    {func(d *Demand) { d.Tally.succeeded, d.Stats.Errors = 0, 300 }, "no request succeeded; 300 requests failed"},
		"some waited": {
			func(d *Demand) { d.Stats.BacklogMax, d.Stats.Errors = 188, 26 },
			"the concurrency limit made up to 188 requests wait, so whether the server would have kept up is not known; 26 requests failed",
		},
		"prefills limited": {
			func(d *Demand) { d.Capped = true },
			"the prefill concurrency limit may have made requests wait, so whether the server would have kept up is not known",
		},
		"many cut off":   {func(d *Demand) { d.Stats.Cancelled = 30 }, "10 % of the requests were cut off, so the server may have fallen behind"},
		"while it lasts": {func(d *Demand) { d.Stats.RequestsEnd, d.Stats.LastUpdate = 0, 20*time.Second }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := demand(300, 5, func(int) time.Duration { return 100 * time.Millisecond })
			tt.change(d)
			s := Saturate(d)
			_, got, _ := strings.Cut(s.Message, ": ")
			if s.Saturated || got != tt.want {
				t.Errorf("%s; want %q", s.Message, tt.want)
			}
		})
	}
}

// A server that finishes nothing is not called slow before the end.
func TestSaturateWithoutSuccess(t *testing.T) {
	d := demand(100, 20, func(int) time.Duration { return time.Minute })
	d.Tally.succeeded, d.Stats.Cancelled, d.Stats.Completed = 0, 100, 0
	want := "asked 20/s, served 0/s, the queue grew to 100: the server finished no request"
	if s := Saturate(d); !s.Saturated || s.Message != want || s.CutShare != 1 {
		t.Errorf("%+v", s)
	}
	d.Stats.RequestsEnd, d.Stats.LastUpdate = 0, 10*time.Second
	if s := Saturate(d); s.Saturated || s.Cut != 0 {
		t.Errorf("while it goes on: %+v", s)
	}
}

func TestEnds(t *testing.T) {
	var first, last ends
	for _, i := range []time.Duration{7, 3, 12, 1, 9, 20, 5, 2, 11, 4, 6, 8, 10} {
		first.add(i, i)
		last.add(-i, i)
	}
	if got, want := first.mean(), time.Duration(1+2+3+4+5+6+7+8)/8; got != want {
		t.Errorf("mean of the first: %d, want %d", got, want)
	}
	if got, want := last.mean(), time.Duration(20+12+11+10+9+8+7+6)/8; got != want {
		t.Errorf("mean of the last: %d, want %d", got, want)
	}
	if got := last.above(10); got != 0.5 {
		t.Errorf("share of the last above 10: %v, want 0.5", got)
	}
}

// A server that takes three times as long once it is loaded, but keeps up then.
func TestSaturationLevels(t *testing.T) {
	const rate, step = 20, 50 * time.Millisecond
	for _, tt := range []struct {
		last time.Duration // of the load
		more time.Duration // latency, for each second of load; up to 10 s, or without end
		ends bool
		want bool
	}{
		{36 * time.Second, time.Second, true, false}, {40 * time.Second, time.Second, true, false},
		{60 * time.Second, time.Second, true, false}, {40 * time.Second, time.Second, false, true},
	} {
		took := func(at time.Duration) time.Duration {
			if tt.ends {
				at = min(at, 10*time.Second)
			}
			return 5*time.Second + time.Duration(at.Seconds()*float64(tt.more))
		}
		s := bench.PhaseStats{Start: 1, RequestsEnd: tt.last + took(tt.last)}
		var y Tally
		for at := time.Duration(1); at <= tt.last; at += step {
			queue := int64(0)
			for before := time.Duration(1); before <= at; before += step {
				if before+took(before) > at {
					queue++
				}
			}
			s.Arrivals.Add(at, queue)
			y.Observe(&bench.Record{Stamps: bench.Stamps{Due: at, Permit: at, Start: at, Wrote: at, End: at + took(at)}})
		}
		y.succeeded = y.requests
		l := y.Load(Asked{Open: true})
		if got := Saturate(&Demand{Rate: rate, Smoothness: 1, Stats: &s, Tally: &y, Load: &l}); got.Saturated != tt.want {
			t.Errorf("%v of load, levels off %v: %s; want saturated %v", tt.last, tt.ends, got.Message, tt.want)
		}
	}
}

// Large numbers have thousands separators.
func TestWhole(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1270: "1,270", 1234567: "1,234,567"} {
		if got := view.Whole(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	if got := (&Saturation{Saturated: true, AskedRate: 1000, AchievedRate: new(999.6), BacklogMax: 1270}).sentence(); !strings.HasPrefix(got, "asked 1,000/s, served 1,000/s, the queue grew to 1,270: ") {
		t.Errorf("sentence %q", got)
	}
}
