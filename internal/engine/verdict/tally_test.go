package verdict

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

func tokens(n int) *bench.Tokens {
	t := bench.Tokens(n)
	return &t
}

// record is a success that started at 1 s, with content events at the given
// milliseconds after that; a negative one came in the read of the one before it.
func record(at ...int) *bench.Record {
	const start = time.Second
	r := &bench.Record{
		Stamps: bench.Stamps{Due: start - 3*msec, Permit: start - 2*msec, Start: start, Wrote: start + 5*msec},
		Conn:   bench.Connection{Kernel: true, Reads: 3, DNS: msec, Connect: msec, TLS: msec},
		Answer: bench.Answer{Streamed: true},
	}
	read := int32(0)
	for _, x := range at {
		if x >= 0 {
			read++
		} else {
			x = -x
		}
		r.Answer.Chunks = append(r.Answer.Chunks, bench.Chunk{At: start + time.Duration(x)*msec, Read: read})
	}
	r.Stamps.End = r.Answer.Chunks[len(at)-1].At + 10*msec
	return r
}

func TestTallyLoad(t *testing.T) {
	var y Tally
	for i := range 11 {
		r := record(100, 200)
		shift := time.Duration(i) * 100 * msec
		late := time.Duration(i) * msec
		for _, at := range []*time.Duration{&r.Stamps.Due, &r.Stamps.Permit} {
			*at += shift
		}
		for _, at := range []*time.Duration{&r.Stamps.Start, &r.Stamps.Wrote, &r.Stamps.End} {
			*at += shift + late
		}
		r.Conn.Kernel = i > 0
		y.Observe(r)
	}
	y.Observe(&bench.Record{}) // it never started
	l := y.Load(Asked{Open: true, TTFT: msec})
	if l.Requests != 11 || l.Kernel != 10 || l.Read != 1 || l.TTFT != msec || l.Capped {
		t.Errorf("load %+v", l)
	}
	if l.Offered != 10 || l.Delivered >= 9.91 || l.Delivered <= 9.9 {
		t.Errorf("offered %v, delivered %v; want 10, and 10 in 1.01 s", l.Offered, l.Delivered)
	}
	if l.Late != 10*msec {
		t.Errorf("late by %v at the end, want 10ms", l.Late)
	}
	if got := l.Schedule.Max(); got != 13*msec {
		t.Errorf("schedule lag at most %v, want 13ms", got)
	}
	if got := l.Send.Max(); got != 2*msec {
		t.Errorf("send lag %v, want 5 ms less three of handshakes", got)
	}
	// Arrivals that waited for a slot: only what followed is the client's fault.
	if l = y.Load(Asked{Open: true, BacklogMax: 3}); !l.Capped || l.Schedule.Max() != 12*msec {
		t.Errorf("capped: %v, schedule lag %v", l.Capped, l.Schedule.Max())
	}
	// Closed loop: (3+4+…+13) ms of 11 × 210 ms and that were lost.
	l = y.Load(Asked{})
	if want := 88.0 / (88 + 11*210); l.Lost < want-1e-9 || l.Lost > want+1e-9 || l.Offered != 0 {
		t.Errorf("lost %v, want %v; offered %v", l.Lost, want, l.Offered)
	}
	if l.Turnaround != 8*msec {
		t.Errorf("turnaround %v, want 8ms", l.Turnaround)
	}
	// With a limit of requests without content, the millisecond before the permit is requested.
	l = y.Load(Asked{Limited: true})
	if want := 77.0 / (88 + 11*210); l.Lost < want-1e-9 || l.Lost > want+1e-9 || l.Turnaround != 7*msec {
		t.Errorf("limited: lost %v, want %v; turnaround %v, want 7ms", l.Lost, want, l.Turnaround)
	}
}

// The requests that open the slots of a closed loop do not show how soon a
// slot is used again.
func TestTallyBegin(t *testing.T) {
	var y Tally
	y.Begin(time.Second - 3*msec)
	for range 4 {
		y.Observe(record(100)) // 3 ms after the beginning
	}
	if l := y.Load(Asked{}); l.Lost != 0 || l.Turnaround != 0 {
		t.Errorf("lost %v, turnaround %v; want none", l.Lost, l.Turnaround)
	}
	next := record(100)
	next.Stamps.Due++
	y.Observe(next)
	if l := y.Load(Asked{}); l.Turnaround != 3*msec-1 || l.Lost == 0 {
		t.Errorf("lost %v, turnaround %v; want almost 3ms", l.Lost, l.Turnaround)
	}
	if !y.Succeeded() || new(Tally).Succeeded() {
		t.Error("successes are not seen, or made up")
	}
}

// The first event of a stream may have the stamp of the second.
func TestTallyMerged(t *testing.T) {
	var y Tally
	y.Observe(record(100, -100, 140))
	y.Observe(record(100, 120, -120, 160))
	if l := y.Load(Asked{}); l.Streams != 2 || l.MergedFirst != 1 || l.Gaps != 5 || l.Merged != 2 || l.Gap != 20*msec {
		t.Errorf("load %+v", l)
	}
}

// repeat returns records of the same shape.
func repeat(n int, make func() *bench.Record) []*bench.Record {
	out := []*bench.Record{}
	for range n {
		out = append(out, make())
	}
	return out
}

func TestStreams(t *testing.T) {
	steady := func() *bench.Record {
		r := record(100, 120, 140, 160, 180, 200, 220, 240, 260, 280)
		r.OutputTokens = tokens(10)
		return r
	}
	burst := func() *bench.Record {
		r := record(1000, -1000, -1000, -1000, 1001)
		r.OutputTokens = tokens(40)
		return r
	}
	tests := []struct {
		name     string
		records  []*bench.Record
		class    Class
		withheld bool // of inter_chunk_latency
		buffered int64
	}{
		{"token by token", repeat(4, steady), PerToken, false, 0},
		{"nobody counts tokens", repeat(4, func() *bench.Record { return record(100, 120, 140, 160) }), PerToken, false, 0},
		{"five tokens an event", repeat(4, func() *bench.Record {
			r := steady()
			r.OutputTokens = tokens(50)
			return r
		}), Batched, true, 0},
		{"pairs in one read", repeat(4, func() *bench.Record { return record(100, -100, 140, -140, 180, -180) }), Coalesced, true, 0},
		{"one gap in twenty in one read", append(repeat(9, steady), record(100, -100, 110, -110, 120, -120)), PerToken, false, 0},
		{"everything at the end", repeat(4, burst), Buffered, true, 4},
		{"all in one event", repeat(4, func() *bench.Record {
			r := record(900)
			r.OutputTokens = tokens(64)
			return r
		}), Buffered, true, 4},
		{"a quarter of the streams at the end", append(repeat(6, steady), repeat(2, burst)...), Batched, true, 2},
		{"a short answer after a long wait is no buffer", repeat(4, func() *bench.Record { return record(5000, 5001, 5002) }), PerToken, false, 0},
		{"a quick model after a long prompt is no buffer", repeat(4, func() *bench.Record { return record(9000, 9010, 9020, 9030, 9040, 9050) }), PerToken, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var y Tally
			for _, r := range tt.records {
				y.Observe(r)
			}
			s := Streams(&y)
			if s.Class != tt.class || s.Buffered != tt.buffered {
				t.Errorf("class %s with %d buffered, want %s with %d (%+v)", s.Class, s.Buffered, tt.class, tt.buffered, s)
			}
			w, ok := s.Withheld["inter_chunk_latency"]
			if named := strings.Contains(s.Message, "the percentiles of inter_chunk_latency, time_to_second_token"); named != tt.withheld {
				t.Errorf("the message does not name what is withheld: %s", s.Message)
			}
			if ok != tt.withheld || (ok && w.Reason == "") {
				t.Errorf("withheld: %v, want %v", s.Withheld, tt.withheld)
			}
			if s.Message == "" {
				t.Error("no message")
			}
		})
	}
}

func TestStreamFigures(t *testing.T) {
	var a, b Tally
	r := record(100, -100, -100, 140)
	r.OutputTokens = tokens(6)
	a.Observe(r)
	b.Observe(record(50, 60))
	fail := record(1, 2)
	fail.Answer.Failure = &bench.Failure{Class: bench.ServerError}
	b.Observe(fail)
	body := record(70)
	body.Answer.Streamed = false
	b.Observe(body)
	got := Streams(&a, &b)
	got.Message, got.Withheld = "", nil
	want := &Stream{
		Class: Coalesced, Streams: 2, Events: 6, Gaps: 4, SameRead: 2, Zero: 2,
		EventsPerRead: 1.5, TokensPerChunk: known(1.5), SameReadShare: 0.5, ZeroShare: 0.5,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if Streams(&Tally{}) != nil || Streams() != nil {
		t.Error("no streams, but a judgement of them")
	}
}

func TestObserveDoesNotAllocate(t *testing.T) {
	var y Tally
	r := record(100, 120, 140)
	r.Answer.Usage = &bench.Usage{Output: tokens(3)}
	if n := testing.AllocsPerRun(100, func() { y.Observe(r) }); n != 0 {
		t.Errorf("Observe allocates %v times", n)
	}
}

// BenchmarkObserve is the cost of a record with 600 content events.
func BenchmarkObserve(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	at := make([]int, 600)
	for i := range at {
		at[i] = 100 + 20*i + rnd.IntN(10)
	}
	r := record(at...)
	var y Tally
	for b.Loop() {
		y.Observe(r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/600, "ns/event")
}

// Audio and images come in pieces of any size: nothing is reported about tokens.
func TestStreamsWithoutTokens(t *testing.T) {
	for _, kind := range []bench.ChunkKind{bench.Audio, bench.ImagePartial} {
		var y Tally
		for range 4 {
			r := record(1000, -1000, -1000, -1000, 1001)
			r.OutputTokens = tokens(256)
			for i := range r.Answer.Chunks {
				r.Answer.Chunks[i].Kind = kind
			}
			y.Observe(r)
		}
		if got := Streams(&y); got != nil {
			t.Errorf("streams of %s are judged: %+v", kind, got)
		}
	}
}
