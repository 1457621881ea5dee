package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
)

// sent is the record of a request with a prompt that succeeded.
func sent(prompt uint64, tokens bench.Tokens, blocks ...int64) *bench.Record {
	return &bench.Record{
		Content: bench.Content{Prompt: prompt, Blocks: blocks}, InputTokens: &tokens,
		Stamps: bench.Stamps{Start: 1, Wrote: 2, End: time.Second},
		Answer: bench.Answer{Chunks: []bench.Chunk{{At: time.Second}}},
		Conn:   bench.Connection{Sent: 7},
	}
}

func with(r *bench.Record, change func(*bench.Record)) *bench.Record {
	change(r)
	return r
}

func TestRepeats(t *testing.T) {
	noTokens := func(r *bench.Record) { r.InputTokens = nil }
	marker := func(text string) func(*bench.Record) {
		return func(r *bench.Record) { r.Content.Marker = text }
	}
	usage := func(turn int, input, cached bench.Tokens) func(*bench.Record) {
		return func(r *bench.Record) {
			r.Turn, r.Answer.Usage = turn, &bench.Usage{Input: &input, Cached: &cached}
		}
	}
	tests := []struct {
		name            string
		bust            plan.CacheBust
		warmup, records []*bench.Record
		want            catalogue.Reuse
	}{
		{name: "nothing was sent"},
		{
			name:    "no prompt twice",
			records: []*bench.Record{sent(1, 10), sent(2, 30)},
			want:    catalogue.Reuse{Requests: 2, Unique: 2, Input: 40, UniqueInput: 40},
		},
		{
			name:    "one prompt twice",
			records: []*bench.Record{sent(1, 10), sent(2, 30), sent(1, 10)},
			want:    catalogue.Reuse{Requests: 3, Unique: 2, Input: 50, UniqueInput: 40},
		},
		{
			name: "the warm-up was before", warmup: []*bench.Record{sent(1, 10), sent(1, 10), sent(3, 5)},
			records: []*bench.Record{sent(1, 10), sent(2, 30), sent(1, 10)},
			want:    catalogue.Reuse{Requests: 3, Unique: 1, Input: 50, UniqueInput: 30},
		},
		{
			name: "what was not sent does not count",
			records: []*bench.Record{
				sent(1, 10), with(sent(2, 10), func(r *bench.Record) { r.Stamps.Wrote = 0 }), sent(2, 10),
			},
			want: catalogue.Reuse{Requests: 2, Unique: 2, Input: 20, UniqueInput: 20},
		},
		{
			name:    "bytes if tokens are not counted",
			records: []*bench.Record{with(sent(1, 10), noTokens), with(sent(1, 10), noTokens), with(sent(2, 0), noTokens)},
			want:    catalogue.Reuse{Requests: 3, Unique: 2, Input: 21, UniqueInput: 14},
		},
		{
			name:    "blocks of a trace: a prefix hits, the same block elsewhere does not",
			records: []*bench.Record{sent(1, 1, 10, 11, 12), sent(2, 1, 10, 11, 57), sent(3, 1, 12, 10), sent(4, 1, 10)},
			want:    catalogue.Reuse{Requests: 4, Unique: 4, Input: 4, UniqueInput: 4, Blocks: 9, Hits: 3},
		},
		{
			name: "markers in front separate blocks", bust: plan.CacheBust{Target: "first_turn_prefix"},
			records: []*bench.Record{with(sent(1, 1, 10, 11), marker("a")), with(sent(2, 1, 10, 11), marker("b")), with(sent(3, 1, 10), marker("a"))},
			want:    catalogue.Reuse{Requests: 3, Unique: 3, Input: 3, UniqueInput: 3, Blocks: 5, Hits: 1},
		},
		{
			name: "markers at the end do not", bust: plan.CacheBust{Target: "first_turn_suffix", Suffix: true},
			records: []*bench.Record{with(sent(1, 1, 10, 11), marker("a")), with(sent(2, 1, 10, 11), marker("b"))},
			want:    catalogue.Reuse{Requests: 2, Unique: 2, Input: 2, UniqueInput: 2, Blocks: 4, Hits: 2},
		},
		{
			name: "caches of models are separate",
			records: []*bench.Record{
				sent(1, 1, 10), with(sent(2, 1, 10), func(r *bench.Record) { r.Model = "other" }),
			},
			want: catalogue.Reuse{Requests: 2, Unique: 2, Input: 2, UniqueInput: 2, Blocks: 2},
		},
		{
			name:    "cached tokens of first turns",
			records: []*bench.Record{with(sent(1, 100), usage(0, 100, 32)), with(sent(2, 200), usage(1, 200, 96)), with(sent(3, 50), usage(0, 50, 0))},
			want:    catalogue.Reuse{Requests: 3, Unique: 3, Input: 350, UniqueInput: 350, FirstInput: 150, FirstCached: 32, CachedReported: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepeats(tt.bust)
			observe := func(records []*bench.Record) catalogue.Reuse {
				set, err := measure.NewSet(measure.Options{})
				if err != nil {
					t.Fatal(err)
				}
				p := &phaseRepeats{run: r, set: set}
				for _, rec := range records {
					p.observe(rec)
				}
				return p.sum
			}
			observe(tt.warmup)
			if diff := cmp.Diff(tt.want, observe(tt.records)); diff != "" {
				t.Errorf("reuse (-want +got):\n%s", diff)
			}
		})
	}
}
