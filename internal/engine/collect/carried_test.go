package collect

import (
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// carriedRun performs a run that sends prompts to a server, those of a warm-up first, and returns what it has found.
func carriedRun(h *History, server string, warmup, measured []uint64) *float64 {
	c := h.Begin([]string{"other", server})
	o := c.Observer()
	for kind, prompts := range map[bench.PhaseKind][]uint64{bench.Warmup: warmup, bench.Profiling: measured} {
		phase := o.Phase(&spec.Phase{Kind: kind}, nil)
		for _, prompt := range prompts {
			phase.Observe(with(sent(prompt, 10), func(r *bench.Record) { r.Target = 1 }))
		}
	}
	o.End(nil)
	return c.Share()
}

// What earlier runs have sent to a server is known for a day, and is not that of another server.
func TestCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHistory()
		check := func(what string, got *float64, want float64) {
			t.Helper()
			switch {
			case got == nil && want >= 0:
				t.Errorf("%s: unknown, want %v", what, want)
			case got != nil && *got != want:
				t.Errorf("%s: %v, want %v", what, *got, want)
			}
		}
		const unknown = -1
		check("the first run", carriedRun(h, "a", []uint64{9}, []uint64{1, 2, 3, 1}), unknown)
		check("another server", carriedRun(h, "b", nil, []uint64{1, 2}), unknown)
		time.Sleep(20 * time.Hour)
		check("half of the prompts again", carriedRun(h, "a", []uint64{1}, []uint64{1, 4, 3, 5}), 0.5)
		check("those of a warm-up", carriedRun(h, "a", nil, []uint64{9, 6, 7, 8, 5}), 0.4)
		time.Sleep(5 * time.Hour)
		check("a day after the first run", carriedRun(h, "a", nil, []uint64{2, 5}), 0.5)
		time.Sleep(25 * time.Hour)
		check("a day later", carriedRun(h, "a", nil, []uint64{5}), unknown)
	})
}

// What a run sent is found among several earlier runs, also if some of them are known by a sample only.
func TestCarriedJoined(t *testing.T) {
	many := func(from, n uint64) (out []uint64) {
		for i := range n {
			out = append(out, bench.Mix(from+i))
		}
		return out
	}
	h := NewHistory()
	carriedRun(h, "a", nil, many(1, 1_000))               // every hash is known
	carriedRun(h, "a", nil, many(1<<32, 2*distinctSlots)) // a quarter or less
	carriedRun(h, "a", nil, many(1<<33, 1_000))           // every hash
	measured := append(many(1, 1_000), many(1<<33, 1_000)...)
	measured = append(measured, many(1<<34, 2_000)...)
	if got := carriedRun(h, "a", nil, measured); got == nil || *got < 0.4 || *got > 0.6 {
		t.Errorf("share %v, want about 0.5", got)
	}
	if c := h.Begin([]string{"a"}); c.before[0].zeros < 2 || len(c.before[0].hashes) > distinctSlots {
		t.Errorf("earlier runs: %d zeros, %d slots", c.before[0].zeros, len(c.before[0].hashes))
	}
}

// The memory of a history is bounded: the oldest runs go first, and large ones are known by a sample.
func TestCarriedBounds(t *testing.T) {
	h := NewHistory()
	many := func(from uint64) (out []uint64) {
		for i := range uint64(600_000) {
			out = append(out, bench.Mix(from+i))
		}
		return out
	}
	first := many(0)
	carriedRun(h, "a", nil, first)
	got := carriedRun(h, "a", nil, append(many(1 << 40)[:100_000], first[:100_000]...))
	if got == nil || *got < 0.48 || *got > 0.52 {
		t.Errorf("share %v, want about 0.5", got)
	}
	for i := range uint64(20) {
		carriedRun(h, "a", nil, many(i<<32))
	}
	size := 0
	for i := range h.runs {
		size += h.runs[i].size()
	}
	if size > historyBytes || len(h.runs) < 2 {
		t.Errorf("%d runs of %d bytes", len(h.runs), size)
	}
}
