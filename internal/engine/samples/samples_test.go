package samples

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
)

// origin is the offset of the start of the runs of the tests.
const origin = 3 * time.Second

var epoch = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

const ms = time.Millisecond

func recorder(t testing.TB) (*Recorder, string) {
	t.Helper()
	dir := t.TempDir()
	r := New(Options{Path: filepath.Join(dir, File), Clock: bench.ClockAt(epoch), Rand: rand.New(rand.NewPCG(1, 2))})
	r.Begin(origin)
	r.Begin(origin + time.Minute) // a further phase changes nothing
	return r, dir
}

func closed(t testing.TB, r *Recorder) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// answered is a request with its latency and the time to its first token.
func answered(start, latency, first time.Duration) *bench.Record {
	start += origin
	rec := &bench.Record{Stamps: bench.Stamps{Due: start - ms, Start: start, Connected: start + ms, Wrote: start + 2*ms, FirstByte: start + first, End: start + latency + ms}}
	rec.RequestID = fmt.Sprint(latency)
	rec.InputTokens, rec.OutputTokens = new(bench.Tokens(8)), new(bench.Tokens(3))
	rec.Answer.Streamed = true
	rec.Answer.Chunks = []bench.Chunk{{At: start + first}, {At: start + latency, Read: 1}}
	return rec
}

func failedWith(class bench.Class, after time.Duration) *bench.Record {
	rec := &bench.Record{Stamps: bench.Stamps{Due: origin, Start: origin, End: origin + after}}
	rec.Answer.Failure = &bench.Failure{Class: class}
	return rec
}

// The slowest requests are kept in order, whatever the order in which they came; a list of
// all says which they are.
func TestSlowest(t *testing.T) {
	for _, order := range []string{"ascending", "descending", "shuffled"} {
		r, _ := recorder(t)
		var latencies []int
		for i := range 500 {
			latencies = append(latencies, 10+i)
		}
		switch order {
		case "descending":
			slices.Reverse(latencies)
		case "shuffled":
			rand.New(rand.NewPCG(3, 4)).Shuffle(500, func(i, j int) { latencies[i], latencies[j] = latencies[j], latencies[i] })
		}
		for _, l := range latencies { // the fastest has the latest first token
			r.Observe(answered(time.Second, time.Duration(l)*ms, time.Duration(1000-l)*ms/200), "p")
		}
		s := r.Samples()
		for i := range MaxSlowest {
			if got, want := s.Latency[i].Latency, float64(509-i); got != want {
				t.Errorf("%s: latency %d is %v, want %v", order, i, got, want)
			}
			if got, want := s.FirstToken[i].FirstToken, float64(990-i)/200; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: first token %d is %v, want %v", order, i, got, want)
			}
		}
		if len(s.Latency) != MaxSlowest || len(s.FirstToken) != MaxSlowest || s.Seen != 500 || len(s.Points) != 500 {
			t.Errorf("%s: %d, %d, %d, %d", order, len(s.Latency), len(s.FirstToken), s.Seen, len(s.Points))
		}
		closed(t, r)
	}
}

// A timeline has what happened and says what did not; failed requests are slow, too, and
// those that the client cancelled are none.
func TestRequest(t *testing.T) {
	r, dir := recorder(t)
	r.Observe(answered(2*time.Second, 50*ms, 20*ms), "load")
	timeout := failedWith(bench.TimeoutTotal, 900*ms)
	timeout.RequestID, timeout.Status, timeout.Target = "slow", 200, 1
	r.Observe(timeout, "load")
	r.Observe(failedWith(bench.Cancelled, 5*time.Second), "load")
	r.Observe(failedWith(bench.CancelledByTest, 5*time.Second), "load")
	r.Observe(&bench.Record{Answer: bench.Answer{Failure: &bench.Failure{Class: bench.ConnectError}}}, "load") // never started
	closed(t, r)
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	answer := &Request{
		ID: "50ms", Phase: "load", Input: 8, Output: 3, Latency: 50, FirstToken: 20, At: 2 * time.Second,
		Timeline: Timeline{Due: -ms, Connected: ms, Wrote: 2 * ms, FirstByte: 20 * ms, End: 51 * ms, Chunks: []time.Duration{20 * ms, 50 * ms}, ChunkCount: 2},
	}
	nan := math.NaN()
	want := &Samples{
		Start: epoch.Add(origin), Seen: 1,
		Points: []Point{{End: 2051 * ms, Input: 8, Output: 3, FirstToken: 20, InterToken: 15, Latency: 50, Wait: 1}},
		Latency: []*Request{
			{
				ID: "slow", Phase: "load", Target: 1, Status: 200, Class: bench.TimeoutTotal, Input: nan, Output: nan, Latency: 900, FirstToken: nan,
				Timeline: Timeline{Connected: NoTime, Wrote: NoTime, FirstByte: NoTime, End: 900 * ms},
			},
			answer,
		},
		FirstToken: []*Request{answer},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// The times of a long answer are cut, and their number is not.
func TestManyChunks(t *testing.T) {
	r, _ := recorder(t)
	rec := answered(0, 10*time.Second, ms)
	rec.Answer.Chunks = nil
	for i := range 3 * MaxChunks {
		rec.Answer.Chunks = append(rec.Answer.Chunks, bench.Chunk{At: rec.Stamps.Start + time.Duration(i+1)*ms})
	}
	r.Observe(rec, "p")
	q := r.Samples().Latency[0].Timeline
	if len(q.Chunks) != MaxChunks || q.ChunkCount != 3*MaxChunks || q.Chunks[MaxChunks-1] != MaxChunks*ms {
		t.Errorf("%d of %d chunks", len(q.Chunks), q.ChunkCount)
	}
	closed(t, r)
}

// The points are a uniform sample: each part of a long run has its share of them.
func TestPointsAreUniform(t *testing.T) {
	const requests, parts = 200_000, 10
	r, _ := recorder(t)
	for i := range requests {
		r.Observe(answered(time.Duration(i)*ms, ms, ms/2), "p")
	}
	s := r.Samples()
	if s.Seen != requests || len(s.Points) != MaxPoints {
		t.Fatalf("%d points of %d", len(s.Points), s.Seen)
	}
	var shares [parts]int
	seen := map[time.Duration]bool{}
	for _, p := range s.Points {
		shares[int((p.End-2*ms)/ms)*parts/requests]++
		seen[p.End] = true
	}
	if len(seen) != MaxPoints {
		t.Errorf("%d different requests", len(seen))
	}
	chi := 0.0 // 9 degrees of freedom: above 33.7 with a probability of 0.0001
	for _, n := range shares {
		d := float64(n) - MaxPoints/parts
		chi += d * d / (MaxPoints / parts)
	}
	if chi > 33.7 {
		t.Errorf("shares %v, chi-square %v", shares, chi)
	}
	closed(t, r)
}

// The file appears while the run goes on, and is not written again if nothing is new.
func TestFileOfActiveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, dir := recorder(t)
		points := func() int {
			s, err := Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			return len(s.Points)
		}
		r.Observe(answered(0, ms, ms/2), "p")
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if n := points(); n != 0 {
			t.Errorf("after 9 s the file has %d points", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := points(); n != 1 {
			t.Errorf("after 11 s the file has %d points, want 1", n)
		}
		if err := os.Remove(filepath.Join(dir, File)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := points(); n != 0 {
			t.Errorf("the file was written again")
		}
		r.Observe(answered(0, ms, ms/2), "p")
		closed(t, r)
		if n := points(); n != 2 {
			t.Errorf("at the end the file has %d points, want 2", n)
		}
	})
}

func TestFaults(t *testing.T) {
	r, dir := recorder(t)
	r.Observe(answered(0, ms, ms/2), "p")
	if err := os.Mkdir(filepath.Join(dir, File), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err == nil {
		t.Error("a file that cannot be replaced is no error")
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, File), []byte("no samples"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("a file of something else is %v, want it damaged", err)
	}
}

// TestDamage flips bits everywhere in a file: whatever that makes of it is an error or can
// be shown.
func TestDamage(t *testing.T) {
	r, dir := recorder(t)
	for i := range time.Duration(3) {
		r.Observe(answered(i*ms, 5*ms, ms/2), "p")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for i := range data {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			other := slices.Clone(data)
			other[i] ^= flip
			if err := os.WriteFile(filepath.Join(dir, File), other, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Read(dir)
			switch {
			case errors.Is(err, ErrDamaged):
				damaged++
			case err != nil:
				t.Errorf("byte %d: %v, want it damaged", i, err)
			case s.check() != nil:
				t.Errorf("byte %d: %v", i, s.check())
			}
		}
	}
	if damaged == 0 {
		t.Error("no damage was found")
	}
}

func TestObserveAllocations(t *testing.T) {
	r, _ := recorder(t)
	for range 100 * MaxPoints {
		r.Observe(answered(0, time.Second, time.Second/2), "p")
	}
	rec := answered(0, 100*ms, 10*ms)
	if n := testing.AllocsPerRun(1000, func() { r.Observe(rec, "p") }); n != 0 {
		t.Errorf("Observe allocates %v times, want 0", n)
	}
	closed(t, r)
}

// BenchmarkObserve measures what the samples add to the processing of a record that is not
// among the slowest.
func BenchmarkObserve(b *testing.B) {
	r, _ := recorder(b)
	for range 10 * MaxPoints {
		r.Observe(answered(0, time.Second, time.Second/2), "p")
	}
	rec := answered(0, 100*ms, 10*ms)
	b.ReportAllocs()
	for b.Loop() {
		r.Observe(rec, "p")
	}
	closed(b, r)
}
