package cell

import (
	"cmp"
	"slices"
)

// The metrics by which variations are compared.
const (
	ThroughputTag  = "request_throughput"
	ThroughputStat = "avg"
	LatencyStat    = "p99"
	firstTokenTag  = "time_to_first_token"
	latencyTag     = "request_latency"
)

// Comparison says which variations of a sweep are best. Indexes refer to the cells; -1 =
// none.
type Comparison struct {
	LatencyTag     string // by which latency is compared: that of the first token if every result has one
	BestThroughput int
	BestLatency    int
	// Pareto are the cells for which no other has both at least their throughput and at
	// most their latency, in the order of throughput.
	Pareto []int
	// Excluded are the cells that count for nothing, because the load generator distorted the
	// numbers that decide.
	Excluded []int
	// Infeasible are the cells that break a condition. They are not in Pareto, and are
	// best only if no cell is feasible.
	Infeasible []int
}

// Compare compares the cells of a sweep. objectives are the metrics that a search optimizes. A
// cell counts for nothing if the load generator distorted one of them, or leaves a condition
// open; without objectives and conditions (conditioned) if it distorted both throughput and
// latency. Otherwise a cell is left out only of what a distorted number would decide.
func Compare(cells []Result, objectives []string, conditioned bool) Comparison {
	free := len(objectives) == 0 && !conditioned
	out := Comparison{BestThroughput: -1, BestLatency: -1, LatencyTag: firstTokenTag}
	var candidates, feasible []int
	for i := range cells {
		if c := &cells[i]; len(c.Good) > 0 && c.Find(firstTokenTag, LatencyStat) == nil {
			out.LatencyTag = latencyTag
		}
	}
	for i := range cells {
		c := &cells[i]
		switch {
		case len(c.Good) == 0:
			continue
		case len(c.Unsure) > 0, c.Invalid(objectives...), free && c.Invalid(ThroughputTag) && c.Invalid(out.LatencyTag):
			out.Excluded = append(out.Excluded, i)
			continue
		}
		candidates = append(candidates, i)
		if c.Feasible() {
			feasible = append(feasible, i)
		} else {
			out.Infeasible = append(out.Infeasible, i)
		}
	}
	pool := feasible
	if len(pool) == 0 {
		pool = candidates
	}
	counting := func(i int, tag, stat string) *Estimate {
		if e := cells[i].Find(tag, stat); e != nil && !e.Invalid {
			return e
		}
		return nil
	}
	throughput := func(i int) *Estimate { return counting(i, ThroughputTag, ThroughputStat) }
	latency := func(i int) *Estimate { return counting(i, out.LatencyTag, LatencyStat) }
	for _, i := range pool {
		if t := throughput(i); t != nil && (out.BestThroughput < 0 || t.Mean > throughput(out.BestThroughput).Mean) {
			out.BestThroughput = i
		}
		if l := latency(i); l != nil && (out.BestLatency < 0 || l.Mean < latency(out.BestLatency).Mean) {
			out.BestLatency = i
		}
	}
	out.Pareto = pareto(feasible, throughput, latency)
	return out
}

// pareto returns the candidates that no other one dominates.
func pareto(candidates []int, throughput, latency func(int) *Estimate) []int {
	var out []int
	for _, i := range candidates {
		if throughput(i) == nil || latency(i) == nil {
			continue
		}
		dominated := slices.ContainsFunc(candidates, func(k int) bool {
			if throughput(k) == nil || latency(k) == nil {
				return false
			}
			more, less := throughput(k).Mean-throughput(i).Mean, latency(i).Mean-latency(k).Mean
			return more >= 0 && less >= 0 && (more > 0 || less > 0)
		})
		if !dominated {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(throughput(a).Mean, throughput(b).Mean) })
	return out
}
