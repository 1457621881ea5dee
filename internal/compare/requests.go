package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/results"
)

// MaxRequests is the number of requests of a run that are read for a comparison of single runs.
// Longer runs are compared by the intervals that are stored with them.
const MaxRequests = 200_000

// Requests are the requests of a run, whole sessions in the order in which they began. A nil one is
// that of a run of which only the results are known.
type Requests struct {
	list []request
}

// request is what a comparison needs of a request.
type request struct {
	session      int64
	turn         int
	conversation string
	issued, end  int64 // nanoseconds since 1970
	failed       bool
	values       [len(perRequest)]float64 // NaN = it has none
}

// perRequest are the metrics of requests that are compared, and the tokens that throughput counts.
var perRequest = [...]string{"time_to_first_token", "inter_token_latency", "request_latency", outputTokens}

const outputTokens = "output_sequence_length"

// ReadRequests reads the requests of the profiling phases of a run from its record file. Without one,
// or with one that does not have all of them, it returns nil.
func ReadRequests(ctx context.Context, files *results.Results, in *Input) (*Requests, error) {
	if s := in.Run.Summary; s == nil || !in.Run.State.Terminal() || s.Requests+s.Errors > MaxRequests {
		return nil, nil
	}
	out := &Requests{}
	begun := map[int64]int64{} // when a session began
	for record, err := range files.Records() {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("read the requests of run %s: %w", in.Run.ID, err)
		}
		m := &record.Metadata
		if m.Kind != bench.Profiling || m.Cancelled {
			continue
		}
		r := request{
			session: m.SessionNum, turn: m.Turn, conversation: m.ConversationID, issued: m.Issued, end: m.End,
			failed: !record.Succeeded(),
		}
		for i, tag := range perRequest {
			v, ok := record.Value(tag)
			if !ok || r.failed {
				v = math.NaN()
			}
			r.values[i] = v
		}
		if at, seen := begun[r.session]; !seen || r.issued < at {
			begun[r.session] = r.issued
		}
		out.list = append(out.list, r)
	}
	if int64(len(out.list)) != in.Run.Summary.Requests+in.Run.Summary.Errors {
		return nil, nil
	}
	slices.SortStableFunc(out.list, func(x, y request) int {
		return cmp.Or(cmp.Compare(begun[x.session], begun[y.session]), cmp.Compare(x.session, y.session), cmp.Compare(x.turn, y.turn))
	})
	return out, nil
}

// ReadSingles reads the requests of runs that are alone on their side in a cell.
func ReadSingles(a, b []Input, read func(*Input) (*Requests, error)) error {
	for _, cell := range inCommon(a, b) {
		if len(cell.a) > 1 || len(cell.b) > 1 {
			continue
		}
		for _, side := range [][]Input{a, b} {
			i := slices.IndexFunc(side, func(in Input) bool { return in.Cell == cell.cell })
			var err error
			if side[i].Requests, err = read(&side[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// series returns the values of a metric with the borders of their blocks; ok is false for fewer
// than a verdict needs.
func (r *Requests) series(tag string) (values []float64, cuts *stat.Cuts, ok bool) {
	column := slices.Index(perRequest[:], tag)
	if r == nil || column < 0 {
		return nil, nil, false
	}
	var starts []int
	last := int64(-1)
	for i := range r.list {
		x := &r.list[i]
		if math.IsNaN(x.values[column]) {
			continue
		}
		if len(values) == 0 || x.session != last {
			starts = append(starts, len(values))
			last = x.session
		}
		values = append(values, x.values[column])
	}
	if len(values) < minRequests {
		return nil, nil, false
	}
	cuts, ok = stat.SessionCuts(starts, len(values))
	return values, cuts, ok
}

// pairs returns the values of a metric of the requests that both runs have, in the same order; ok is
// false unless nearly all requests of both runs are pairs with the same conversation.
func (r *Requests) pairs(other *Requests, tag string) (a, b []float64, cuts *stat.Cuts, ok bool) {
	column := slices.Index(perRequest[:], tag)
	if r == nil || other == nil || column < 0 {
		return nil, nil, nil, false
	}
	type key struct {
		session int64
		turn    int
	}
	of := make(map[key]*request, len(other.list))
	for i := range other.list {
		x := &other.list[i]
		of[key{x.session, x.turn}] = x
	}
	var starts []int
	last := int64(-1)
	for i := range r.list {
		x := &r.list[i]
		y := of[key{x.session, x.turn}]
		if y == nil || x.conversation != y.conversation || math.IsNaN(x.values[column]) || math.IsNaN(y.values[column]) {
			continue
		}
		if len(a) == 0 || x.session != last {
			starts = append(starts, len(a))
			last = x.session
		}
		a, b = append(a, x.values[column]), append(b, y.values[column])
	}
	const enough = 0.95 // of the requests of the longer run
	if len(a) < minRequests || float64(len(a)) < enough*float64(max(len(r.list), len(other.list))) {
		return nil, nil, nil, false
	}
	cuts, ok = stat.SessionCuts(starts, len(a))
	return a, b, cuts, ok
}

// rate returns the rate of output tokens, from 16 parts of equal length of the time of the run.
func (r *Requests) rate() (e stat.SeriesEstimate, ok bool) {
	if r == nil || len(r.list) < minRequests {
		return e, false
	}
	column := slices.Index(perRequest[:], outputTokens)
	from, to := r.list[0].issued, r.list[0].end
	for i := range r.list {
		from, to = min(from, r.list[i].issued), max(to, r.list[i].end)
	}
	var tokens [stat.Blocks]float64
	for i := range r.list {
		x := &r.list[i]
		if v := x.values[column]; !math.IsNaN(v) && to > from {
			tokens[min(stat.Blocks-1, int(stat.Blocks*float64(x.end-from)/float64(to-from)))] += v
		}
	}
	e = stat.EstimateRate(tokens, float64(to-from)/1e9)
	return e, e.Low > 0
}

// effectiveErrors returns the number of independent requests that the share of failed ones rests on:
// failures that come together are worth fewer.
func (r *Requests) effectiveErrors(share float64, n int64) float64 {
	if r == nil || len(r.list) < minRequests || share <= 0 || share >= 1 {
		return float64(n)
	}
	failed := make([]float64, len(r.list))
	for i := range r.list {
		if r.list[i].failed {
			failed[i] = 1
		}
	}
	_, standardError, _, _ := stat.SeriesMean(failed, stat.EqualCuts(len(failed)))
	return min(float64(n), share*(1-share)/(standardError*standardError))
}
