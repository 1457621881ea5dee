package agentic

import (
	"math"
	"slices"
)

// Summary describes the traces of a file: what a server will get, and what it could reuse.
type Summary struct {
	Traces       int          `json:"traces"`
	Requests     int          `json:"requests"`
	MainRequests int          `json:"main_requests"`
	Streams      map[Kind]int `json:"streams"`
	Inferred     int          `json:"inferred_streams"`  // found by their blocks, not by a record
	Joins        int          `json:"joins"`             // requests that waited for other streams
	Parallel     int          `json:"parallel_requests"` // the most at work at a time in a trace
	Models       []string     `json:"models"`
	Block        []int        `json:"block_sizes"`

	Input   Distribution `json:"input_tokens"`
	Output  Distribution `json:"output_tokens"`
	Context int          `json:"largest_context"` // input and output of one request
	New     Distribution `json:"new_blocks"`      // blocks that the trace has not sent before, per request
	Gap     Distribution `json:"gap_seconds"`     // end of a request to the next of its stream
	Session Distribution `json:"session_seconds"` // first start to last end
	Turns   Distribution `json:"requests_per_trace"`
	HitRate *float64     `json:"infinite_cache_hit_rate"` // leading blocks seen before in the trace ÷ blocks; null = no blocks
	Unique  *float64     `json:"distinct_block_share"`    // distinct blocks of the traces ÷ blocks sent; null = no blocks
	Edits   *float64     `json:"edit_share"`              // later turns that do not begin with all blocks of the turn before
	Without int          `json:"requests_without_blocks"`
	Repairs Repairs      `json:"repairs"`

	blocks, hits, distinct float64
	later, edits           float64
	input, output, fresh   []float64
	gaps, sessions, turns  []float64
}

// Distribution is the spread of a number.
type Distribution struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// distribution returns the spread of values; quantiles are the nearest rank.
func distribution(values []float64) Distribution {
	if len(values) == 0 {
		return Distribution{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	at := func(q float64) float64 { return values[max(0, int(math.Ceil(q*float64(len(values))))-1)] }
	return Distribution{sum / float64(len(values)), values[0], at(0.5), at(0.9), at(0.99), values[len(values)-1]}
}

// Add adds a trace.
func (s *Summary) Add(g *Graph) {
	s.Traces++
	if s.Streams == nil {
		s.Streams = map[Kind]int{}
	}
	s.Joins += len(g.Needs)
	if !slices.Contains(s.Block, g.Block) {
		s.Block = append(s.Block, g.Block)
	}
	var all []*Request
	for _, stream := range g.Streams {
		s.Streams[stream.Kind]++
		if stream.Kind.Inferred() {
			s.Inferred++
		}
		if stream.Kind == Main {
			s.MainRequests += len(stream.Requests)
		}
		for i := range stream.Requests {
			r := &stream.Requests[i]
			all = append(all, r)
			if i > 0 {
				s.turn(&stream.Requests[i-1], r)
			}
		}
	}
	s.Requests += len(all)
	s.turns = append(s.turns, float64(len(all)))
	slices.SortStableFunc(all, compareTimes)
	s.prompts(g.bySending())
	s.times(all)
}

// compareTimes orders requests by their time, then by their place in the record.
func compareTimes(a, b *Request) int { return byTime(call{a.Place.Outer, *a}, call{b.Place.Outer, *b}) }

// turn adds what a request has beside the one before it in its stream.
func (s *Summary) turn(before, r *Request) {
	s.gaps = append(s.gaps, max(0, r.T-before.End()))
	if len(before.blocks) == 0 || len(r.blocks) == 0 {
		return
	}
	s.later++
	if common(before.blocks, r.blocks) < len(before.blocks) {
		s.edits++
	}
}

// prompts adds the lengths and the blocks of the requests of a trace.
func (s *Summary) prompts(all []sent) {
	seen := map[int64]bool{}
	for _, r := range all {
		s.input, s.output = append(s.input, float64(r.In)), append(s.output, float64(r.Out))
		s.Context = max(s.Context, r.In+r.Out)
		if r.Model != "" && !slices.Contains(s.Models, r.Model) {
			s.Models = append(s.Models, r.Model)
		}
		if len(r.blocks) == 0 {
			s.Without++
			continue
		}
		hits := r.known
		for hits < len(r.blocks) && seen[r.blocks[hits]] {
			hits++
		}
		before := len(seen)
		for _, id := range r.blocks[r.known:] {
			seen[id] = true
		}
		s.hits, s.blocks = s.hits+float64(hits), s.blocks+float64(len(r.blocks))
		s.fresh = append(s.fresh, float64(len(seen)-before))
	}
	s.distinct += float64(len(seen))
}

// times adds when the requests of a trace, which are by time, began and ended.
func (s *Summary) times(all []*Request) {
	end := all[0].T
	var ends []float64
	for _, r := range all {
		end = max(end, r.End())
		ends = slices.DeleteFunc(ends, func(e float64) bool { return e <= r.T })
		ends = append(ends, r.End())
		s.Parallel = max(s.Parallel, len(ends))
	}
	s.sessions = append(s.sessions, end-all[0].T)
}

// Finish computes what needs all traces.
func (s *Summary) Finish() {
	slices.Sort(s.Models)
	slices.Sort(s.Block)
	s.Input, s.Output, s.New = distribution(s.input), distribution(s.output), distribution(s.fresh)
	s.Gap, s.Session, s.Turns = distribution(s.gaps), distribution(s.sessions), distribution(s.turns)
	if s.blocks > 0 {
		s.HitRate, s.Unique = new(s.hits/s.blocks), new(s.distinct/s.blocks)
	}
	if s.later > 0 {
		s.Edits = new(s.edits / s.later)
	}
}
