package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// Report is the analysis of a trace. The first members have the names of AIPerf's analysis
// and the same meaning.
type Report struct {
	Requests       int64     `json:"total_requests"`
	UniquePrefixes int       `json:"unique_prefixes"`
	PrefixGroups   int       `json:"num_prefix_groups"` // first blocks of two or more requests
	HitRate        float64   `json:"cache_hit_rate"`    // mean of the requests with hash ids, 0 to 1
	MinISL         int       `json:"min_isl"`
	MaxISL         int       `json:"max_isl"`
	MeanISL        float64   `json:"avg_isl"`
	MinOSL         int       `json:"min_osl"`
	MaxOSL         int       `json:"max_osl"`
	MeanOSL        float64   `json:"avg_osl"`
	PrefixReuse    float64   `json:"prefix_reuse_ratio"` // occurrences of prefixes that occur more than once, 0 to 1
	ISL            *Stats    `json:"isl_stats"`
	OSL            *Stats    `json:"osl_stats"`
	Context        *Stats    `json:"context_length_stats"`       // tokens in blocks that occur elsewhere in the trace, at the same place
	Unique         *Stats    `json:"unique_prompt_length_stats"` // the other tokens
	HitRates       *Stats    `json:"hit_rate_stats"`
	Format         string    `json:"format"`
	BlockSize      int       `json:"block_size"`
	Skipped        int       `json:"skipped_records"` // records with problems
	PrefixRequests int64     `json:"prefix_requests"` // the first requests, which prefixes, hits and reuse are computed of
	CacheableShare float64   `json:"cacheable_share"` // of the input tokens of these requests, 0 to 1
	Arrivals       *Arrivals `json:"arrivals"`        // null = the trace has no times
	Sessions       Sessions  `json:"sessions"`
}

// Sessions describes the conversations of a trace.
type Sessions struct {
	Count     int64   `json:"count"`
	MeanTurns float64 `json:"mean_turns"`
	MaxTurns  int64   `json:"max_turns"`
	Exact     bool    `json:"exact"` // false = there are more sessions than are told apart
}

// maxPrefixes bounds each of the sets of prefixes, of blocks and of ids, which then takes
// 16 MiB; maxSessions bounds the sessions that are told apart.
const (
	maxPrefixes = 3 << 19
	maxSessions = 1 << 19
)

// analyzer reads a trace once, or twice if it has hash ids.
type analyzer struct {
	report    Report
	isl, osl  histogram
	context   histogram
	unique    histogram
	rates     histogram // in 1/rateSteps
	prefixes  counts    // by the hash of the prefix
	places    counts    // by the place and the id
	ids       counts
	firsts    counts
	full      bool // a set is full: later requests are not added
	input     float64
	cacheable float64
	seed      maphash.Seed
	turns     map[uint64]int64 // by the hash of the session
	single    int64            // sessions of one request without an id
	lost      int64            // requests of sessions that are not told apart
	arrivals  arrivals
}

// rateSteps is the resolution of hit rates.
const rateSteps = 60_000

// Analyze analyzes a trace. format "" = it is detected; blockSize 0 = that of the format.
func Analyze(ctx context.Context, in file.File, format string, blockSize int) (*Report, error) {
	if format == "" {
		var err error
		if format, _, err = source.Detect(ctx, in, source.Known{}, Formats()); err != nil {
			return nil, err
		}
	}
	a := &analyzer{seed: maphash.MakeSeed(), turns: map[uint64]int64{}, report: Report{Format: format}}
	scan := func(each func(*Request)) error { return a.scan(ctx, in, blockSize, each) }
	if err := scan(a.first); err != nil {
		return nil, err
	}
	if a.report.Requests == 0 {
		return nil, fmt.Errorf("no request of the format %s; %d records have problems", format, a.report.Skipped)
	}
	if a.ids.used > 0 {
		if err := scan(a.second); err != nil {
			return nil, err
		}
	}
	a.finish()
	return &a.report, nil
}

// scan calls each with the requests of a trace in the order of the file, and counts the
// records with problems.
func (a *analyzer) scan(ctx context.Context, in file.File, blockSize int, each func(*Request)) (err error) {
	f, err := find(a.report.Format)
	if err != nil {
		return err
	}
	in.Numbers = f.Numbers
	r, err := file.Open(ctx, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	t := &trace{format: &f, blockSize: cmp.Or(blockSize, f.BlockSize, defaultBlockSize)}
	p := t.begin()
	p.tokenizer = true
	a.report.BlockSize, a.report.Skipped = t.blockSize, 0
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, broken := errors.AsType[*file.RecordError](err); err != nil && !broken {
			return err
		} else if broken {
			a.report.Skipped++
			continue
		}
		request, problems := p.decode(record.Data)
		err = problems.OrNil()
		if err == nil {
			_, err = p.joined(&request)
			err = errors.Join(err, p.sized(&request))
		}
		if err != nil {
			a.report.Skipped++
			continue
		}
		each(&request)
	}
}

// first adds a request in the first pass.
func (a *analyzer) first(r *Request) {
	a.report.Requests++
	a.isl.add(r.Input)
	a.osl.add(r.Output)
	if r.Timed {
		a.arrivals.add(r.At)
	}
	session := maphash.String(a.seed, r.Session)
	switch _, known := a.turns[session]; {
	case r.Session == "":
		a.single++
	case known || len(a.turns) < maxSessions:
		a.turns[session]++
	default:
		a.lost++
	}
	if a.full {
		return
	}
	a.report.PrefixRequests++
	a.input += float64(r.Input)
	if len(r.IDs) > 0 {
		a.blocks(r)
	}
}

// blocks adds the blocks of a request.
func (a *analyzer) blocks(r *Request) {
	hits, missed := 0, false
	chain := uint64(0)
	for i, id := range r.IDs {
		if !missed && a.ids.has(bench.Mix(uint64(id))) {
			hits++
		} else {
			missed = true
		}
		chain = bench.Mix(chain ^ bench.Mix(uint64(id)))
		a.prefixes.add(chain)
		a.places.add(bench.Mix(bench.Mix(uint64(i)) ^ uint64(id)))
	}
	for _, id := range r.IDs {
		a.ids.add(bench.Mix(uint64(id)))
	}
	a.firsts.add(bench.Mix(uint64(r.IDs[0])))
	a.rates.add(int(math.Round(float64(hits) / float64(len(r.IDs)) * rateSteps)))
	a.report.HitRate += float64(hits) / float64(len(r.IDs))
	a.cacheable += float64(hits) / float64(len(r.IDs)) * float64(r.Input)
	for _, set := range []*counts{&a.prefixes, &a.places, &a.ids} {
		a.full = a.full || set.used >= maxPrefixes
	}
}

// second adds a request in the second pass, when all blocks are known.
func (a *analyzer) second(r *Request) {
	if a.context.n == a.report.PrefixRequests {
		return
	}
	repeated := 0
	for i, id := range r.IDs {
		if a.places.repeated(bench.Mix(bench.Mix(uint64(i)) ^ uint64(id))) {
			repeated++
		}
	}
	length := repeated * a.report.BlockSize
	if repeated == len(r.IDs) && repeated > 0 {
		length = r.Input
	}
	length = min(length, r.Input)
	a.context.add(length)
	a.unique.add(r.Input - length)
}

// finish computes the report.
func (a *analyzer) finish() {
	r := &a.report
	r.UniquePrefixes, r.PrefixGroups = a.prefixes.used, a.firsts.more
	r.ISL, r.OSL, r.Context, r.Unique = a.isl.stats(1), a.osl.stats(1), a.context.stats(1), a.unique.stats(1)
	r.HitRates = a.rates.stats(rateSteps)
	if a.rates.n > 0 {
		r.HitRate /= float64(a.rates.n)
	}
	r.MinISL, r.MaxISL, r.MeanISL = int(r.ISL.Min), int(r.ISL.Max), r.ISL.Mean
	r.MinOSL, r.MaxOSL, r.MeanOSL = int(r.OSL.Min), int(r.OSL.Max), r.OSL.Mean
	if a.prefixes.total > 0 {
		r.PrefixReuse = float64(a.prefixes.total-int64(a.prefixes.used-a.prefixes.more)) / float64(a.prefixes.total)
	}
	if a.input > 0 {
		r.CacheableShare = a.cacheable / a.input
	}
	r.Arrivals = a.arrivals.finish()
	s := &r.Sessions
	s.Count, s.Exact = a.single+int64(len(a.turns)), a.lost == 0
	s.MaxTurns = min(1, a.single)
	for _, n := range a.turns {
		s.MaxTurns = max(s.MaxTurns, n)
	}
	s.MeanTurns = float64(r.Requests-a.lost) / float64(s.Count)
}
